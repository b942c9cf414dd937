"""Many users at once, and what goes wrong then: nothing is lost, doubled or mixed."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes import FakeRewriter
from redis_server import BINARY, RedisServer

from queen_sdk import (
    CircuitBreaker,
    MemoryStore,
    MicroBatcher,
    Middleware,
    Policy,
    RedisStore,
    Rewriter,
    SqliteStore,
    Store,
    Turn,
)
from queen_sdk.stores import Record

TURNS = 20


@pytest.fixture
def durable_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a server that keeps every write on disk."""
    pytest.importorskip("redis", reason="redis-py is not installed")
    if BINARY is None:
        pytest.skip("redis-server is not installed; apt-get install redis-server")
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


def talk(store: Store, sessions: int, threads: int) -> None:
    """Let threads write all dialogues, each thread its share of every dialogue's turns in order."""

    def write(worker: int) -> None:
        order = list(range(worker, sessions, threads))
        for turn in range(TURNS):
            random.Random(worker * TURNS + turn).shuffle(order)
            for session in order:
                text = f"{session}:{turn}"
                record = Record(Turn(text), key=text)
                assert store.append(f"user-{session}", record, max_turns=TURNS)
                if turn % 7 == 3:  # a retry
                    assert not store.append(f"user-{session}", record, max_turns=TURNS)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(threads)))


def check(store: Store, sessions: int) -> None:
    for session in range(sessions):
        texts = [record.turn.text for record in store.load(f"user-{session}")]
        assert texts == [f"{session}:{turn}" for turn in range(TURNS)]


class TestManySessions:
    def test_in_memory(self) -> None:
        store = MemoryStore(max_sessions=10_000)
        talk(store, 10_000, 16)
        check(store, 10_000)
        assert store.sessions == 10_000

    def test_memory_is_bounded(self) -> None:
        store = MemoryStore(max_sessions=500)
        for k in range(10_000):
            store.append(f"user-{k}", Record(Turn("x")), max_turns=TURNS)
        assert store.sessions == 500

    @pytest.mark.parametrize("sessions", [100, pytest.param(10_000, marks=pytest.mark.slow)])
    @pytest.mark.timeout(1200)
    def test_in_a_file(self, tmp_path: Path, sessions: int) -> None:
        store = SqliteStore(tmp_path / "s.db", timeout=60)
        talk(store, sessions, 16)
        check(store, sessions)
        store.close()

    @pytest.mark.parametrize("sessions", [100, pytest.param(10_000, marks=pytest.mark.slow)])
    @pytest.mark.timeout(1200)
    def test_in_redis(self, durable_redis: RedisServer, sessions: int) -> None:
        store = RedisStore(durable_redis.url, timeout=60)
        talk(store, sessions, 16)
        check(store, sessions)
        store.close()


def test_dialogues_go_on_while_redis_is_away(durable_redis: RedisServer) -> None:
    store = RedisStore(durable_redis.url)
    breaker = CircuitBreaker(max_failures=1000)
    stop, away = threading.Event(), threading.Event()
    reasons: dict[bool, set[str | None]] = {False: set(), True: set()}
    said = [0] * 6

    def chat(worker: int) -> None:
        session = middleware.session(f"user/{worker}", store=store, max_turns=100_000)
        while not stop.is_set():
            before = away.is_set()
            text, ends = f"{worker}:{said[worker]}", time.monotonic() + 5
            while True:  # a bot whose request is retried until it is recorded
                result = session.rewrite(text, key=text)
                assert result.original == text
                if before == away.is_set():
                    reasons[before].add(result.skip_reason)
                if result.skip_reason != "error" or time.monotonic() > ends:
                    break
                time.sleep(0.01)
            said[worker] += 1

    with Middleware(
        FakeRewriter(), Policy(timeout=30), breaker=breaker, observers=()
    ) as middleware:
        threads = [threading.Thread(target=chat, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        away.set()
        durable_redis.kill()
        time.sleep(0.3)
        durable_redis.start()
        away.clear()
        time.sleep(1.5)
        stop.set()
        for thread in threads:
            thread.join()
    assert "error" in reasons[True] | reasons[False]
    assert None in reasons[False]
    patient = RedisStore(durable_redis.url, timeout=30)
    for worker in range(6):
        numbers = [int(one.turn.text.split(":")[1]) for one in patient.load(f"user/{worker}")]
        assert len(numbers) == len(set(numbers))
        # Only the turn that was being recorded when the server went away may be missing.
        assert len(set(range(said[worker])) - set(numbers)) <= 1
    patient.close()
    store.close()


def test_cancelled_loops_leave_no_half_dialogue(rewriter: Rewriter, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db", timeout=30)

    async def chat(session: str) -> None:
        dialogue = middleware.session(session, store=store, max_turns=1000)
        for k in range(1000):
            await dialogue.arewrite(f"Does he care? {k}", key=str(k))
            await dialogue.aadd(f"Smith {k}", key=f"answer {k}")

    async def run() -> None:
        tasks = [asyncio.create_task(chat(f"user/{k}")) for k in range(8)]
        await asyncio.sleep(0.3)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with Middleware(rewriter, Policy(timeout=30), observers=()) as middleware:
        asyncio.run(run())
        for k in range(8):
            texts = [record.turn.text for record in store.load(f"user/{k}")]
            expected = [
                text for n in range(len(texts)) for text in (f"Does he care? {n}", f"Smith {n}")
            ]
            assert texts == expected[: len(texts)]
        assert asyncio.run(middleware.arewrite(["Smith"], "Does he care?")).changed
    store.close()


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_memory_stays_constant(rewriter: Rewriter) -> None:
    seconds = float(os.environ.get("QUEEN_SOAK_SECONDS", "300"))
    store = MemoryStore(max_sessions=200)
    ends = time.monotonic() + seconds
    measured: list[float] = []

    def chat(worker: int, middleware: Middleware, tick: Callable[[], None]) -> int:
        chance, calls = random.Random(worker), 0
        while time.monotonic() < ends:
            session = middleware.session(f"user-{chance.randrange(1000)}", store=store)
            text = f"Does he care about {chance.randrange(10**9)}?"
            assert session.rewrite(text).skip_reason in (None, "no_history", "already_complete")
            session.add("Smith needs an expensive restaurant.")
            calls += 1
            if worker == 0:
                tick()
        return calls

    def tick() -> None:
        if len(measured) < 40 * (1 - (ends - time.monotonic()) / seconds):
            gc.collect()
            measured.append(resident_megabytes())

    with (
        MicroBatcher(rewriter, cached_results=500) as batcher,
        ThreadPoolExecutor(8) as pool,
    ):
        middleware = Middleware(batcher, Policy(timeout=60), observers=())
        calls = sum(pool.map(lambda worker: chat(worker, middleware, tick), range(8)))
    assert calls > 100
    settled = measured[len(measured) // 4 :]
    assert max(settled[len(settled) // 2 :]) < max(settled[: len(settled) // 2]) + 5.0
    assert store.sessions <= 200
