"""What a session, the middleware and a micro-batcher need of a rewriter, and tell each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, runtime_checkable

import attrs

from queen_sdk.dialogue import HistoryItem
from queen_sdk.options import CallOptions
from queen_sdk.values import RewriteResult, SkipReason, Turn

_T = TypeVar("_T")


class Rewrites(Protocol):
    """Whatever rewrites an utterance: a `Rewriter`, a `MicroBatcher`, a `Middleware`, a fake."""

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Rewrite one utterance."""
        ...


@runtime_checkable
class RewritesAsync(Protocol):
    """A rewriter that can be awaited."""

    async def arewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Rewrite one utterance."""
        ...


@attrs.frozen
class Caller:
    """On whose behalf a call is made, and until when."""

    session: str | None = None
    """The session's id; calls of one session share its turn in a queue."""
    deadline: float | None = None
    """A time of `time.monotonic`, after which nobody waits for the result."""

    @property
    def seconds_left(self) -> float | None:
        """How long the caller still waits; None for ever."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def with_bounds(self, session: str | None, timeout: float | None) -> Caller:
        """Return the caller with what is given; of two deadlines the earlier one holds."""
        deadline = self.deadline
        if timeout is not None:
            ends = time.monotonic() + timeout
            deadline = ends if deadline is None else min(deadline, ends)
        return Caller(session or self.session, deadline)


CALLER: ContextVar[Caller] = ContextVar("queen_sdk.caller", default=Caller())  # noqa: B039
"""The caller of the call that is being made; set around it, as the signature has no room."""


@contextmanager
def calling(session: str | None = None, timeout: float | None = None) -> Iterator[None]:
    """Name the caller of the calls within; what is None stays as it was.

    Of two deadlines the earlier one holds.
    """
    token = CALLER.set(CALLER.get().with_bounds(session, timeout))
    try:
        yield
    finally:
        CALLER.reset(token)


def ask(
    rewriter: Rewrites, turns: Sequence[Turn], utterance: str, options: CallOptions
) -> RewriteResult:
    """Rewrite in this thread."""
    return rewriter.rewrite(turns, utterance, **_keywords(options))


async def aask(
    rewriter: Rewrites, turns: Sequence[Turn], utterance: str, options: CallOptions
) -> RewriteResult:
    """Rewrite without blocking the event loop, in a thread if the rewriter cannot be awaited."""
    if isinstance(rewriter, RewritesAsync):
        return await rewriter.arewrite(turns, utterance, **_keywords(options))
    return await in_thread(lambda: ask(rewriter, turns, utterance, options))


async def in_thread(call: Callable[[], _T]) -> _T:
    """Make a call that blocks, without blocking the event loop."""
    import asyncio  # whoever awaits has paid for this import; others need not

    return await asyncio.to_thread(call)


def _keywords(options: CallOptions) -> dict[str, Any]:
    return {
        "threshold": options.threshold,
        "min_confidence": options.min_confidence,
        "protect": options.protect,
    }


def untouched(utterance: str, reason: SkipReason) -> RewriteResult:
    """Return the result for an utterance that is passed on as it is."""
    return RewriteResult(utterance, original=utterance, skip_reason=reason)
