"""The faults of the load benchmark, done for real: each counts lost, doubled and mixed turns."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs

from queen_sdk import MemoryStore, RedisStore, SqliteStore, Store, Turn
from queen_sdk.errors import UnavailableStoreError
from queen_sdk.stores import Record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from redis_server import BINARY, RedisServer

_ALL = 1_000_000
_WRITER = """
import sys
from queen_sdk import SqliteStore, Turn
from queen_sdk.stores import Record

store = SqliteStore(sys.argv[1], timeout=60)
for k in range(10_000):
    text = f"0:{k}"
    store.append("user/0", Record(Turn(text), key=text), max_turns=1_000_000)
    print(k, flush=True)
"""


@attrs.frozen
class Fault:
    """What a fault did."""

    name: str
    turns: int
    """How many turns were acknowledged."""
    lost: int
    """Acknowledged and not there."""
    doubled: int
    """There more often than once."""
    mixed: int
    """In another dialogue, or out of order."""


@contextmanager
def redis_server(directory: Path | None = None) -> Iterator[RedisServer | None]:
    """Start a Redis server; None if it is not installed."""
    if BINARY is None:
        yield None
        return
    server = RedisServer(directory)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def count(name: str, store: Store, acknowledged: Mapping[str, Sequence[str]]) -> Fault:
    """Compare what was acknowledged with what is there; texts begin with `dialogue:number`."""
    lost = doubled = mixed = 0
    for session, texts in acknowledged.items():
        kept = [record.turn.text for record in store.load(session)]
        lost += len(set(texts) - set(kept))
        doubled += len(kept) - len(set(kept))
        strangers = [text for text in kept if text.split(":")[0] != session.split("/")[-1]]
        mixed += len(strangers) + (kept != sorted(kept, key=_number))
    return Fault(name, sum(map(len, acknowledged.values())), lost, doubled, mixed)


def _number(text: str) -> int:
    return int(text.split()[0].split(":")[1])


def many_sessions(name: str, store: Store, sessions: int) -> Fault:
    """Twenty turns in each of many sessions, from sixteen threads, some of them sent twice."""

    def write(worker: int) -> None:
        for number in range(20):
            for session in range(worker, sessions, 16):
                text = f"{session}:{number}"
                for _ in range(1 + (number % 7 == 3)):
                    store.append(f"u/{session}", Record(Turn(text), key=text), max_turns=20)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    said = {f"u/{k}": [f"{k}:{number}" for number in range(20)] for k in range(sessions)}
    return count(f"{sessions} sessions × 20 turns, 16 threads, {name}", store, said)


def killed_writer(path: Path, after: int) -> Fault:
    """Kill -9 of a writer in the middle of 10,000 appends."""
    arguments = [sys.executable, "-c", _WRITER, str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = iter(writer.stdout.readline, "")
        last = next(number for line in lines if (number := int(line)) >= after)
        writer.send_signal(signal.SIGKILL)
        last = max([last, *(int(line) for line in lines if line.endswith("\n"))])
    store = SqliteStore(path)
    text = f"0:{last}"
    store.append("user/0", Record(Turn(text), key=text), max_turns=_ALL)  # the retry
    found = count("kill -9 of a writer", store, {"user/0": [f"0:{k}" for k in range(last + 1)]})
    store.close()
    return found


def restarted_redis(server: RedisServer, times: int) -> Fault:
    """Kill and start Redis under load; every refused turn is sent again."""
    acknowledged: dict[str, list[str]] = {f"user/{worker}": [] for worker in range(6)}
    stop = threading.Event()

    def write(worker: int) -> None:
        store, said = RedisStore(server.url), acknowledged[f"user/{worker}"]
        while not stop.is_set():
            text = f"{worker}:{len(said)}"
            try:
                store.append(f"user/{worker}", Record(Turn(text), key=text), max_turns=_ALL)
            except UnavailableStoreError:
                time.sleep(0.01)
                continue
            said.append(text)
        store.close()

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(times):
        time.sleep(1.0)
        server.kill()
        time.sleep(0.2)
        server.start()
    time.sleep(1.5)
    stop.set()
    for thread in threads:
        thread.join()
    store = RedisStore(server.url, timeout=60)
    found = count("Redis killed and started under load", store, acknowledged)
    store.close()
    return found


def full_disk(path: Path) -> Fault:
    """A file that may not grow any more, and then may."""
    store = SqliteStore(path)
    assert store._connection is not None
    store._connection.execute("PRAGMA max_page_count = 60")
    said: list[str] = []
    for number in range(5000):
        text = f"0:{number}"
        try:
            store.append("user/0", Record(Turn(text), key=text), max_turns=_ALL)
        except UnavailableStoreError:
            store._connection.execute("PRAGMA max_page_count = 1000000")
            store.append("user/0", Record(Turn(text), key=text), max_turns=_ALL)
        said.append(text)
    found = count("disk full", store, {"user/0": said})
    store.close()
    return found


def faults(*, quick: bool) -> list[Fault]:
    """Do them all."""
    sessions = 200 if quick else 10_000
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as redis_directory:
        directory = Path(name)
        file = SqliteStore(directory / "many.db", timeout=60)
        found = [
            many_sessions("memory", MemoryStore(max_sessions=sessions), sessions),
            many_sessions("SQLite", file, sessions),
            killed_writer(directory / "killed.db", 300 if quick else 5000),
            full_disk(directory / "full.db"),
        ]
        file.close()
        with redis_server(Path(redis_directory)) as server:
            if server is not None:
                store = RedisStore(server.url, timeout=60)
                found.append(many_sessions("Redis", store, sessions))
                store.close()
                found.append(restarted_redis(server, 1 if quick else 5))
    return found
