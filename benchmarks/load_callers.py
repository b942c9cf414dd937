"""The callers of the load benchmark: one at a time, a thread pool, the micro-batcher."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any

import attrs
import numpy as np

from queen_sdk import MicroBatcher, Rewriter, RewriteResult
from queen_sdk.asking import Rewrites
from queen_sdk.dialogue import HistoryItem, read_history
from queen_sdk.options import CallOptions

DIALOGUES: list[tuple[list[str], str]] = [
    (["你喜欢看电影吗", "我最喜欢看科幻电影"], "为什么喜欢看"),
    (["史密斯需要在附近找一家昂贵的餐馆。", "史密斯关心菜肴的类型吗？"], "不，他不关心。"),
    (["北京明天的天气怎么样", "明天北京多云转晴，最高气温二十五度"], "后天呢"),
    (["Smith needs to find an expensive restaurant.", "Does he care about cuisine?"], "No."),
    (["Is there a cheap Italian restaurant?", "Yes, Pizza Hut."], "What is their phone number?"),
    (["What is the weather like in Paris in June?", "It is warm."], "and in July?"),
]

Dialogue = tuple[list[str], str]
Ask = Callable[[Sequence[str], str], Awaitable[RewriteResult]]


@attrs.frozen
class Row:
    """One thing that was measured."""

    name: str
    per_second: float
    """Sessions for a store, calls for the rest."""
    milliseconds: list[float]
    """Of one recorded turn, or one call."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        p50, p95, p99 = (float(x) for x in np.percentile(self.milliseconds, [50, 95, 99]))
        figures = {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99}
        return {"name": self.name, "per_second": self.per_second, **figures}


@attrs.frozen
class Round:
    """Some calls in a row."""

    seconds: float
    cpu_seconds: float
    milliseconds: list[float]
    """Of each call."""


@attrs.frozen
class Way:
    """A way to call, and its rounds."""

    name: str
    rounds: list[Round] = attrs.field(factory=list)

    def row(self) -> Row:
        """Return the figures of all rounds."""
        rates = [len(one.milliseconds) / one.seconds for one in self.rounds]
        spent = [time for one in self.rounds for time in one.milliseconds]
        return Row(self.name, statistics.median(rates), spent)


def one_at_a_time(rewriter: Rewrites, dialogues: Sequence[Dialogue], calls: int) -> Round:
    """Call in a plain loop, as a single user would."""
    spent: list[float] = []
    began, busy = time.perf_counter(), time.process_time()
    for history, utterance in islice(cycle(dialogues), calls):
        started = time.perf_counter()
        rewriter.rewrite(history, utterance)
        spent.append((time.perf_counter() - started) * 1e3)
    return Round(time.perf_counter() - began, time.process_time() - busy, spent)


async def at_once(ask: Ask, dialogues: Sequence[Dialogue], callers: int, calls: int) -> Round:
    """Let callers ask beside each other, each waiting for its answer before it asks again."""
    spent: list[float] = []
    left = islice(cycle(dialogues), calls)

    async def call() -> None:
        for history, utterance in left:
            started = time.perf_counter()
            await ask(history, utterance)
            spent.append((time.perf_counter() - started) * 1e3)

    began, busy = time.perf_counter(), time.process_time()
    await asyncio.gather(*(call() for _ in range(callers)))
    return Round(time.perf_counter() - began, time.process_time() - busy, spent)


def answered(rewriter: Rewriter) -> list[Dialogue]:
    """Return the dialogues that the model is really asked about."""
    return [one for one in DIALOGUES if rewriter.rewrite(*one).model is not None]


class Nothing:
    """A rewriter that reads its arguments and gives the utterance back."""

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Do next to nothing."""
        CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        read_history(history)
        return RewriteResult(utterance, original=utterance)


def measure_callers(
    alone: Rewrites,
    shared: Rewrites,
    dialogues: Sequence[Dialogue],
    *,
    callers: int,
    calls: int,
    rounds: int,
) -> list[Way]:
    """Measure the three ways in turn, beginning with another one in each round.

    One call at a time has all cores to itself; the other two have one core per run.
    """
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    with ThreadPoolExecutor(workers) as pool, MicroBatcher(shared) as batcher:

        async def in_pool(history: Sequence[str], utterance: str) -> RewriteResult:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(pool, shared.rewrite, history, utterance)

        ways: list[tuple[Way, Callable[[], Round]]] = [
            (Way("one at a time"), lambda: one_at_a_time(alone, dialogues, calls)),
            (
                Way(f"thread pool of {workers}"),
                lambda: asyncio.run(at_once(in_pool, dialogues, callers, calls)),
            ),
            (
                Way("micro-batcher"),
                lambda: asyncio.run(at_once(batcher.arewrite, dialogues, callers, calls)),
            ),
        ]
        for _, run in ways:
            run()
        for number in range(rounds):
            first = number % len(ways)
            for way, run in ways[first:] + ways[:first]:
                way.rounds.append(run())
    return [way for way, _ in ways]


def ratios(ways: Sequence[Way]) -> dict[str, float]:
    """Return what the micro-batcher is measured by: medians over the rounds."""
    alone, pool, batcher = ways

    def over(other: Way) -> float:
        pairs = zip(batcher.rounds, other.rounds, strict=True)
        return statistics.median(theirs.seconds / ours.seconds for ours, theirs in pairs)

    tails = [float(np.percentile(way.row().milliseconds, 99)) for way in (batcher, pool)]
    return {
        "throughput_over_one_at_a_time": over(alone),
        "throughput_over_thread_pool": over(pool),
        "p99_over_thread_pool": tails[0] / tails[1],
        "cpu_time_over_thread_pool": cpu_time(batcher) / cpu_time(pool),
    }


def cpu_time(way: Way) -> float:
    """Return the CPU time of a call, in microseconds: the least of all rounds."""
    return min(one.cpu_seconds / len(one.milliseconds) for one in way.rounds) * 1e6
