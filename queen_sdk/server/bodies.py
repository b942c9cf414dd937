"""What clients may ask for: JSON bodies, read and checked into values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import attrs

from queen_sdk.dialogue import read_history, read_utterance
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import CallOptions
from queen_sdk.stores.base import checked_id, checked_key
from queen_sdk.values import Turn
from queen_sdk.wire import json_value

_REWRITE = ("utterance", "history", "session", "key", "enabled")
_OPTIONS = tuple(field.name for field in attrs.fields(CallOptions))


@attrs.frozen(kw_only=True)
class RewriteBody:
    """An utterance to rewrite, with its history or with the session that has it."""

    utterance: str
    history: tuple[Turn, ...]
    """Empty if there is a session."""
    session: str | None
    key: str | None
    enabled: bool
    options: CallOptions


@attrs.frozen(kw_only=True)
class TurnBody:
    """A turn to record in a session, such as what the bot said."""

    session: str
    turn: Turn
    key: str | None


def read_rewrite(raw: bytes) -> RewriteBody:
    """Read the body of `POST /rewrite`.

    Raises:
        InvalidArgumentError: It is not one.
    """
    fields = _fields(raw, needed=("utterance",), allowed=(*_REWRITE, *_OPTIONS))
    session = fields.get("session")
    if session is None and "history" not in fields:
        raise InvalidArgumentError("the key 'history' is missing; or give a 'session'")
    if session is not None and "history" in fields:
        raise InvalidArgumentError("give 'history' or 'session', not both: a session has its own")
    if session is None and fields.get("key") is not None:
        raise InvalidArgumentError("'key' names a request of a session; give 'session' too")
    enabled = fields.get("enabled", True)
    if not isinstance(enabled, bool):
        raise InvalidArgumentError(f"enabled must be true or false, got {enabled!r:.80}")
    return RewriteBody(
        utterance=read_utterance(fields["utterance"]),
        history=read_history(fields.get("history", ())),
        session=None if session is None else checked_id(session),
        key=checked_key(fields.get("key")),
        enabled=enabled,
        options=CallOptions(**{name: fields[name] for name in _OPTIONS if name in fields}),
    )


def read_turn(raw: bytes) -> TurnBody:
    """Read the body of `POST /turns`.

    Raises:
        InvalidArgumentError: It is not one.
    """
    fields = _fields(raw, needed=("session", "text"), allowed=("session", "text", "role", "key"))
    return TurnBody(
        session=checked_id(fields["session"]),
        turn=read_history([(fields.get("role", "assistant"), fields["text"])])[0],
        key=checked_key(fields.get("key")),
    )


def read_session(raw: bytes) -> str:
    """Read the body of `POST /forget`.

    Raises:
        InvalidArgumentError: It is not one.
    """
    return checked_id(_fields(raw, needed=("session",), allowed=("session",))["session"])


def _fields(raw: bytes, *, needed: Collection[str], allowed: Collection[str]) -> dict[str, Any]:
    try:
        fields = json_value(raw)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"the body {error}") from error
    if not isinstance(fields, dict):
        raise InvalidArgumentError(
            f"the body must be a JSON object, got {type(fields).__name__} "
            f"({raw[:60].decode('utf-8', 'replace')!r})"
        )
    for name in needed:
        if name not in fields:
            raise InvalidArgumentError(f"the key {name!r} is missing")
    for name in fields:
        if name not in allowed:
            raise InvalidArgumentError(
                f"there is no key {name!r:.80}; allowed are {', '.join(allowed)}"
            )
    return fields
