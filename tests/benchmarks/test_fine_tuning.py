from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.train
@pytest.mark.timeout(900)
def test_the_bundle_is_tested_before_and_after(run_quickly: Callable[..., Any]) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    done = run_quickly("fine_tuning")
    before, after = done.figures["rows"]
    assert (before["bundle"], after["bundle"]) == ("en", "en, fine-tuned")
    assert after["workshop EM"] > before["workshop EM"]
    assert "| bundle | workshop EM |" in done.markdown
