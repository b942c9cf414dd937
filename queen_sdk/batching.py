"""Many callers, one model: calls wait in a bounded queue and a few threads work it off.

On a CPU a batch costs as much as its members, so there each thread runs one call at a time, on one
core and without padding. On a GPU one thread runs what has gathered as one batch.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Sequence
from types import TracebackType

from queen_sdk.answers import LoopAnswer, Mailbox, ThreadAnswer
from queen_sdk.asking import CALLER, Rewrites, in_thread
from queen_sdk.cache import ResultCache, dialogue_digest
from queen_sdk.dialogue import HistoryItem, read_history, read_utterance
from queen_sdk.options import CallOptions, at_least_one, positive_seconds
from queen_sdk.runtime import CUDA, available_providers
from queen_sdk.values import RewriteResult
from queen_sdk.waiting import FairQueue, Job
from queen_sdk.working import work

_GPU_BATCH = 32

_LAST_SECONDS = 5.0
_BATCHERS: weakref.WeakSet[MicroBatcher] = weakref.WeakSet()
_WORKERS: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


class MicroBatcher:
    """Rewrites for many threads and event loops at once, through a bounded queue.

    Calls of one session wait behind each other, sessions take turns. On a CPU, open the rewriter
    with `threads=1`: then the runs beside each other do not fight for cores.
    """

    def __init__(
        self,
        rewriter: Rewrites,
        *,
        workers: int | None = None,
        max_batch: int | None = None,
        max_wait: float = 0.002,
        max_queue: int = 1024,
        cached_results: int = 0,
    ) -> None:
        """Set the bounds; threads start with the first call.

        Args:
            rewriter: What rewrites; it stays open when this is closed.
            workers: Threads that run the model; None for one per core, or one with a GPU.
            max_batch: Calls that are run together; None for one, or 32 with a GPU.
            max_wait: Seconds that an incomplete batch waits for more calls.
            max_queue: Calls that may wait; one more is refused.
            cached_results: How many results to keep, so that the same call gives the same object;
                0 for none.

        Raises:
            InvalidArgumentError: An argument is of the wrong type or out of range.
        """
        self._rewriter = rewriter
        self._workers = workers if workers is None else at_least_one("workers", workers)
        self._max_batch = max_batch if max_batch is None else at_least_one("max_batch", max_batch)
        self._max_wait = positive_seconds("max_wait", max_wait)
        self._max_queue = at_least_one("max_queue", max_queue)
        self._cache: ResultCache | None = None
        if cached_results != 0:
            self._cache = ResultCache(at_least_one("cached_results", cached_results))
        self._forgotten: weakref.finalize[[], MicroBatcher] | None = None
        self._start_afresh()
        _BATCHERS.add(self)

    def _start_afresh(self) -> None:
        self._queue = FairQueue(self._max_queue)
        # A batcher that is forgotten lets its threads go; those of the parent are not a child's.
        if self._forgotten is not None:
            self._forgotten.detach()
        self._forgotten = weakref.finalize(self, self._queue.close)
        self._mailbox: Mailbox | None = None
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return len(self._queue)

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        session: str | None = None,
        timeout: float | None = None,
    ) -> RewriteResult:
        """Rewrite one utterance when its turn comes.

        Args:
            history: As in `Rewriter.rewrite`.
            utterance: As in `Rewriter.rewrite`.
            threshold: As in `Rewriter.rewrite`.
            min_confidence: As in `Rewriter.rewrite`.
            protect: As in `Rewriter.rewrite`.
            session: Whose call it is; None for a session of its own.
            timeout: Seconds, from now, that the result is worth waiting for.

        Raises:
            QueueFullError: Too many calls wait.
            DeadlineError: It was not done in time.
            ClosedError: The micro-batcher or its rewriter was closed.
        """
        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        answer = ThreadAnswer()
        job = self._job(history, utterance, options, answer, session, timeout)
        known = self._submit(job)
        if known is not None:
            return known
        try:
            return answer.wait(job.deadline)
        finally:
            job.wanted = False

    async def arewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        session: str | None = None,
        timeout: float | None = None,
    ) -> RewriteResult:
        """Do what `rewrite` does, without blocking the event loop; a cancelled call gives way."""
        import asyncio  # whoever awaits has paid for this import; others need not

        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        loop = asyncio.get_running_loop()
        mailbox = self._mailbox
        if mailbox is None or mailbox.loop is not loop:  # one is kept: most programs have one loop
            mailbox = self._mailbox = Mailbox(loop)
        answer = LoopAnswer(mailbox)
        job = self._job(history, utterance, options, answer, session, timeout)
        known = self._submit(job)
        if known is not None:
            return known
        try:
            return await answer.wait(job.deadline)
        finally:
            job.wanted = False

    def close(self, timeout: float = 10.0) -> None:
        """Take no more calls and finish those that wait; fail what is left after `timeout`."""
        positive_seconds("timeout", timeout)
        ends = time.monotonic() + timeout
        self._queue.close()
        for thread in self._threads:
            thread.join(max(ends - time.monotonic(), 0.0))
        self._queue.abandon()

    async def aclose(self, timeout: float = 10.0) -> None:
        """Do what `close` does, without blocking the event loop."""
        await in_thread(lambda: self.close(timeout))

    def __enter__(self) -> MicroBatcher:
        """Return itself; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    async def __aenter__(self) -> MicroBatcher:
        """Return itself; leaving the block closes it."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.aclose()

    def _job(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        options: CallOptions,
        answer: ThreadAnswer | LoopAnswer,
        session: str | None,
        timeout: float | None,
    ) -> Job:
        turns = read_history(history)
        read_utterance(utterance)
        if timeout is not None:
            positive_seconds("timeout", timeout)
        caller = CALLER.get().with_bounds(session, timeout)
        lane = object() if caller.session is None else caller.session
        return Job(turns, utterance, options, answer.deliver, lane, caller.deadline)

    def _submit(self, job: Job) -> RewriteResult | None:
        """Return the result if it is known, else let the job wait."""
        if self._cache is not None:
            known = self._cache.get(dialogue_digest(job.turns, job.utterance, job.options))
            if known is not None:
                return known
        self._queue.put(job)
        if not self._threads:
            self._start()
        return None

    def _start(self) -> None:
        with self._starting:
            if self._threads:
                return
            gpu = _on_gpu(self._rewriter)
            size = self._max_batch or (_GPU_BATCH if gpu else 1)
            threads = [
                threading.Thread(
                    target=work,
                    args=(self._queue, self._rewriter, self._cache),
                    kwargs={"max_batch": size, "max_wait": self._max_wait},
                    name="queen-worker",
                    daemon=True,
                )
                for _ in range(self._workers or (1 if gpu else _cores()))
            ]
            for thread in threads:
                thread.start()
                _WORKERS.add(thread)
            self._threads = threads


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _on_gpu(rewriter: Rewrites) -> bool:
    # Asking a rewriter for its provider may load a model: only where the answer can be CUDA.
    return CUDA in available_providers() and getattr(rewriter, "provider", None) == CUDA


def _after_fork() -> None:
    _WORKERS.clear()
    for batcher in _BATCHERS:
        batcher._start_afresh()  # its threads and their queue stayed with the parent


def _at_exit() -> None:
    # A thread that comes out of ONNX Runtime when the interpreter is gone aborts the process.
    for batcher in tuple(_BATCHERS):
        batcher._queue.close()
        batcher._queue.abandon()
    ends = time.monotonic() + _LAST_SECONDS
    for thread in tuple(_WORKERS):
        thread.join(max(ends - time.monotonic(), 0.0))


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
