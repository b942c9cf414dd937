"""Records as bytes, encrypted if the user gives keys."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from queen_sdk.errors import (
    DamagedStoreError,
    InvalidArgumentError,
    NewerStoreError,
    missing_extra,
)
from queen_sdk.stores.base import SCHEMA, Record
from queen_sdk.values import Role, Turn

KeyFunction: TypeAlias = Callable[[str], "bytes | Sequence[bytes]"]
"""From a session id to its 32-byte key; of several, the first writes and all can read."""

_PLAIN, _SEALED = 0, 1
_NONCE = 12
_KEY = 32
_ROLES = ("user", "assistant", "system", "tool")


class Codec:
    """Turns records into bytes and back.

    The first byte is the schema version, the second says whether AES-GCM sealed the rest. What was
    sealed for one session does not open in another. Plain records stay readable with a key
    function, so that encryption can be turned on while dialogues run.
    """

    def __init__(self, key: KeyFunction | None = None) -> None:
        """Take the key function; None writes plain records.

        Raises:
            MissingExtraError: Encryption is asked for and cryptography is not installed.
        """
        self._key = key
        self._cipher: Any = None if key is None else _aes_gcm()

    def encode(self, session: str, record: Record) -> bytes:
        """Return the bytes of a record of `session`."""
        fields = [record.turn.role, record.turn.text, record.key]
        body = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if self._key is None:
            return bytes((SCHEMA, _PLAIN)) + body
        nonce = os.urandom(_NONCE)
        sealed: bytes = self._cipher(self._keys(session)[0]).encrypt(nonce, body, session.encode())
        return bytes((SCHEMA, _SEALED)) + nonce + sealed

    def decode(self, session: str, payload: bytes) -> Record:
        """Return the record in `payload`.

        Raises:
            NewerStoreError: A newer release wrote it.
            DamagedStoreError: It is not a record, or none of the keys opens it.
        """
        if payload[:1] and payload[0] > SCHEMA:
            raise newer_store(f"session {session!r}", payload[0])
        sealed = payload[1:2] == bytes((_SEALED,))
        body = self._unsealed(session, payload[2:]) if sealed else payload[2:]
        try:
            role, text, key = json.loads(body.decode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise _damaged(session, "is not a record") from error
        if role not in _ROLES or not isinstance(text, str):
            raise _damaged(session, "is not a record")
        return Record(Turn(text, role=cast(Role, role)), key=key)

    def _unsealed(self, session: str, body: bytes) -> bytes:
        if self._key is None:
            raise _damaged(session, "is encrypted; give the store the key function that wrote it")
        for key in self._keys(session):
            try:
                plain: bytes = self._cipher(key).decrypt(
                    body[:_NONCE], body[_NONCE:], session.encode()
                )
            except Exception:  # InvalidTag, or a body that is too short
                continue
            return plain
        raise _damaged(session, "does not open with the keys that the key function gives")

    def _keys(self, session: str) -> tuple[bytes, ...]:
        assert self._key is not None
        given = self._key(session)
        keys = (given,) if isinstance(given, bytes) else tuple(given)
        if not keys or any(not isinstance(key, bytes) or len(key) != _KEY for key in keys):
            raise InvalidArgumentError(
                f"the key function must give {_KEY} bytes, or a sequence of such keys; for "
                f"{session!r} it gave something else"
            )
        return keys


def newer_store(what: str, version: int) -> NewerStoreError:
    """Return the error for a store that a newer release wrote."""
    return NewerStoreError(
        f"{what} was written with schema {version}, this release knows {SCHEMA}; "
        "upgrade it: pip install --upgrade queen-sdk"
    )


def _damaged(session: str, problem: str) -> DamagedStoreError:
    return DamagedStoreError(f"a stored turn of session {session!r} {problem}")


def _aes_gcm() -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise missing_extra("cryptography", "encryption") from error
    return AESGCM
