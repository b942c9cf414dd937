"""The store in memory: its bounds."""

from __future__ import annotations

from typing import Any

import pytest

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.stores import MemoryStore, Record
from queen_sdk.values import Turn


def add(store: MemoryStore, session: str, text: str = "a") -> None:
    store.append(session, Record(Turn(text)), max_turns=3)


def test_the_least_recently_used_session_goes_first() -> None:
    store = MemoryStore(max_sessions=3)
    for session in ("a", "b", "c"):
        add(store, session)
    assert store.load("a")
    add(store, "d")
    assert store.sessions == 3
    assert [session for session in "abcd" if store.load(session)] == ["a", "c", "d"]


def test_text_is_bounded_over_all_sessions() -> None:
    store = MemoryStore(max_characters=100)
    for k in range(50):
        add(store, f"s{k}", "x" * 30)
    assert store.sessions == 3
    for _ in range(5):
        add(store, "s49", "x" * 30)
    assert store.sessions == 1
    assert len(store.load("s49")) == 3


def test_one_session_always_stays() -> None:
    store = MemoryStore(max_characters=10)
    add(store, "a", "x" * 1000)
    assert store.load("a")


def test_deleted_text_does_not_count() -> None:
    store = MemoryStore(max_characters=100)
    for k in range(50):
        add(store, "a", "x" * 90)
        if k % 2:
            store.delete("a")
        else:
            store.forget("a")
    add(store, "b", "x" * 50)
    add(store, "c", "x" * 50)
    assert store.sessions == 2


def test_expired_sessions_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("queen_sdk.stores.memory.time.monotonic", lambda: now)
    store = MemoryStore(ttl=10)
    for k in range(20):
        add(store, f"s{k}")
    now = 111.0
    add(store, "new")
    assert store.sessions == 1


@pytest.mark.parametrize("name", ["max_sessions", "max_characters"])
def test_bounds_are_checked(name: str) -> None:
    settings: dict[str, Any] = {name: 0}
    with pytest.raises(InvalidArgumentError, match=f"{name} must be a whole number of at least 1"):
        MemoryStore(**settings)
