"""Many users at once: each store, the micro-batcher beside a plain thread pool, and the faults.

    python benchmarks/load.py [--quick] [--json FILE] [--bundle zh|en|DIR] [--callers 32]

Redis is measured if `redis-server` is installed; a server of our own is started for it. On a
machine with a GPU the same command measures batching proper.

The ways to call are measured in turn, in many short rounds, and compared within each round: what
else the machine does then hits all of them. The hand-off is what a call costs, in CPU time, when
the model costs nothing; it decides between pool and micro-batcher where the model fills the cores.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs
from load_callers import Nothing, Row, answered, cpu_time, measure_callers, ratios
from load_faults import Fault, faults, redis_server
from load_model_faults import model_faults

from queen_sdk import MemoryStore, RedisStore, Rewriter, SqliteStore, Store, Turn
from queen_sdk.stores import Record

TURNS = 20


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
    parser.add_argument("--bundle", help="an embedded bundle or a directory; else by language")
    parser.add_argument("--callers", type=int, default=32)
    arguments = parser.parse_args()
    logging.getLogger("queen_sdk.middleware").setLevel(logging.CRITICAL)  # failures are expected
    sessions, calls, rounds = (100, 32, 3) if arguments.quick else (10_000, 128, 30)
    with stores() as opened:
        kept = [measure_store(name, store, sessions, 16) for name, store in opened.items()]
    print(table(f"{sessions} sessions × {TURNS} turns, 16 threads", kept), "\n")
    bounds = {"callers": arguments.callers, "rounds": rounds}
    with Rewriter(arguments.bundle) as alone, Rewriter(arguments.bundle, threads=1) as shared:
        dialogues = answered(alone)
        called = measure_callers(alone, shared, dialogues, calls=calls, **bounds)
    idle = measure_callers(Nothing(), Nothing(), dialogues, calls=1000, **bounds)
    handed = {way.name: cpu_time(way) for way in idle}
    print(table(f"{arguments.callers} callers", [way.row() for way in called]), "\n")
    for name, ratio in ratios(called).items():
        print(f"{name}: {ratio:.2f}")
    for name, microseconds in handed.items():
        print(f"hand-off, {name}: {microseconds:.0f} µs of CPU time per call")
    found = [*faults(quick=arguments.quick), *model_faults(quick=arguments.quick)]
    print("\n" + fault_table(found))
    if arguments.json:
        figures = {
            "stores": [row.to_dict() for row in kept],
            "callers": [way.row().to_dict() for way in called],
            "ratios": ratios(called),
            "hand_off_cpu_us": handed,
            "faults": [attrs.asdict(fault) for fault in found],
        }
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if any(fault.lost or fault.doubled or fault.mixed for fault in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
