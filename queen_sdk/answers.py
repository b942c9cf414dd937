"""How a result gets from the thread that found it to the caller who waits for it.

Not by a `concurrent.futures.Future` that is wrapped for the event loop: that wakes the loop for
every single result, and costs a caller more than a plain thread pool would.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from queen_sdk.errors import DeadlineError
from queen_sdk.values import RewriteResult

if TYPE_CHECKING:
    import asyncio  # whoever awaits has paid for this import; others need not

Outcome: TypeAlias = RewriteResult | BaseException
"""What came of a call."""


class ThreadAnswer:
    """An outcome that a thread waits for."""

    __slots__ = ("_arrived", "_outcome")
    _outcome: Outcome

    def __init__(self) -> None:
        """Begin without one."""
        self._arrived = threading.Lock()
        self._arrived.acquire()

    def deliver(self, outcome: Outcome) -> None:
        """Hand the outcome over; once only."""
        self._outcome = outcome
        self._arrived.release()

    def wait(self, deadline: float | None) -> RewriteResult:
        """Return the result, or raise what came in its place.

        Raises:
            DeadlineError: It did not come in time; `deadline` is a time of `time.monotonic`.
        """
        seconds = -1.0 if deadline is None else max(deadline - time.monotonic(), 0.0)
        if not self._arrived.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            raise DeadlineError("not done in time")
        return _result(self._outcome)


class Mailbox:
    """Brings outcomes into one event loop, waking it once for all that arrived meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin empty."""
        self.loop = loop
        self._arrived: deque[tuple[asyncio.Future[Outcome], Outcome]] = deque()
        self._called = False

    def put(self, future: asyncio.Future[Outcome], outcome: Outcome) -> None:
        """Settle the future soon, from any thread; nobody misses it if the loop is closed."""
        self._arrived.append((future, outcome))
        if self._called:
            return  # it has yet to look, and will find this too
        self._called = True
        try:
            self.loop.call_soon_threadsafe(self._empty)
        except RuntimeError:
            if not self.loop.is_closed():
                raise

    def _empty(self) -> None:
        self._called = False
        while self._arrived:
            _settle(*self._arrived.popleft())


class LoopAnswer:
    """An outcome that a coroutine waits for; may be delivered from any thread."""

    __slots__ = ("_future", "_mailbox")

    def __init__(self, mailbox: Mailbox) -> None:
        """Begin without one; it will come through the loop's mailbox."""
        self._mailbox = mailbox
        self._future: asyncio.Future[Outcome] = mailbox.loop.create_future()

    def deliver(self, outcome: Outcome) -> None:
        """Hand the outcome over."""
        self._mailbox.put(self._future, outcome)

    async def wait(self, deadline: float | None) -> RewriteResult:
        """Return the result, or raise what came in its place.

        Raises:
            DeadlineError: It did not come in time; `deadline` is a time of `time.monotonic`.
        """
        if deadline is None:
            return _result(await self._future)
        late = DeadlineError("not done in time")
        seconds = max(deadline - time.monotonic(), 0.0)
        # Not wait_for: until Python 3.12 a cancellation got lost in it now and then.
        timer = self._mailbox.loop.call_later(seconds, _settle, self._future, late)
        try:
            return _result(await self._future)
        finally:
            timer.cancel()


def _settle(future: asyncio.Future[Any], outcome: Outcome) -> None:
    # Errors travel as results: a future refuses some, and complains of those that nobody reads.
    if not future.done():
        future.set_result(outcome)


def _result(outcome: Outcome) -> RewriteResult:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
