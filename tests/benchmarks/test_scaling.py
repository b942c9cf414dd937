from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.timeout(900)
def test_every_way_to_grow_is_measured(run_quickly: Callable[..., Any]) -> None:
    done = run_quickly("scaling")
    figures = done.figures
    sizes = {
        title: {label: [point["size"] for point in points] for label, points in curve.items()}
        for title, curve in figures.items()
        if isinstance(curve, dict) and title != "versions"
    }
    assert sizes == {
        "turns of history": {"cost": [1, 8]},
        "dialogues in a batch": {"cost": [1, 8]},
        "sessions in the store": {"MemoryStore": [1, 100], "SqliteStore": [1, 100]},
    }
    assert "| turns of history | ms per dialogue | turns dropped |" in done.markdown
