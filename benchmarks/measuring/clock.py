"""Timing things in turn, and what the times say."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return median, 95th and 99th percentile."""
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99)}


def interleaved(
    rows: Mapping[str, Callable[[T], object]],
    inputs: Sequence[T],
    *,
    repetitions: int,
    warm_up: Sequence[T] | None = None,
    synchronise: Callable[[], object] = lambda: None,
) -> dict[str, list[float]]:
    """Give every input to every row in turn; return the seconds of each row by repetition.

    A B A B …, so that a busy moment of the machine meets all rows. The inputs of `warm_up` (None:
    the first one) go through every row before anything is timed. `synchronise` waits for the
    device.
    """
    for row in rows.values():
        for one in inputs[:1] if warm_up is None else warm_up:
            row(one)
    synchronise()
    spent: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(repetitions):
        seconds = dict.fromkeys(rows, 0.0)
        for one in inputs:
            for name, row in rows.items():
                started = time.perf_counter()
                row(one)
                synchronise()
                seconds[name] += time.perf_counter() - started
        for name, total in seconds.items():
            spent[name].append(total)
    return spent


def faster(row: Sequence[float], than: Sequence[float]) -> float:
    """Return how many times faster: the median of the ratios inside each repetition."""
    return statistics.median(b / a for a, b in zip(row, than, strict=True))


def milliseconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e3
