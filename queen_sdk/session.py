"""A dialogue that is under way: its history in a store, its utterances rewritten with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar, get_args

import attrs

from queen_sdk.asking import Rewrites, aask, ask, calling, in_thread, untouched
from queen_sdk.dialogue import read_history, read_utterance
from queen_sdk.errors import InvalidArgumentError, StoreError
from queen_sdk.options import CallOptions, at_least_one
from queen_sdk.stores import Record, Store
from queen_sdk.stores.base import checked_id, checked_key
from queen_sdk.tokenization import tokenize
from queen_sdk.values import RewriteResult, Turn

Recorded = Literal["original", "rewritten"]
"""Which words of the user become history."""

OnSkip: TypeAlias = Callable[[RewriteResult, Sequence[Turn], Exception | None], None]
"""Takes the result, the history as far as it is known, and what went wrong, if anything did."""

_T = TypeVar("_T")


class Session:
    """One dialogue; cheap to make, so make one per request and let the store remember.

    Async callers use the methods that begin with `a`.
    """

    def __init__(
        self,
        rewriter: Rewrites,
        id: str,
        *,
        store: Store,
        max_turns: int = 20,
        max_tokens: int = 1024,
        record: Recorded = "original",
        on_store_error: Callable[[StoreError], None] | None = None,
        on_skip: OnSkip | None = None,
    ) -> None:
        """Name the dialogue and say where it is kept.

        Args:
            rewriter: What rewrites.
            id: `user` or `user/dialogue`.
            store: Where the turns are.
            max_turns: How many of the newest turns are kept and used.
            max_tokens: How many words, or Chinese characters, of them are used; the newest turn
                always is.
            record: Whether the user's own words or their rewrite become history. Rewrites of
                rewrites drift, so it is the own words unless told otherwise.
            on_store_error: Is told when the store fails, and the dialogue goes on without it; None
                to have the error raised.
            on_skip: Is told of every utterance that is passed on without asking the rewriter.

        Raises:
            InvalidArgumentError: An argument is of the wrong type or out of range.
        """
        if record not in get_args(Recorded):
            raise InvalidArgumentError(
                f"record must be one of {', '.join(get_args(Recorded))}, got {record!r}"
            )
        self.id = checked_id(id)
        self._rewriter = rewriter
        self._store = store
        self._max_turns = at_least_one("max_turns", max_turns)
        self._max_tokens = at_least_one("max_tokens", max_tokens)
        self._record: Recorded = record
        self._on_store_error = on_store_error
        self._on_skip = on_skip

    @property
    def history(self) -> list[Turn]:
        """The turns that the next utterance is rewritten with, oldest first."""
        return self._window(self._store.load(self.id))

    def rewrite(
        self,
        utterance: str,
        *,
        key: str | None = None,
        enabled: bool = True,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Rewrite what the user said now, and record it.

        If this raises, nothing was recorded; nor if the result is `unrecorded`.

        Args:
            utterance: What the user said.
            key: Names the request; a second call with the same key gives the same rewrite and
                records nothing.
            enabled: False records the utterance without rewriting it.
            threshold: As in `Rewriter.rewrite`.
            min_confidence: As in `Rewriter.rewrite`.
            protect: As in `Rewriter.rewrite`.

        Raises:
            InvalidArgumentError: An argument is of the wrong type or out of range.
            StoreError: The store failed, and there is no `on_store_error`.
        """
        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        read_utterance(utterance)
        checked_key(key)
        try:
            records = self._store.load(self.id)
        except StoreError as error:
            return self._without_store(error, utterance)
        turns = self._before(records, key)
        with calling(self.id):
            if enabled:
                result = ask(self._rewriter, turns, utterance, options)
            else:
                result = self._skip(untouched(utterance, "disabled"), turns)
        return self._keep(result, key)

    def add(self, text: str, *, role: str = "assistant", key: str | None = None) -> bool:
        """Record a turn that needs no rewrite, such as the bot's.

        False if it was not recorded: its key is known, or the store failed and `on_store_error`
        was told.
        """
        return self._add(self._read(text, role), key)

    def reset(self) -> None:
        """Delete the dialogue from the store."""
        self._store.delete(self.id)

    async def arewrite(
        self,
        utterance: str,
        *,
        key: str | None = None,
        enabled: bool = True,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Do what `rewrite` does, without blocking the event loop."""
        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        read_utterance(utterance)
        checked_key(key)
        try:
            records = await self._wait(lambda: self._store.load(self.id))
        except StoreError as error:
            return self._without_store(error, utterance)
        turns = self._before(records, key)
        with calling(self.id):
            if enabled:
                result = await aask(self._rewriter, turns, utterance, options)
            else:
                result = self._skip(untouched(utterance, "disabled"), turns)
        return await self._wait(lambda: self._keep(result, key))

    async def aadd(self, text: str, *, role: str = "assistant", key: str | None = None) -> bool:
        """Do what `add` does, without blocking the event loop."""
        turn = self._read(text, role)
        return await self._wait(lambda: self._add(turn, key))

    async def areset(self) -> None:
        """Do what `reset` does, without blocking the event loop."""
        await self._wait(self.reset)

    async def ahistory(self) -> list[Turn]:
        """Return `history`, without blocking the event loop."""
        return await self._wait(lambda: self.history)

    async def _wait(self, call: Callable[[], _T]) -> _T:
        return await in_thread(call) if self._store.waits else call()

    def _before(self, records: Sequence[Record], key: str | None) -> list[Turn]:
        """Return the history of a request: when it comes again, only what was there before it."""
        if key is not None:
            keys = [record.key for record in records]
            records = records[: keys.index(key)] if key in keys else records
        return self._window(records)

    def _window(self, records: Sequence[Record]) -> list[Turn]:
        turns = [record.turn for record in records[-self._max_turns :]]
        if sum(len(turn.text) for turn in turns) <= self._max_tokens:
            return turns  # a token has at least one character
        room, kept = self._max_tokens, 0
        for turn in reversed(turns):
            room -= len(tokenize(turn.text))
            if kept and room < 0:
                break
            kept += 1
        return turns[len(turns) - kept :]

    def _without_store(self, error: StoreError, utterance: str) -> RewriteResult:
        if self._on_store_error is None:
            raise error
        self._on_store_error(error)
        result = attrs.evolve(untouched(utterance, "error"), unrecorded=True)
        with calling(self.id):
            return self._skip(result, (), error)

    def _skip(
        self, result: RewriteResult, turns: Sequence[Turn], error: Exception | None = None
    ) -> RewriteResult:
        if self._on_skip is not None:
            self._on_skip(result, turns, error)
        return result

    def _keep(self, result: RewriteResult, key: str | None) -> RewriteResult:
        """Record the user's turn; a blank one is not worth a place in the window."""
        text = result.text if self._record == "rewritten" else result.original
        if not text.strip():
            return result
        try:
            self._append(Turn(text), key)
        except StoreError as error:
            if self._on_store_error is None:
                raise
            self._on_store_error(error)
            return attrs.evolve(result, unrecorded=True)
        return result

    def _add(self, turn: Turn, key: str | None) -> bool:
        try:
            return self._append(turn, key)
        except StoreError as error:
            if self._on_store_error is None:
                raise
            self._on_store_error(error)
            return False

    def _append(self, turn: Turn, key: str | None) -> bool:
        record = Record(turn, key=checked_key(key))
        return self._store.append(self.id, record, max_turns=self._max_turns)

    def _read(self, text: str, role: str) -> Turn:
        return read_history([(role, text)])[0]
