from collections.abc import Callable
from typing import Any

import attrs
import pytest

from queen_sdk import Timings


@pytest.fixture(scope="module")
def done(run_quickly: Callable[..., Any]) -> Any:
    return run_quickly("latency")


@pytest.mark.timeout(900)
def test_both_languages_are_measured_by_stage(done: Any) -> None:
    rows = done.figures["rows"]
    assert [(row["language"], row["turns"]) for row in rows] == [("zh", 2), ("en", 2)]
    stages = {field.name for field in attrs.fields(Timings)}
    for row in rows:
        assert set(row["stages_ms"]) == stages
        assert row["end_to_end_ms"]["p50"] <= row["end_to_end_ms"]["p95"]


def test_the_overhead_is_that_of_the_worse_language(done: Any) -> None:
    worst = done.figures["ratios"]["end_to_end_over_session_run"]
    assert worst == max(row["ratio"] for row in done.figures["rows"])
    assert f"**{worst:.2f}**" in done.printed


def test_fresh_processes_tell_what_a_start_costs(done: Any) -> None:
    for row in done.figures["cold"]:
        for name in ("import_ms", "load_ms", "first_call_ms", "resident_mb"):
            assert row[name]["p50"] > 0
        assert row["run"]["p50"] <= row["first_call_ms"]["p50"]
        assert row["resident_mb"]["p50"] > row["python_and_numpy_mb"]["p50"]


def test_throughput_is_measured_in_batches_and_for_callers(done: Any) -> None:
    for rows in done.figures["throughput"].values():
        assert [(row["way"], row["size"]) for row in rows] == [
            (way, size) for way in ("rewrite_batch", "arewrite") for size in (1, 8, 64)
        ]
    assert done.markdown in done.printed
