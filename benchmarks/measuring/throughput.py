"""Dialogues per second: in batches, and from callers who ask beside each other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice

import attrs

from queen_sdk import MicroBatcher, Rewriter
from queen_sdk.data.examples import Example

SIZES = (1, 2, 4, 8, 16, 32, 64)


@attrs.frozen
class Throughput:
    """How many dialogues a second were rewritten."""

    way: str
    size: int
    """Of the batch, or number of callers."""
    per_second: float


def in_batches(rewriter: Rewriter, examples: Sequence[Example], size: int) -> Callable[[], object]:
    """Return a call that rewrites one batch."""
    dialogues = [(e.history, e.utterance) for e in islice(cycle(examples), size)]
    return lambda: rewriter.rewrite_batch(dialogues, batch_size=size)


def batch_throughput(
    rewriter: Rewriter, examples: Sequence[Example], sizes: Sequence[int], *, least: int
) -> list[Throughput]:
    """Rewrite at least so many dialogues in batches of each size."""
    found = []
    for size in sizes:
        call = in_batches(rewriter, examples, size)
        call()
        rounds = -(-least // size)
        started = time.perf_counter()
        for _ in range(rounds):
            call()
        seconds = time.perf_counter() - started
        found.append(Throughput("rewrite_batch", size, rounds * size / seconds))
    return found


def caller_throughput(
    bundle: str, examples: Sequence[Example], sizes: Sequence[int], *, least: int
) -> list[Throughput]:
    """Let so many callers ask through `arewrite`, each waiting for its answer before the next.

    Every call runs on one thread, as many calls at a time as there are cores.
    """
    found = []
    with (
        Rewriter(bundle, threads=1, providers=["cpu"]) as rewriter,
        MicroBatcher(rewriter) as batcher,
    ):
        for callers in sizes:
            calls = max(least, 2 * callers)
            asyncio.run(_ask(batcher, examples, callers, callers))
            seconds = asyncio.run(_ask(batcher, examples, callers, calls))
            found.append(Throughput("arewrite", callers, calls / seconds))
    return found


async def _ask(
    batcher: MicroBatcher, examples: Sequence[Example], callers: int, calls: int
) -> float:
    left = islice(cycle(examples), calls)

    async def caller() -> None:
        for example in left:
            await batcher.arewrite(example.history, example.utterance)

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return time.perf_counter() - started
