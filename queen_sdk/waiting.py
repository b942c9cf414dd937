"""The queue in front of a model: bounded, and fair between sessions."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

import attrs

from queen_sdk.answers import Outcome
from queen_sdk.errors import ClosedError, DeadlineError, QueueFullError
from queen_sdk.options import CallOptions
from queen_sdk.values import Turn


@attrs.define(eq=False)
class Job:
    """An utterance that waits for its rewrite."""

    turns: tuple[Turn, ...]
    utterance: str
    options: CallOptions
    deliver: Callable[[Outcome], None]
    """Takes the outcome; called at most once, from any thread."""
    lane: Hashable = attrs.field(factory=object)
    """Jobs of one lane follow each other; lanes take turns."""
    deadline: float | None = None
    """A time of `time.monotonic`, after which nobody waits for the result."""
    wanted: bool = True
    """False when the caller has gone: then it need not run, and nothing is delivered."""

    @property
    def late(self) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def begin(self) -> bool:
        """Say whether the job is to be run; tell a caller whose deadline has passed."""
        if self.wanted and self.late:
            self.deliver(DeadlineError("the deadline passed while the call waited"))
            return False
        return self.wanted


class FairQueue:
    """Jobs in lanes, one lane per session; each take goes to the next lane."""

    def __init__(self, max_jobs: int) -> None:
        """Start empty; one lane may fill half of `max_jobs`, so that a flood leaves room."""
        self._max_jobs = max_jobs
        self._max_in_lane = max(max_jobs // 2, 1)
        self._lanes: OrderedDict[Hashable, deque[Job]] = OrderedDict()
        self._size = 0
        self._closed = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        """Return how many jobs wait."""
        return self._size

    def put(self, job: Job) -> None:
        """Let a job wait for its turn.

        Raises:
            QueueFullError: There is no room.
            ClosedError: The queue was closed.
        """
        with self._changed:
            if self._closed:
                raise ClosedError("this micro-batcher was closed; make a new one")
            if self._full(job.lane):
                self._drop_stale()
                if self._full(job.lane):
                    raise QueueFullError(
                        f"{self._size} calls are waiting already; at most {self._max_jobs} may, "
                        f"{self._max_in_lane} of one session: call again later, or raise max_queue"
                    )
            self._lanes.setdefault(job.lane, deque()).append(job)
            self._size += 1
            self._changed.notify()

    def take(self, max_jobs: int, max_wait: float) -> list[Job]:
        """Return the next jobs, waiting for the first; none if the queue is closed and empty.

        After the first, up to `max_wait` seconds are spent on filling the list.
        """
        with self._changed:
            while True:
                while not self._size:
                    if self._closed:
                        return []
                    self._changed.wait()
                if max_jobs > 1:
                    self._changed.wait_for(
                        lambda: self._size >= max_jobs or self._closed, timeout=max_wait
                    )
                if self._size:  # another thread may have been faster
                    return [self._pop() for _ in range(min(self._size, max_jobs))]

    def close(self) -> None:
        """Take no more jobs; those that wait can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Fail the jobs that still wait."""
        with self._changed:
            while self._size:
                job = self._pop()
                if job.wanted:
                    job.deliver(ClosedError("closed before the call's turn came"))

    def _full(self, lane: Hashable) -> bool:
        return self._size >= self._max_jobs or len(self._lanes.get(lane, ())) >= self._max_in_lane

    def _pop(self) -> Job:
        lane, jobs = self._lanes.popitem(last=False)
        job = jobs.popleft()
        if jobs:
            self._lanes[lane] = jobs
        self._size -= 1
        return job

    def _drop_stale(self) -> None:
        for lane, jobs in list(self._lanes.items()):
            for job in [job for job in jobs if job.late or not job.wanted]:
                jobs.remove(job)
                self._size -= 1
                job.begin()
            if not jobs:
                del self._lanes[lane]
