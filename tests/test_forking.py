"""Forks in the middle of other threads' work."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

SCRIPT = """
import os, threading
from queen_sdk import CircuitBreaker, MemoryStore, Turn
from queen_sdk.cache import ResultCache
from queen_sdk.stores import Record
from queen_sdk.values import RewriteResult

store, cache, breaker = MemoryStore(max_sessions=50), ResultCache(10), CircuitBreaker()
stop = threading.Event()

def use(name):
    store.append(name, Record(Turn("x" * 50)), max_turns=5)
    cache.add(os.urandom(4), RewriteResult("a", original="a"))
    cache.get(b"a")
    breaker.failed()
    breaker.permits()
    breaker.succeeded()

def work(worker):
    while not stop.is_set():
        for k in range(100):
            use(f"user-{worker}/{k}")

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for _ in range(40):
    child = os.fork()
    if not child:
        use("child")  # would hang on a lock that another thread held
        kept = sum(d.characters for d in store._dialogues.values())
        os._exit(7 if kept == store._characters else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
for thread in threads:
    thread.join()
"""


def test_a_child_finds_locks_free_and_counts_right() -> None:
    arguments = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SCRIPT]
    subprocess.run(arguments, check=True, timeout=120)
