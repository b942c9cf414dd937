"""Records as bytes, plain and encrypted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.errors import (
    DamagedStoreError,
    InvalidArgumentError,
    MissingExtraError,
    NewerStoreError,
)
from queen_sdk.stores import Record, SqliteStore, Store
from queen_sdk.stores.base import SCHEMA
from queen_sdk.stores.codec import Codec
from queen_sdk.values import Turn

RECORD = Record(Turn("der Wal\ud800鲸", role="assistant"), key="request 7")
ONE, OTHER = b"1" * 32, b"2" * 32


def test_plain_records_come_back() -> None:
    codec = Codec()
    assert codec.decode("anna", codec.encode("anna", RECORD)) == RECORD


def test_a_newer_record_is_refused() -> None:
    payload = bytes((SCHEMA + 1,)) + Codec().encode("anna", RECORD)[1:]
    with pytest.raises(NewerStoreError, match=rf"schema {SCHEMA + 1}, this release knows {SCHEMA}"):
        Codec().decode("anna", payload)


@pytest.mark.parametrize(
    "body", [b"", b"\x01", b"\x01\x00", b"\x01\x00{}", b"\x01\x00[1,2]", b'\x01\x00["x","a",null]']
)
def test_other_bytes_are_damage(body: bytes) -> None:
    with pytest.raises(DamagedStoreError, match="a stored turn of session 'anna' is not a record"):
        Codec().decode("anna", body)


class TestEncryption:
    @pytest.fixture(autouse=True)
    def _cryptography(self) -> None:
        pytest.importorskip("cryptography")

    def test_sealed_records_come_back_and_show_nothing(self) -> None:
        codec = Codec(lambda _: ONE)
        payload = codec.encode("anna", RECORD)
        assert b"Wal" not in payload
        assert b"request" not in payload
        assert payload != codec.encode("anna", RECORD)
        assert codec.decode("anna", payload) == RECORD

    def test_the_key_may_depend_on_the_session(self) -> None:
        codec = Codec(lambda session: ONE if session == "anna" else OTHER)
        for session in ("anna", "bob"):
            assert codec.decode(session, codec.encode(session, RECORD)) == RECORD

    def test_a_new_key_writes_while_the_old_one_still_reads(self) -> None:
        payload = Codec(lambda _: ONE).encode("anna", RECORD)
        rotated = Codec(lambda _: (OTHER, ONE))
        assert rotated.decode("anna", payload) == RECORD
        assert Codec(lambda _: OTHER).decode("anna", rotated.encode("anna", RECORD)) == RECORD

    def test_encryption_can_be_turned_on_later(self) -> None:
        assert Codec(lambda _: ONE).decode("anna", Codec().encode("anna", RECORD)) == RECORD

    def test_without_the_key_nothing_opens(self) -> None:
        payload = Codec(lambda _: ONE).encode("anna", RECORD)
        with pytest.raises(DamagedStoreError, match="is encrypted; give the store the key"):
            Codec().decode("anna", payload)
        for codec, session, body in (
            (Codec(lambda _: OTHER), "anna", payload),
            (Codec(lambda _: ONE), "bob", payload),
            (Codec(lambda _: ONE), "anna", payload[:-1]),
            (Codec(lambda _: ONE), "anna", payload[:5]),
        ):
            with pytest.raises(DamagedStoreError, match="does not open with the keys"):
                codec.decode(session, body)

    @pytest.mark.parametrize("key", [b"short", "x" * 32, (), (ONE, b"short")])
    def test_keys_are_checked(self, key: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="must give 32 bytes"):
            Codec(lambda _: key).encode("anna", RECORD)

    def test_a_file_holds_no_word(self, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path / "s.db", key=lambda _: ONE)
        store.append("anna", Record(Turn("whale song"), key="request"), max_turns=5)
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert store.load("anna") == (Record(Turn("whale song"), key="request"),)
        store.close()
        assert b"anna" in content
        assert b"whale" not in content
        assert b"request" not in content

    def test_stores_encrypt_and_still_know_keys(self, reopen: Callable[..., Store]) -> None:
        store = reopen(key=lambda _: ONE)
        assert store.append("anna", RECORD, max_turns=5)
        assert not store.append("anna", RECORD, max_turns=5)
        assert store.load("anna") == (RECORD,)
        with pytest.raises(DamagedStoreError, match="is encrypted"):
            reopen().load("anna")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    module = "cryptography.hazmat.primitives.ciphers.aead"
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"queen-sdk\[encryption\]"):
        Codec(lambda _: ONE)
