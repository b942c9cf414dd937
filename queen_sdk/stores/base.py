"""What every store of dialogues offers, and what all of them check alike."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Protocol

import attrs

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import positive_seconds
from queen_sdk.values import Turn

SCHEMA = 1
"""Version of what the stores write; a higher one that is found is refused."""
DAY = 86_400.0
"""Seconds; how long an idle session is kept unless told otherwise."""
REMEMBERED_KEYS = 256
"""A session knows the idempotency keys of at least so many of its newest turns."""

_LONGEST_ID = 512


@attrs.frozen
class Record:
    """A turn as a store keeps it."""

    turn: Turn
    """Who said what."""
    key: str | None = attrs.field(default=None, kw_only=True)
    """Names the request that brought the turn: the same key is not recorded twice in a session."""


class Store(Protocol):
    """Keeps the newest turns of many sessions; safe to share between threads.

    A session id is `user` or `user/dialogue`. Every call is atomic: others see it whole or not.
    """

    waits: ClassVar[bool]
    """Whether calls wait for a disk or a network, so that async callers should use a thread."""

    def load(self, session: str) -> tuple[Record, ...]:
        """Return the kept turns of a session, oldest first; none if it is unknown or expired."""
        ...

    def append(self, session: str, record: Record, *, max_turns: int) -> bool:
        """Record a turn and drop all but the newest `max_turns`; False if its key is known."""
        ...

    def delete(self, session: str) -> None:
        """Delete one session, its idempotency keys included."""
        ...

    def forget(self, prefix: str) -> int:
        """Delete the session `prefix` and all below it; return how many there were.

        `forget("anna")` deletes `anna` and `anna/…`, never `anna2`.
        """
        ...

    def close(self) -> None:
        """Free files and connections; later calls raise ClosedError."""
        ...


def checked_id(session: object) -> str:
    """Return a session id that every store can hold.

    Raises:
        InvalidArgumentError: It is not a string, empty, too long, or has an empty part.
    """
    allowed = "allowed is user or user/dialogue"
    if not isinstance(session, str):
        raise InvalidArgumentError(
            f"a session id must be a str, got {type(session).__name__}; {allowed}"
        )
    if not all(session.split("/")) or len(session) > _LONGEST_ID:
        raise InvalidArgumentError(
            f"a session id must be 1 to {_LONGEST_ID} characters with no empty part, "
            f"got {session!r:.80}; {allowed}"
        )
    if "\0" in session or not session.isprintable():
        raise InvalidArgumentError(
            f"a session id must be printable, got {session!r:.80}; {allowed}"
        )
    return session


def checked_key(key: object) -> str | None:
    """Return an idempotency key, which may be None.

    Raises:
        InvalidArgumentError: It is something else than a non-empty string.
    """
    if key is not None and (not isinstance(key, str) or not key):
        raise InvalidArgumentError(f"key must be None or a non-empty str, got {key!r:.80}")
    return key


def checked_ttl(ttl: object) -> float | None:
    """Return how long an idle session is kept, in seconds; None for ever."""
    return None if ttl is None else positive_seconds("ttl", ttl)


def key_digest(key: str) -> bytes:
    """Return sixteen bytes that stand for an idempotency key."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def belongs(session: str, prefix: str) -> bool:
    """Say whether a session is `prefix` or stands below it."""
    return session == prefix or session.startswith(prefix + "/")
