"""The queue: bounds, turns between sessions, stale jobs."""

from __future__ import annotations

import threading
import time

import pytest

from queen_sdk.answers import Outcome
from queen_sdk.errors import ClosedError, DeadlineError, QueueFullError
from queen_sdk.options import CallOptions
from queen_sdk.waiting import FairQueue, Job


class Waiting(Job):
    """A job that keeps what is delivered."""

    def __init__(self, utterance: str, lane: str | None, deadline: float | None) -> None:
        self.outcomes: list[Outcome] = []
        super().__init__(
            (),
            utterance,
            CallOptions(),
            self.outcomes.append,
            lane=lane or object(),
            deadline=deadline,
        )

    def failed_with(self, kind: type[Exception]) -> bool:
        return [type(one) for one in self.outcomes] == [kind]


def job(utterance: str, lane: str | None = None, deadline: float | None = None) -> Waiting:
    return Waiting(utterance, lane, deadline)


def taken(queue: FairQueue, count: int) -> str:
    return "".join(queue.take(1, 0.001)[0].utterance for _ in range(count))


def test_sessions_take_turns() -> None:
    queue = FairQueue(100)
    for utterance, lane in zip("abcdefgh", "11112233", strict=True):
        queue.put(job(utterance, lane))
    assert taken(queue, 8) == "aegbfhcd"


def test_calls_without_session_are_served_in_order() -> None:
    queue = FairQueue(100)
    for utterance in "abcdef":
        queue.put(job(utterance))
    assert taken(queue, 6) == "abcdef"


def test_a_full_queue_refuses() -> None:
    queue = FairQueue(4)
    for utterance in "abcd":
        queue.put(job(utterance))
    with pytest.raises(QueueFullError, match="4 calls are waiting already; at most 4 may"):
        queue.put(job("e"))
    assert len(queue) == 4


def test_one_session_leaves_room_for_others() -> None:
    queue = FairQueue(4)
    for utterance in "ab":
        queue.put(job(utterance, "flood"))
    with pytest.raises(QueueFullError, match="2 of one session"):
        queue.put(job("c", "flood"))
    queue.put(job("d", "other"))
    assert taken(queue, 3) == "adb"


def test_stale_jobs_make_room() -> None:
    queue = FairQueue(4)
    cancelled, late = job("a", "1"), job("b", "1", deadline=time.monotonic() - 1)
    for one in (cancelled, late, job("c"), job("d")):
        queue.put(one)
    cancelled.wanted = False
    queue.put(job("e"))
    assert len(queue) == 3
    assert late.failed_with(DeadlineError)
    assert cancelled.outcomes == []
    assert taken(queue, 3) == "cde"


def test_a_batch_waits_for_more_but_not_for_ever() -> None:
    queue = FairQueue(100)
    queue.put(job("a"))
    began = time.monotonic()
    assert len(queue.take(3, 0.05)) == 1
    assert 0.04 < time.monotonic() - began < 5
    for utterance in "abcd":
        queue.put(job(utterance))
    assert len(queue.take(3, 60)) == 3


def test_a_job_past_its_deadline_does_not_begin() -> None:
    late = job("a", deadline=time.monotonic() - 1)
    assert not late.begin()
    assert late.failed_with(DeadlineError)
    assert job("b", deadline=time.monotonic() + 60).begin()


def test_a_job_that_nobody_wants_does_not_begin() -> None:
    cancelled = job("a", deadline=time.monotonic() - 1)
    cancelled.wanted = False
    assert not cancelled.begin()
    assert cancelled.outcomes == []


def test_a_closed_queue_is_emptied_and_then_ends() -> None:
    queue = FairQueue(100)
    queue.put(job("a"))
    queue.close()
    with pytest.raises(ClosedError, match="was closed"):
        queue.put(job("b"))
    assert taken(queue, 1) == "a"
    assert queue.take(1, 0.001) == []


def test_closing_wakes_those_who_wait() -> None:
    queue = FairQueue(100)
    ended: list[list[Job]] = []

    def wait(size: int) -> None:
        ended.append(queue.take(size, 60))

    threads = [threading.Thread(target=wait, args=(size,)) for size in (1, 5)]
    for thread in threads:
        thread.start()
    time.sleep(0.02)
    queue.close()
    for thread in threads:
        thread.join(5)
    assert ended == [[], []]


def test_abandoned_jobs_fail() -> None:
    queue = FairQueue(100)
    jobs = [job(utterance) for utterance in "abc"]
    for one in jobs:
        queue.put(one)
    jobs[0].wanted = False
    queue.abandon()
    assert len(queue) == 0
    assert jobs[0].outcomes == []
    assert all(one.failed_with(ClosedError) for one in jobs[1:])
