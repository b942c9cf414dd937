"""Sessions in this process: bounded, gone with it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import ClassVar

import attrs

from queen_sdk.errors import ClosedError
from queen_sdk.forking import survives_fork
from queen_sdk.options import at_least_one
from queen_sdk.stores.base import (
    DAY,
    REMEMBERED_KEYS,
    Record,
    belongs,
    checked_id,
    checked_key,
    checked_ttl,
)


@attrs.define(eq=False)
class _Dialogue:
    """The records of one session."""

    records: deque[Record] = attrs.field(factory=deque)
    keys: OrderedDict[str, None] = attrs.field(factory=OrderedDict)
    expires: float | None = None
    characters: int = 0

    def append(self, record: Record, max_turns: int) -> bool:
        if record.key is not None:
            if record.key in self.keys:
                return False
            self.keys[record.key] = None
            while len(self.keys) > max(REMEMBERED_KEYS, max_turns):
                self.keys.popitem(last=False)
        self.records.append(record)
        self.characters += len(record.turn.text)
        while len(self.records) > max_turns:
            self.characters -= len(self.records.popleft().turn.text)
        return True


class MemoryStore:
    """Keeps sessions in memory; the least recently used ones go first when it is full."""

    waits: ClassVar[bool] = False

    def __init__(
        self,
        *,
        max_sessions: int = 10_000,
        max_characters: int = 100_000_000,
        ttl: float | None = DAY,
    ) -> None:
        """Make an empty store.

        Args:
            max_sessions: How many sessions are kept.
            max_characters: How much text is kept, all sessions together.
            ttl: Seconds after its last turn that a session is kept; None for ever.
        """
        self._max_sessions = at_least_one("max_sessions", max_sessions)
        self._max_characters = at_least_one("max_characters", max_characters)
        self._ttl = checked_ttl(ttl)
        self._dialogues: OrderedDict[str, _Dialogue] | None = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()
        survives_fork(self)

    def load(self, session: str) -> tuple[Record, ...]:
        """Return the kept turns of a session, oldest first."""
        checked_id(session)
        with self._lock:
            dialogue = self._living(session)
            if dialogue is None:
                return ()
            self._open().move_to_end(session)
            return tuple(dialogue.records)

    def append(self, session: str, record: Record, *, max_turns: int) -> bool:
        """Record a turn and drop all but the newest `max_turns`; False if its key is known."""
        checked_id(session)
        checked_key(record.key)
        at_least_one("max_turns", max_turns)
        with self._lock:
            dialogue = self._living(session)
            if dialogue is None:
                dialogue = self._open()[session] = _Dialogue()
            before = dialogue.characters
            if not dialogue.append(record, max_turns):
                return False
            self._characters += dialogue.characters - before
            dialogue.expires = None if self._ttl is None else time.monotonic() + self._ttl
            self._open().move_to_end(session)
            self._shrink()
            return True

    def delete(self, session: str) -> None:
        """Delete one session."""
        checked_id(session)
        with self._lock:
            self._drop(session)

    def forget(self, prefix: str) -> int:
        """Delete the session `prefix` and all below it; return how many there were."""
        checked_id(prefix)
        with self._lock:
            found = [session for session in self._open() if belongs(session, prefix)]
            for session in found:
                self._drop(session)
            return len(found)

    def close(self) -> None:
        """Drop everything."""
        with self._lock:
            self._dialogues = None

    @property
    def sessions(self) -> int:
        """How many sessions are kept; some may have expired."""
        with self._lock:
            return len(self._open())

    def _open(self) -> OrderedDict[str, _Dialogue]:
        if self._dialogues is None:
            raise ClosedError("this store was closed; make a new one")
        return self._dialogues

    def _living(self, session: str) -> _Dialogue | None:
        dialogue = self._open().get(session)
        if dialogue is not None and _expired(dialogue):
            self._drop(session)
            return None
        return dialogue

    def _drop(self, session: str) -> None:
        dialogue = self._open().pop(session, None)
        if dialogue is not None:
            self._characters -= dialogue.characters

    def _shrink(self) -> None:
        """Drop what is expired or too much, from the least recently used end; one always stays."""
        dialogues = self._open()
        while len(dialogues) > 1:
            oldest = next(iter(dialogues))
            full = len(dialogues) > self._max_sessions or self._characters > self._max_characters
            if not full and not _expired(dialogues[oldest]):
                return
            self._drop(oldest)


def _expired(dialogue: _Dialogue) -> bool:
    return dialogue.expires is not None and dialogue.expires <= time.monotonic()
