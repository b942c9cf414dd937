"""The micro-batcher: batches, bounds, deadlines, cancellation, the end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fakes import BatchRewriter, FakeRewriter, Gate, fail

from queen_sdk import MicroBatcher, Rewriter
from queen_sdk.errors import (
    ClosedError,
    DeadlineError,
    InferenceError,
    InvalidArgumentError,
    QueueFullError,
)

HISTORY = ["Smith needs an expensive restaurant."]
UTTERANCES = ["No, he does not care.", "Where is it?", "他不关心", "What about her?", "ok", " "] * 6


async def gather(batcher: MicroBatcher, utterances: list[str]) -> list[Any]:
    calls = (batcher.arewrite(HISTORY, utterance) for utterance in utterances)
    return await asyncio.gather(*calls, return_exceptions=True)


class TestResults:
    @pytest.mark.parametrize("max_batch", [1, 4, 64])
    def test_many_at_once_equal_one_at_a_time(self, rewriter: Rewriter, max_batch: int) -> None:
        def shown(results: Iterable[Any]) -> list[tuple[str, str, str | None]]:
            return [(one.original, one.text, one.skip_reason) for one in results]

        expected = shown(rewriter.rewrite(HISTORY, one) for one in UTTERANCES)
        with MicroBatcher(rewriter, max_batch=max_batch, workers=3) as batcher:
            assert shown(asyncio.run(gather(batcher, UTTERANCES))) == expected
            with ThreadPoolExecutor(8) as pool:
                found = pool.map(lambda one: batcher.rewrite(HISTORY, one), UTTERANCES)
                assert shown(found) == expected

    def test_waiting_calls_are_run_together(self) -> None:
        gate = Gate()
        fake = BatchRewriter(lambda text: gate(text) if text == "first" else None)
        with MicroBatcher(fake, workers=1, max_batch=8) as batcher, ThreadPoolExecutor(21) as pool:
            first = pool.submit(batcher.rewrite, HISTORY, "first")
            gate.wait_for(1)
            rest = [pool.submit(batcher.rewrite, HISTORY, str(k)) for k in range(20)]
            wait_until(lambda: batcher.waiting == 20)
            gate.opened.set()
            assert first.result(10).original == "first"
            assert [one.result(10).original for one in rest] == [str(k) for k in range(20)]
        assert fake.batches == [8, 8, 4]

    def test_a_batch_holds_calls_of_the_same_options(self) -> None:
        gate = Gate()
        fake = BatchRewriter(lambda text: gate(text) if text == "first" else None)
        with MicroBatcher(fake, workers=1, max_batch=8) as batcher, ThreadPoolExecutor(9) as pool:
            pool.submit(batcher.rewrite, HISTORY, "first")
            gate.wait_for(1)
            for k in range(6):
                pool.submit(batcher.rewrite, HISTORY, str(k), threshold=float(k % 2))
            wait_until(lambda: batcher.waiting == 6)
            gate.opened.set()
        assert fake.batches == [3, 3]
        assert all(
            int(text) % 2 == fake.options[k][0] for k, (_, text) in enumerate(fake.calls) if k
        )

    def test_a_bad_call_does_not_spoil_its_neighbours(self) -> None:
        gate = Gate()

        def act(text: str) -> None:
            if text == "first":
                gate(text)
            if text == "3":
                fail(text)

        fake = BatchRewriter(act)
        with MicroBatcher(fake, workers=1, max_batch=8) as batcher, ThreadPoolExecutor(9) as pool:
            pool.submit(batcher.rewrite, HISTORY, "first")
            gate.wait_for(1)
            rest = [pool.submit(batcher.rewrite, HISTORY, str(k)) for k in range(6)]
            wait_until(lambda: batcher.waiting == 6)
            gate.opened.set()
            failed = [k for k, one in enumerate(rest) if one.exception(10)]
        assert failed == [3]

    def test_runs_go_beside_each_other(self) -> None:
        both = threading.Barrier(2, timeout=10)
        with MicroBatcher(FakeRewriter(lambda _: both.wait() and None), workers=2) as batcher:
            results = asyncio.run(gather(batcher, ["a", "b", "c", "d"]))
        assert [result.original for result in results] == ["a", "b", "c", "d"]

    def test_there_is_a_thread_per_core(self) -> None:
        with MicroBatcher(FakeRewriter()) as batcher:
            batcher.rewrite(HISTORY, "a")
            assert len(batcher._threads) == len(os.sched_getaffinity(0))

    def test_arguments_are_checked_at_the_door(self) -> None:
        with MicroBatcher(FakeRewriter()) as batcher:
            for arguments in (
                {"history": "a"},
                {"utterance": 7},
                {"timeout": 0},
                {"threshold": "x"},
            ):
                call: dict[str, Any] = {"history": HISTORY, "utterance": "a", **arguments}
                with pytest.raises(InvalidArgumentError):
                    batcher.rewrite(**call)
                with pytest.raises(InvalidArgumentError):
                    asyncio.run(batcher.arewrite(**call))

    @pytest.mark.parametrize(
        "name", ["workers", "max_batch", "max_wait", "max_queue", "cached_results"]
    )
    def test_settings_are_checked(self, name: str) -> None:
        settings: dict[str, Any] = {name: -1}
        with pytest.raises(InvalidArgumentError, match=f"{name} must be"):
            MicroBatcher(FakeRewriter(), **settings)


class TestGpu:
    def test_a_gpu_gets_one_thread_and_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "queen_sdk.batching.available_providers",
            lambda: ("CUDAExecutionProvider", "CPUExecutionProvider"),
        )
        fake = BatchRewriter()
        fake.provider = "CUDAExecutionProvider"  # type: ignore[attr-defined]
        with MicroBatcher(fake, max_wait=0.2) as batcher:
            asyncio.run(gather(batcher, [str(k) for k in range(40)]))
            assert len(batcher._threads) == 1
        assert fake.batches == [32, 8]


class TestBounds:
    def test_a_full_queue_pushes_back(self) -> None:
        gate = Gate()
        with MicroBatcher(FakeRewriter(gate), workers=1, max_queue=4) as batcher:

            async def flood() -> list[Any]:
                calls = asyncio.gather(
                    *(batcher.arewrite(HISTORY, str(k)) for k in range(20)), return_exceptions=True
                )
                await asyncio.sleep(0.05)
                gate.opened.set()
                return await calls

            results = asyncio.run(flood())
        refused = [isinstance(result, QueueFullError) for result in results]
        assert sum(refused) in (15, 16)
        assert not any(refused[:4])

    def test_a_deadline_passes_while_waiting(self) -> None:
        gate, fake = Gate(), FakeRewriter()
        fake.act = gate
        with MicroBatcher(fake, workers=1) as batcher:
            with ThreadPoolExecutor(1) as pool:
                first = pool.submit(batcher.rewrite, HISTORY, "a")
                gate.wait_for(1)
                for late in (
                    lambda: batcher.rewrite(HISTORY, "b", timeout=0.02),
                    lambda: asyncio.run(batcher.arewrite(HISTORY, "c", timeout=0.02)),
                ):
                    with pytest.raises(DeadlineError):
                        late()
                gate.opened.set()
                assert first.result(10).original == "a"
            assert batcher.rewrite(HISTORY, "d").original == "d"
        assert [utterance for _, utterance in fake.calls] == ["a", "d"]

    def test_a_deadline_passes_while_running(self) -> None:
        gate = Gate()
        with MicroBatcher(FakeRewriter(gate), workers=1) as batcher:
            with pytest.raises(DeadlineError):
                batcher.rewrite(HISTORY, "a", timeout=0.2)
            gate.opened.set()
            assert batcher.rewrite(HISTORY, "b", timeout=10).original == "b"

    def test_one_session_does_not_hold_up_another(self) -> None:
        gate, fake = Gate(), FakeRewriter()
        fake.act = lambda text: gate(text) if text == "first" else None
        with MicroBatcher(fake, workers=1) as batcher, ThreadPoolExecutor(22) as pool:
            pool.submit(batcher.rewrite, HISTORY, "first")
            gate.wait_for(1)
            for _ in range(20):
                pool.submit(batcher.rewrite, HISTORY, "chatty", session="a")
            wait_until(lambda: batcher.waiting == 20)
            pool.submit(batcher.rewrite, HISTORY, "quiet", session="b")
            wait_until(lambda: batcher.waiting == 21)
            gate.opened.set()
        assert [utterance for _, utterance in fake.calls].index("quiet") == 2


class TestCancellation:
    def test_a_cancelled_call_never_runs(self) -> None:
        gate, fake = Gate(), FakeRewriter()
        fake.act = gate

        async def cancel() -> None:
            with MicroBatcher(fake, workers=1) as batcher:
                first = asyncio.create_task(batcher.arewrite(HISTORY, "a"))
                await asyncio.to_thread(gate.wait_for, 1)
                second = asyncio.create_task(batcher.arewrite(HISTORY, "b"))
                await asyncio.sleep(0)
                second.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await second
                gate.opened.set()
                await first
                await batcher.arewrite(HISTORY, "c")

        asyncio.run(cancel())
        assert [utterance for _, utterance in fake.calls] == ["a", "c"]

    def test_a_loop_that_ends_leaves_the_batcher_working(self, rewriter: Rewriter) -> None:
        async def leave() -> None:
            tasks = [asyncio.create_task(batcher.arewrite(HISTORY, "he")) for _ in range(200)]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            raise KeyError

        with MicroBatcher(rewriter) as batcher:
            for _ in range(3):
                with pytest.raises(KeyError):
                    asyncio.run(leave())
            assert asyncio.run(batcher.arewrite(HISTORY, "Does he care?")).changed


class TestEnd:
    def test_closing_finishes_what_waits(self) -> None:
        fake = FakeRewriter(lambda _: time.sleep(0.002))

        async def close() -> list[Any]:
            async with MicroBatcher(fake, workers=1) as batcher:
                calls = asyncio.gather(*(batcher.arewrite(HISTORY, str(k)) for k in range(20)))
                await asyncio.sleep(0)
            return await calls

        assert len(asyncio.run(close())) == 20

    def test_closing_gives_up_after_its_time(self) -> None:
        gate = Gate()
        batcher = MicroBatcher(FakeRewriter(gate), workers=1)
        with ThreadPoolExecutor(3) as pool:
            calls = [pool.submit(batcher.rewrite, HISTORY, str(k)) for k in range(3)]
            gate.wait_for(1)
            wait_until(lambda: batcher.waiting == 2)
            batcher.close(timeout=0.05)
            gate.opened.set()
        errors = [call.exception() for call in calls]
        assert [type(error) for error in errors if error] == [ClosedError, ClosedError]

    def test_a_closed_batcher_refuses(self) -> None:
        batcher = MicroBatcher(FakeRewriter())
        batcher.rewrite(HISTORY, "a")
        batcher.close()
        batcher.close()
        with pytest.raises(ClosedError):
            batcher.rewrite(HISTORY, "a")
        with pytest.raises(ClosedError):
            asyncio.run(batcher.arewrite(HISTORY, "a"))
        assert not any(thread.is_alive() for thread in batcher._threads)

    def test_a_forgotten_batcher_does_not_keep_the_program(self, tiny_bundle_dir: Path) -> None:
        script = (
            "import asyncio, sys\n"
            "from queen_sdk import Rewriter\n"
            "rewriter = Rewriter(sys.argv[1], threads=1)\n"
            "asyncio.run(rewriter.arewrite(['Smith'], 'he'))\n"
        )
        arguments = [sys.executable, "-c", script, str(tiny_bundle_dir)]
        subprocess.run(arguments, check=True, timeout=60)

    def test_a_program_may_end_while_a_late_call_still_runs(self, tmp_path: Path) -> None:
        # Else its thread would come back to an interpreter that is gone, and abort the process.
        program = f"""
import pathlib, time
from queen_sdk import MicroBatcher
from queen_sdk.errors import DeadlineError
from queen_sdk.testing import FakeRewriter

def work(utterance):
    time.sleep(0.5)
    pathlib.Path({str(tmp_path / "done")!r}).touch()

try:
    MicroBatcher(FakeRewriter(work)).rewrite(["a"], "b", timeout=0.05)
except DeadlineError:
    print("late")
"""
        run = [sys.executable, "-c", program]
        ended = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "late\n", "")
        assert (tmp_path / "done").exists()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    def test_a_child_of_a_fork_has_its_own_threads(self, tiny_bundle_dir: Path) -> None:
        script = (
            "import os, sys\n"
            "from queen_sdk import MicroBatcher, Rewriter\n"
            "batcher = MicroBatcher(Rewriter(sys.argv[1], threads=1))\n"
            "before = batcher.rewrite(['Smith'], 'Does he care?')\n"
            "child = os.fork()\n"
            "assert batcher.rewrite(['Smith'], 'Does he care?', timeout=30) == before\n"
            "if not child:\n"
            "    os._exit(7)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        )
        arguments = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
        subprocess.run([*arguments, str(tiny_bundle_dir)], check=True, timeout=60)


class TestRewriter:
    def test_arewrite_equals_rewrite(self, tiny_bundle_dir: Path) -> None:
        async def ask(rewriter: Rewriter) -> list[Any]:
            return await asyncio.gather(*(rewriter.arewrite(HISTORY, one) for one in UTTERANCES))

        with Rewriter(tiny_bundle_dir, threads=1) as rewriter:
            expected = [rewriter.rewrite(HISTORY, one) for one in UTTERANCES]
            assert asyncio.run(ask(rewriter)) == expected
        with pytest.raises(ClosedError):
            asyncio.run(rewriter.arewrite(HISTORY, "he"))

    def test_failures_of_the_network_come_through(
        self, tiny_bundle_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise InferenceError("ONNX Runtime failed")

        with Rewriter(tiny_bundle_dir, threads=1) as rewriter, MicroBatcher(rewriter) as batcher:
            assert batcher.rewrite(HISTORY, "Does he care?").changed
            with monkeypatch.context() as patch:
                patch.setattr("queen_sdk.runtime.Scorer.run", broken)
                with pytest.raises(InferenceError):
                    batcher.rewrite(HISTORY, "Does he care?")
            assert batcher.rewrite(HISTORY, "Does he care?").changed


class TestCache:
    def test_the_same_call_gives_the_same_object(self) -> None:
        fake = FakeRewriter()
        with MicroBatcher(fake, cached_results=10) as batcher:
            first = batcher.rewrite(HISTORY, "a")
            assert batcher.rewrite([("user", HISTORY[0])], "a") is first
            assert asyncio.run(batcher.arewrite(HISTORY, "a")) is first
            assert len(fake.calls) == 1
            for other in (
                batcher.rewrite(HISTORY, "a", threshold=0.5),
                batcher.rewrite([("assistant", HISTORY[0])], "a"),
                batcher.rewrite([*HISTORY, "b"], "a"),
            ):
                assert other is not first
        assert len(fake.calls) == 4

    def test_failures_are_not_kept(self) -> None:
        fake = FakeRewriter(fail)
        with MicroBatcher(fake, cached_results=10) as batcher:
            with pytest.raises(RuntimeError):
                batcher.rewrite(HISTORY, "a")
            fake.act = lambda _: None
            assert batcher.rewrite(HISTORY, "a").changed


def wait_until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.001)
