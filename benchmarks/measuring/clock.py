"""Timing things in turn, and what the times say."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_PAUSE = 0.05
"""Seconds in which worker threads that wait for more give up and sleep."""


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
    """Give all inputs to one row, then to the next; return the seconds of each row by repetition.

    A A B B, B B A A, A A B B …: a row works as it would alone, with its own weights in the caches,
    and drift of the machine meets all rows. Each turn of a row begins with a pause, in which the
    threads of the row before fall asleep, and with the first input, untimed. The inputs of
    `warm_up` (None: the first one) go through every row before anything is timed. `synchronise`
    waits for the device.
    """
    for row in rows.values():
        for one in inputs[:1] if warm_up is None else warm_up:
            row(one)
    synchronise()
    spent: dict[str, list[float]] = {name: [] for name in rows}
    for repetition in range(repetitions):
        for name in list(rows)[:: -1 if repetition % 2 else 1]:
            time.sleep(_PAUSE)
            spent[name].append(_turn(rows[name], inputs, synchronise))
    return spent


def _turn(
    row: Callable[[T], object], inputs: Sequence[T], synchronise: Callable[[], object]
) -> float:
    """Return the seconds that a row takes for all inputs, after the first one untimed."""
    for one in inputs[:1]:
        row(one)
    synchronise()
    seconds = 0.0
    for one in inputs:
        started = time.perf_counter()
        row(one)
        synchronise()
        seconds += time.perf_counter() - started
    return seconds


def faster(row: Sequence[float], than: Sequence[float]) -> float:
    """Return how many times faster: the median of the ratios inside each repetition."""
    return statistics.median(b / a for a, b in zip(row, than, strict=True))


def milliseconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e3
