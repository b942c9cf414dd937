"""The end of a scorer, and scorers in the children of a fork."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from handmade import make_batch

from queen_sdk import runtime
from queen_sdk.errors import (
    ClosedError,
)
from queen_sdk.runtime import Scorer


class TestClosing:
    """The end of a scorer."""

    def test_a_closed_scorer_refuses(self, model_path: Path) -> None:
        with Scorer(model_path) as scorer:
            pass
        scorer.close()
        for call in (scorer.warm_up, lambda: scorer.provider):
            with pytest.raises(ClosedError, match="was closed"):
                call()

    def test_runs_under_way_finish(self, model_path: Path) -> None:
        scorer = Scorer(model_path, threads=2)
        batch = make_batch([200] * 8)
        expected = scorer.run(batch)
        running = threading.Barrier(5)

        def work() -> int:
            running.wait()
            runs = 0
            try:
                while True:
                    np.testing.assert_allclose(scorer.run(batch), expected, atol=1e-6, rtol=0)
                    runs += 1
            except ClosedError:
                return runs

        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(work) for _ in range(4)]
            running.wait()
            time.sleep(0.1)
            scorer.close()
            assert sum(future.result(timeout=30) for future in futures) > 0

    def test_threads_may_share_a_scorer(self, model_path: Path) -> None:
        batches = [make_batch([length]) for length in range(6, 60)]

        with Scorer(model_path, threads=2) as scorer:
            expected = [scorer.run(batch) for batch in batches]
            with ThreadPoolExecutor(4) as pool:
                found: list[npt.NDArray[np.float32]] = list(pool.map(scorer.run, batches))
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


FORK = """
import os, sys, threading, time
import numpy as np
from queen_sdk.features import EncodedBatch
from queen_sdk.runtime import Scorer

line = np.arange(8, 20, dtype=np.int64)[None]
place = np.arange(12, dtype=np.int64)[None]
batch = EncodedBatch(line, np.ones_like(line), np.zeros_like(line), place, place)
scorer, closed = Scorer(sys.argv[1], threads=2), Scorer(sys.argv[1])
closed.close()
expected = scorer.run(batch)

def work():
    while True:
        scorer.run(batch)
        with scorer._lock:
            time.sleep(0.001)

def load():
    while True:
        Scorer(sys.argv[1], threads=2).close()

for target in (work, work, load):
    threading.Thread(target=target, daemon=True).start()

def wait(child):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hangs"

def check():
    assert scorer._session is None
    np.testing.assert_allclose(scorer.run(batch), expected, atol=1e-6, rtol=0)
    assert scorer.provider == "CPUExecutionProvider"
    assert closed._closed

for round in range(6):
    child = os.fork()
    if child == 0:
        check()
        if round == 0:
            grandchild = os.fork()
            if grandchild == 0:
                check()
                sys.exit(7)
            assert wait(grandchild) == 7
        if round == 1:
            scorer.close()
        sys.exit(7)  # the long way out, which frees everything
    outcome = wait(child)
    assert outcome == 7, outcome
np.testing.assert_allclose(scorer.run(batch), expected, atol=1e-6, rtol=0)
print("survived", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(runtime.os, "fork"), reason="this system cannot fork")
def test_children_of_a_fork_have_their_own_session(model_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(model_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr
