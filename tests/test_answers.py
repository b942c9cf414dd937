"""How results reach threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from queen_sdk.answers import LoopAnswer, Mailbox, ThreadAnswer
from queen_sdk.errors import DeadlineError, InferenceError
from queen_sdk.values import RewriteResult


def result(text: str = "a") -> RewriteResult:
    return RewriteResult(text, original=text)


class CountingLoop(asyncio.SelectorEventLoop):
    """A loop that counts how often it is woken from outside."""

    woken = 0

    def call_soon_threadsafe(self, *arguments: Any, **keywords: Any) -> Any:
        self.woken += 1
        return super().call_soon_threadsafe(*arguments, **keywords)


class TestThread:
    def test_a_result_comes_from_another_thread(self) -> None:
        answer, expected = ThreadAnswer(), result()
        threading.Timer(0.02, answer.deliver, (expected,)).start()
        assert answer.wait(None) is expected

    def test_an_error_is_raised(self) -> None:
        answer = ThreadAnswer()
        answer.deliver(InferenceError("broken"))
        with pytest.raises(InferenceError, match="broken"):
            answer.wait(time.monotonic() + 5)

    def test_a_result_that_is_late_is_not_waited_for(self) -> None:
        answer = ThreadAnswer()
        with pytest.raises(DeadlineError):
            answer.wait(time.monotonic() + 0.01)
        answer.deliver(result())  # nobody minds

    def test_a_deadline_may_be_as_far_away_as_one_likes(self) -> None:
        answer, expected = ThreadAnswer(), result()
        answer.deliver(expected)
        assert answer.wait(1e300) is expected


class TestLoop:
    def test_a_result_comes_from_another_thread(self) -> None:
        async def wait(deadline: float | None) -> RewriteResult:
            answer = LoopAnswer(Mailbox(asyncio.get_running_loop()))
            threading.Timer(0.02, answer.deliver, (result("b"),)).start()
            return await answer.wait(deadline)

        assert asyncio.run(wait(None)) == result("b")
        assert asyncio.run(wait(time.monotonic() + 60)) == result("b")

    @pytest.mark.parametrize(
        ("error", "raised"),
        [(InferenceError("x"), InferenceError), (StopIteration(), RuntimeError)],
    )
    def test_any_error_is_raised(self, error: Exception, raised: type[Exception]) -> None:
        async def wait() -> None:
            answer = LoopAnswer(Mailbox(asyncio.get_running_loop()))
            answer.deliver(error)
            await answer.wait(time.monotonic() + 5)

        with pytest.raises(raised):
            asyncio.run(wait())

    def test_a_result_that_is_late_is_not_waited_for(self) -> None:
        async def wait() -> None:
            answer = LoopAnswer(Mailbox(asyncio.get_running_loop()))
            with pytest.raises(DeadlineError):
                await answer.wait(time.monotonic() + 0.01)
            answer.deliver(result())  # nobody minds
            await asyncio.sleep(0.01)

        asyncio.run(wait())

    def test_a_cancelled_wait_does_not_mind_the_result(self) -> None:
        async def wait() -> None:
            answer = LoopAnswer(Mailbox(asyncio.get_running_loop()))
            waiting = asyncio.create_task(answer.wait(None))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            answer.deliver(result())
            await asyncio.sleep(0.01)

        asyncio.run(wait())

    def test_a_closed_loop_does_not_hurt_the_one_who_delivers(self) -> None:
        loop = asyncio.new_event_loop()
        answer = LoopAnswer(Mailbox(loop))
        loop.close()
        answer.deliver(result())

    def test_a_loop_is_woken_once_for_all_that_came_meanwhile(self) -> None:
        loop = CountingLoop()
        mailbox = Mailbox(loop)
        answers = [LoopAnswer(mailbox) for _ in range(50)]
        for k, answer in enumerate(answers):
            answer.deliver(result(str(k)))
        assert loop.woken == 1
        waits = asyncio.gather(*(loop.create_task(answer.wait(None)) for answer in answers))
        found = loop.run_until_complete(waits)
        assert [one.text for one in found] == [str(k) for k in range(50)]
        loop.close()

    def test_nothing_gets_lost_between_threads(self) -> None:
        async def wait() -> list[RewriteResult]:
            mailbox = Mailbox(asyncio.get_running_loop())
            answers = [LoopAnswer(mailbox) for _ in range(4000)]

            def deliver(worker: int) -> None:
                for k in range(worker, 4000, 4):
                    answers[k].deliver(result(str(k)))

            threads = [threading.Thread(target=deliver, args=(k,)) for k in range(4)]
            for thread in threads:
                thread.start()
            ends = time.monotonic() + 30
            return await asyncio.gather(*(answer.wait(ends) for answer in answers))

        assert [one.text for one in asyncio.run(wait())] == [str(k) for k in range(4000)]
