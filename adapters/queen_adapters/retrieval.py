"""Retrieval bots: a rewriter in front of any function that searches."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import attrs

from queen_adapters.frame import Front
from queen_sdk import Policy, RewriteResult
from queen_sdk.asking import Rewrites, in_thread
from queen_sdk.errors import InvalidArgumentError

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Retrieved(Generic[T]):
    """What a search found, and what was searched for."""

    results: T
    """What the search returned."""
    rewrite: RewriteResult
    """The query as `text`, the user's words as `original`, the edits, or why there are none."""
    message: str
    """For the prompt of the answer: the rewrite, or in `retrieval` mode the user's words."""


class RewritingRetriever(Generic[T]):
    """Searches for what the user meant: the utterance is rewritten with its history first."""

    def __init__(
        self,
        search: Callable[[str], T] | Callable[[str], Awaitable[T]],
        rewriter: Rewrites,
        *,
        asearch: Callable[[str], Awaitable[T]] | None = None,
        policy: Policy | None = None,
    ) -> None:
        """Put a rewriter in front of a search.

        Args:
            search: Takes the query. What it raises is raised.
            rewriter: A `Rewriter`, or a `Middleware` with settings of its own.
            asearch: The same search to be awaited; None to run `search` in a thread, or to await
                it if it is a coroutine function.
            policy: When and how to rewrite; None for that of the middleware.
        """
        self._search = search
        self._awaited = asearch or (search if inspect.iscoroutinefunction(search) else None)
        self._front = Front.around(rewriter, policy)

    def search(
        self, history: Sequence[object], utterance: str, *, enabled: bool = True
    ) -> Retrieved[T]:
        """Rewrite and search.

        Args:
            history: The turns before, oldest first, as in `Rewriter.rewrite`, or messages.
            utterance: What the user said now.
            enabled: False searches for the utterance as it is.

        Raises:
            InvalidArgumentError: An argument is of the wrong type, or the search must be awaited.
        """
        if self._search is self._awaited:
            raise InvalidArgumentError("the search is a coroutine function; use asearch")
        result = self._front.rewrite(history, utterance, enabled=enabled)
        return self._retrieved(self._search(result.text), result)  # type: ignore[arg-type]

    async def asearch(
        self, history: Sequence[object], utterance: str, *, enabled: bool = True
    ) -> Retrieved[T]:
        """Do what `search` does, without blocking the event loop."""
        result = await self._front.arewrite(history, utterance, enabled=enabled)
        if self._awaited is not None:
            return self._retrieved(await self._awaited(result.text), result)
        found = await in_thread(lambda: self._search(result.text))
        return self._retrieved(found, result)  # type: ignore[arg-type]

    def _retrieved(self, results: T, rewrite: RewriteResult) -> Retrieved[T]:
        return Retrieved(results=results, rewrite=rewrite, message=self._front.message(rewrite))
