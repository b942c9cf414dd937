"""Many users at once: each store, the micro-batcher beside a plain thread pool, and the faults.

    python benchmarks/load.py [--quick] [--json FILE] [--bundle zh|en|DIR] [--callers 32]

Redis is measured if `redis-server` is installed; a server of our own is started for it. On a
machine with a GPU the same command measures batching proper.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from load_faults import Fault, faults, redis_server

from queen_sdk import (
    MemoryStore,
    MicroBatcher,
    RedisStore,
    Rewriter,
    RewriteResult,
    SqliteStore,
    Store,
    Turn,
)
from queen_sdk.stores import Record

DIALOGUES = [
    (["你喜欢看电影吗", "我最喜欢看科幻电影"], "为什么喜欢看"),
    (["史密斯需要在附近找一家昂贵的餐馆。", "史密斯关心菜肴的类型吗？"], "不，他不关心。"),
    (["北京明天的天气怎么样", "明天北京多云转晴，最高气温二十五度"], "后天呢"),
    (["Smith needs to find an expensive restaurant.", "Does he care about cuisine?"], "No."),
    (["Is there a cheap Italian restaurant?", "Yes, Pizza Hut."], "What is their phone number?"),
    (["What is the weather like in Paris in June?", "It is warm."], "and in July?"),
]
TURNS = 20

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


@contextmanager
def stores() -> Iterator[dict[str, Store]]:
    """Open every store that can be had."""
    with tempfile.TemporaryDirectory() as directory, redis_server() as server:
        opened: dict[str, Store] = {
            "MemoryStore": MemoryStore(max_sessions=1_000_000),
            "SqliteStore": SqliteStore(Path(directory) / "sessions.db", timeout=60),
        }
        if server is not None:
            opened["RedisStore"] = RedisStore(server.url, timeout=60)
        yield opened
        for store in opened.values():
            store.close()


def measure_store(name: str, store: Store, sessions: int, threads: int) -> Row:
    """Let threads read and record the turns of their sessions."""
    spent: list[float] = []

    def talk(worker: int) -> None:
        own: list[float] = []
        for turn in range(TURNS):
            for session in range(worker, sessions, threads):
                started = time.perf_counter()
                store.load(f"user-{session}")
                record = Record(Turn("What about the weather there?"), key=str(turn))
                store.append(f"user-{session}", record, max_turns=TURNS)
                own.append((time.perf_counter() - started) * 1e3)
        spent.extend(own)

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(talk, range(threads)))
    return Row(name, sessions / (time.perf_counter() - started), spent)


def one_at_a_time(rewriter: Rewriter, calls: int) -> Row:
    """Call in a plain loop, as a single user would."""
    spent: list[float] = []
    began = time.perf_counter()
    for history, utterance in islice(cycle(DIALOGUES), calls):
        started = time.perf_counter()
        rewriter.rewrite(history, utterance)
        spent.append((time.perf_counter() - started) * 1e3)
    return Row("one at a time", calls / (time.perf_counter() - began), spent)


async def at_once(name: str, ask: Ask, callers: int, calls: int) -> Row:
    """Let callers ask beside each other, each waiting for its answer before it asks again."""
    spent: list[float] = []
    left = islice(cycle(DIALOGUES), calls)

    async def call() -> None:
        for history, utterance in left:
            started = time.perf_counter()
            await ask(history, utterance)
            spent.append((time.perf_counter() - started) * 1e3)

    began = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(callers)))
    return Row(name, calls / (time.perf_counter() - began), spent)


def measure_callers(bundle: str, callers: int, calls: int, rounds: int) -> list[Row]:
    """Measure the three ways in turn, so that a busy machine is busy for all of them.

    One call at a time has all cores to itself; the other two have one core per run.
    """
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    found: dict[str, list[Row]] = {}
    with (
        Rewriter(bundle) as alone,
        Rewriter(bundle, threads=1) as shared,
        ThreadPoolExecutor(workers) as pool,
        MicroBatcher(shared, workers=None) as batcher,
    ):

        async def in_pool(history: Sequence[str], utterance: str) -> RewriteResult:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(pool, shared.rewrite, history, utterance)

        for number in range(-1, rounds):
            rows = [
                one_at_a_time(alone, calls),
                asyncio.run(at_once(f"thread pool of {workers}", in_pool, callers, calls)),
                asyncio.run(at_once("micro-batcher", batcher.arewrite, callers, calls)),
            ]
            for row in rows if number >= 0 else ():
                found.setdefault(row.name, []).append(row)
    return [
        Row(
            name,
            statistics.median(row.per_second for row in rows),
            [one for row in rows for one in row.milliseconds],
        )
        for name, rows in found.items()
    ]


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Return what the micro-batcher is measured by."""
    alone, pool, batcher = (row.to_dict() for row in rows)
    return {
        "throughput_over_one_at_a_time": batcher["per_second"] / alone["per_second"],
        "throughput_over_thread_pool": batcher["per_second"] / pool["per_second"],
        "p99_over_thread_pool": batcher["p99_ms"] / pool["p99_ms"],
    }


def table(head: str, rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    lines = [f"| {head} | per second | p50 ms | p95 ms | p99 ms |", "|---|---|---|---|---|"]
    for row in (row.to_dict() for row in rows):
        figures = (row["per_second"], row["p50_ms"], row["p95_ms"], row["p99_ms"])
        lines.append(f"| {row['name']} | " + " | ".join(f"{x:.2f}" for x in figures) + " |")
    return "\n".join(lines)


def fault_table(found: Sequence[Fault]) -> str:
    """Return the faults as a Markdown table."""
    lines = ["| fault | turns | lost | doubled | mixed |", "|---|---|---|---|---|"]
    for fault in found:
        cells = (fault.name, fault.turns, fault.lost, fault.doubled, fault.mixed)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, write the JSON; fail if a turn was lost, doubled or mixed."""
    parser = argparse.ArgumentParser(description="Load on stores and micro-batcher, and faults.")
    parser.add_argument("--quick", action="store_true", help="few sessions, calls and rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--bundle", default="zh", help="an embedded bundle or a directory")
    parser.add_argument("--callers", type=int, default=32)
    arguments = parser.parse_args()
    sessions, calls, rounds = (100, 150, 1) if arguments.quick else (10_000, 1000, 5)
    with stores() as opened:
        kept = [measure_store(name, store, sessions, 16) for name, store in opened.items()]
    print(table(f"{sessions} sessions × {TURNS} turns, 16 threads", kept), "\n")
    called = measure_callers(arguments.bundle, arguments.callers, calls, rounds)
    print(table(f"{arguments.callers} callers", called), "\n")
    for name, ratio in ratios(called).items():
        print(f"{name}: {ratio:.2f}")
    found = faults(quick=arguments.quick)
    print("\n" + fault_table(found))
    if arguments.json:
        figures = {
            "stores": [row.to_dict() for row in kept],
            "callers": [row.to_dict() for row in called],
            "ratios": ratios(called),
            "faults": [attrs.asdict(fault) for fault in found],
        }
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if any(fault.lost or fault.doubled or fault.mixed for fault in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
