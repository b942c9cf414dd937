"""The load benchmark, in its quick form: every figure is there, and no turn went astray."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from redis_server import BINARY

# A quarter of a minute of work, which a busy machine may stretch.
pytestmark = pytest.mark.timeout(900)

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "load.py"


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("redis", reason="redis-py is not installed")
    path = tmp_path_factory.mktemp("load") / "load.json"
    subprocess.run([sys.executable, str(SCRIPT), "--quick", "--json", str(path)], check=True)
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_store_is_measured(figures: Any) -> None:
    stores = {"MemoryStore", "SqliteStore"} | ({"RedisStore"} if BINARY else set())
    assert {row["name"] for row in figures["stores"]} == stores
    assert all(row["per_second"] > 0 and row["p99_ms"] > 0 for row in figures["stores"])


def test_the_micro_batcher_is_measured_beside_a_pool(figures: Any) -> None:
    names = [row["name"] for row in figures["callers"]]
    assert (names[0], names[2]) == ("one at a time", "micro-batcher")
    assert all(row["p99_ms"] >= row["p50_ms"] > 0 for row in figures["callers"])
    assert {"throughput_over_one_at_a_time", "throughput_over_thread_pool"} < set(figures["ratios"])


def test_a_call_through_the_micro_batcher_is_handed_over_as_cheaply_as_in_a_pool(
    figures: Any,
) -> None:
    # CPU time, so that a busy machine does not count; with some room for what is left of noise.
    _, pool, batcher = figures["hand_off_cpu_us"].values()
    assert batcher < 1.3 * pool


def test_no_turn_is_lost_doubled_or_mixed(figures: Any) -> None:
    counts = [(one["lost"], one["doubled"], one["mixed"]) for one in figures["faults"]]
    assert counts == [(0, 0, 0)] * len(counts)
    assert len(counts) == (11 if BINARY else 9)
    assert all(one["turns"] > 0 for one in figures["faults"])
