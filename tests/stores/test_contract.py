"""What every store does alike."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import hypothesis
import hypothesis.strategies as st
import pytest

from queen_sdk.errors import ClosedError, InvalidArgumentError
from queen_sdk.stores import Record, Store
from queen_sdk.stores.base import REMEMBERED_KEYS
from queen_sdk.values import Role, Turn

Opener = Callable[..., Store]


def record(text: str, role: Role = "user", key: str | None = None) -> Record:
    return Record(Turn(text, role=role), key=key)


def texts(store: Store, session: str) -> list[str]:
    return [kept.turn.text for kept in store.load(session)]


class TestRecords:
    def test_an_unknown_session_is_empty(self, store: Store) -> None:
        assert store.load("anna") == ()

    def test_what_was_recorded_comes_back_in_order(self, store: Store) -> None:
        records = [record(f"text {role}", role) for role in get_args(Role)]
        for one in records:
            assert store.append("anna", one, max_turns=10)
        assert store.load("anna") == tuple(records)

    @pytest.mark.parametrize(
        "text", ["", " ", "他", "\ud800", "\x00\u200f", "👩‍👩‍👧", "\r\n\u2028", "x" * 300_000]
    )
    def test_texts_come_back_as_they_were(self, store: Store, text: str) -> None:
        store.append("anna", record(text, key="k" + text[:9]), max_turns=10)
        assert store.load("anna") == (record(text, key="k" + text[:9]),)

    def test_only_the_newest_turns_are_kept(self, store: Store) -> None:
        for k in range(7):
            store.append("anna", record(str(k)), max_turns=3)
            assert texts(store, "anna") == [str(n) for n in range(k + 1)][-3:]
        store.append("anna", record("7"), max_turns=1)
        assert texts(store, "anna") == ["7"]

    def test_sessions_do_not_mix(self, store: Store) -> None:
        ids = [
            "anna",
            "anna/1",
            "anna/2",
            "anna2",
            "ann",
            "ANNA",
            "安娜",
            "a b",
            "{x}",
            "}",
            "*",
            "%",
        ]
        for session in ids:
            store.append(session, record(session), max_turns=5)
        for session in ids:
            assert texts(store, session) == [session]

    @hypothesis.settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
    )
    @hypothesis.given(
        session=st.text(
            st.characters(exclude_categories=["C", "Z"], exclude_characters="/"), min_size=1
        ).filter(str.isprintable),
        text=st.text(st.characters()),
    )
    def test_any_text_under_any_id(self, store: Store, session: str, text: str) -> None:
        store.delete(session)
        store.append(session, record(text), max_turns=5)
        assert texts(store, session) == [text]


class TestKeys:
    def test_a_known_key_is_not_recorded_again(self, store: Store) -> None:
        assert store.append("anna", record("a", key="1"), max_turns=5)
        assert not store.append("anna", record("a", key="1"), max_turns=5)
        assert not store.append("anna", record("b", "assistant", key="1"), max_turns=5)
        assert store.append("anna", record("c", key="2"), max_turns=5)
        assert texts(store, "anna") == ["a", "c"]

    def test_keys_belong_to_their_session(self, store: Store) -> None:
        for session in ("anna", "anna/1", "bob"):
            assert store.append(session, record("a", key="1"), max_turns=5)

    def test_turns_without_key_are_all_recorded(self, store: Store) -> None:
        for _ in range(3):
            assert store.append("anna", record("a"), max_turns=5)
        assert texts(store, "anna") == ["a"] * 3

    def test_a_key_is_known_after_its_turn_left_the_window(self, store: Store) -> None:
        for k in range(REMEMBERED_KEYS):
            assert store.append("anna", record(str(k), key=str(k)), max_turns=2)
        assert not store.append("anna", record("0", key="0"), max_turns=2)
        assert store.append("anna", record("new", key="new"), max_turns=2)
        assert texts(store, "anna") == [str(REMEMBERED_KEYS - 1), "new"]

    def test_one_of_many_at_once_is_recorded(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            same = [record("a", key="1")] * 40
            found = pool.map(lambda one: store.append("anna", one, max_turns=50), same)
        assert sorted(found) == [False] * 39 + [True]
        assert texts(store, "anna") == ["a"]


class TestDeleting:
    def test_a_deleted_session_is_empty_and_its_keys_are_unknown(self, store: Store) -> None:
        for session in ("anna", "anna/1"):
            store.append(session, record("a", key="1"), max_turns=5)
        store.delete("anna")
        store.delete("anna")
        assert store.load("anna") == ()
        assert texts(store, "anna/1") == ["a"]
        assert store.append("anna", record("a", key="1"), max_turns=5)

    def test_forget_deletes_a_user_and_nobody_else(self, store: Store) -> None:
        ids = ["anna", "anna/1", "anna/2", "anna/2/b", "anna2", "anna2/1", "anna-1", "ann", "bob"]
        for session in ids:
            store.append(session, record("a", key="1"), max_turns=5)
        assert store.forget("anna/2") == 2
        assert [session for session in ids if not store.load(session)] == ["anna/2", "anna/2/b"]
        assert store.forget("anna") == 2
        assert [session for session in ids if not store.load(session)] == ids[:4]
        assert store.forget("anna") == 0
        assert store.append("anna/1", record("a", key="1"), max_turns=5)

    def test_forget_takes_no_patterns(self, store: Store) -> None:
        for session in ("*", "anna", "a%", "[a]", "an_a", "安娜"):
            store.append(session, record("a"), max_turns=5)
        for session in ("*", "a%", "[a]", "an_a", "安娜"):
            assert store.forget(session) == 1
        assert texts(store, "anna") == ["a"]


class TestExpiry:
    def test_an_idle_session_is_gone(self, open_store: Opener) -> None:
        store = open_store(ttl=0.15)
        store.append("anna", record("a", key="1"), max_turns=5)
        assert texts(store, "anna") == ["a"]
        time.sleep(0.2)
        assert store.load("anna") == ()
        assert store.append("anna", record("b", key="1"), max_turns=5)
        assert texts(store, "anna") == ["b"]

    def test_every_turn_starts_the_time_anew(self, open_store: Opener) -> None:
        store = open_store(ttl=1.0)
        for k in range(4):
            store.append("anna", record(str(k)), max_turns=5)
            time.sleep(0.35)
        assert len(store.load("anna")) == 4

    def test_none_keeps_for_ever(self, open_store: Opener) -> None:
        store = open_store(ttl=None)
        store.append("anna", record("a"), max_turns=5)
        assert texts(store, "anna") == ["a"]

    @pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), True, "1"])
    def test_other_times_are_refused(self, open_store: Opener, ttl: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="ttl must be a positive number of seconds"):
            open_store(ttl=ttl)


class TestMisuse:
    @pytest.mark.parametrize(
        "session", ["", "/", "a/", "/a", "a//b", "a\0", "\ud800", "a" * 513, 7]
    )
    def test_ids_are_checked(self, store: Store, session: Any) -> None:
        for call in (store.load, store.delete, store.forget):
            with pytest.raises(InvalidArgumentError, match="session id must be"):
                call(session)
        with pytest.raises(InvalidArgumentError, match="allowed is user or user/dialogue"):
            store.append(session, record("a"), max_turns=5)

    @pytest.mark.parametrize("max_turns", [0, -1, True, 1.5])
    def test_bounds_are_checked(self, store: Store, max_turns: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="max_turns must be a whole number"):
            store.append("anna", record("a"), max_turns=max_turns)

    @pytest.mark.parametrize("key", ["", 7])
    def test_keys_are_checked(self, store: Store, key: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="key must be None or a non-empty str"):
            store.append("anna", record("a", key=key), max_turns=5)

    def test_a_closed_store_refuses(self, open_store: Opener) -> None:
        store = open_store()
        store.close()
        store.close()
        for call in (store.load, store.delete, store.forget):
            with pytest.raises(ClosedError, match="was closed"):
                call("anna")
        with pytest.raises(ClosedError, match="was closed"):
            store.append("anna", record("a"), max_turns=5)


class TestThreads:
    def test_no_turn_is_lost_or_mixed(self, store: Store) -> None:
        start = threading.Barrier(8)

        def write(worker: int) -> None:
            start.wait()
            for k in range(25):
                for session in ("shared", f"own/{worker}"):
                    store.append(session, record(f"{worker}:{k}"), max_turns=1000)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        shared = texts(store, "shared")
        assert len(shared) == len(set(shared)) == 200
        for worker in range(8):
            own = [f"{worker}:{k}" for k in range(25)]
            assert texts(store, f"own/{worker}") == own
            assert [text for text in shared if text.startswith(f"{worker}:")] == own


class TestReopening:
    def test_turns_and_keys_outlive_the_process(self, reopen: Opener) -> None:
        first = reopen()
        first.append("anna", record("a", key="1"), max_turns=5)
        first.close()
        again = reopen()
        assert again.load("anna") == (record("a", key="1"),)
        assert not again.append("anna", record("a", key="1"), max_turns=5)

    def test_two_at_a_time_see_each_other(self, reopen: Opener) -> None:
        one, other = reopen(), reopen()
        for k in range(6):
            assert (one, other)[k % 2].append("anna", record(str(k)), max_turns=4)
        assert texts(one, "anna") == texts(other, "anna") == ["2", "3", "4", "5"]
