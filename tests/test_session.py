"""Sessions: what is used as history, and what becomes history."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fakes import FakeRewriter, fail

from queen_sdk import MemoryStore, Policy, Rewriter, Session, SqliteStore, Store, Turn
from queen_sdk.asking import CALLER
from queen_sdk.errors import InvalidArgumentError, StoreError, UnavailableStoreError
from queen_sdk.stores import Record


class BrokenStore:
    """A store that is away whenever a test says so."""

    waits: ClassVar[bool] = True

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.broken: set[str] = set()

    def _check(self, call: str) -> MemoryStore:
        if call in self.broken:
            raise UnavailableStoreError("away")
        return self.store

    def load(self, session: str) -> tuple[Record, ...]:
        return self._check("load").load(session)

    def append(self, session: str, record: Record, *, max_turns: int) -> bool:
        return self._check("append").append(session, record, max_turns=max_turns)

    def delete(self, session: str) -> None:
        self._check("delete").delete(session)

    def forget(self, prefix: str) -> int:
        return self._check("forget").forget(prefix)

    def close(self) -> None:
        self.store.close()


@pytest.fixture
def fake() -> FakeRewriter:
    return FakeRewriter()


def session_of(fake: FakeRewriter, store: Store | None = None, **settings: Any) -> Session:
    return Session(fake, "anna/1", store=store or MemoryStore(), **settings)


def histories(fake: FakeRewriter) -> list[list[str]]:
    return [[turn.text for turn in turns] for turns, _ in fake.calls]


class TestDialogue:
    def test_utterances_and_answers_become_history(self, fake: FakeRewriter) -> None:
        session = session_of(fake)
        first = session.rewrite("Who is Smith?")
        assert first.skip_reason == "no_history"
        session.add("A cook.")
        second = session.rewrite("Where is he?")
        assert second.text == "Where is he? A cook."
        assert session.history == [
            Turn("Who is Smith?"),
            Turn("A cook.", role="assistant"),
            Turn("Where is he?"),
        ]
        assert histories(fake) == [[], ["Who is Smith?", "A cook."]]

    def test_the_rewrite_is_recorded_if_asked_for(self, fake: FakeRewriter) -> None:
        session = session_of(fake, record="rewritten")
        session.rewrite("a")
        session.rewrite("b")
        session.rewrite("c")
        assert [turn.text for turn in session.history] == ["a", "b a", "c b a"]

    def test_sessions_of_one_id_and_store_are_one_dialogue(self, fake: FakeRewriter) -> None:
        store = MemoryStore()
        session_of(fake, store).rewrite("a")
        session_of(fake, store).rewrite("b")
        Session(fake, "anna/2", store=store).rewrite("c")
        assert histories(fake) == [[], ["a"], []]

    def test_reset_starts_anew(self, fake: FakeRewriter) -> None:
        session = session_of(fake)
        session.rewrite("a", key="1")
        session.reset()
        assert session.history == []
        session.rewrite("a", key="1")
        assert len(session.history) == 1

    @pytest.mark.parametrize("text", ["", "  \n"])
    def test_blank_utterances_are_not_recorded(self, fake: FakeRewriter, text: str) -> None:
        session = session_of(fake)
        assert session.rewrite(text).text == text
        assert session.history == []

    def test_a_switched_off_call_is_recorded_all_the_same(self, fake: FakeRewriter) -> None:
        session = session_of(fake)
        session.rewrite("a")
        result = session.rewrite("b", enabled=False)
        assert (result.text, result.skip_reason) == ("b", "disabled")
        assert len(fake.calls) == 1
        assert [turn.text for turn in session.history] == ["a", "b"]

    def test_options_go_through(self, fake: FakeRewriter) -> None:
        session_of(fake).rewrite("a", threshold=0.5, min_confidence=0.25, protect=["X1"])
        assert fake.options == [(0.5, 0.25, ("X1",))]

    def test_the_rewriter_knows_whose_call_it_is(self) -> None:
        seen: list[str | None] = []
        fake = FakeRewriter(lambda _: seen.append(CALLER.get().session))
        session = session_of(fake)
        session.rewrite("a")
        asyncio.run(session.arewrite("b"))
        assert seen == ["anna/1", "anna/1"]
        assert CALLER.get().session is None


class TestWindow:
    def test_turns_are_bounded(self, fake: FakeRewriter) -> None:
        session = session_of(fake, max_turns=3)
        for text in "abcdef":
            session.rewrite(text)
        assert histories(fake)[-1] == ["c", "d", "e"]
        assert [turn.text for turn in session.history] == ["d", "e", "f"]

    @pytest.mark.parametrize(
        ("max_tokens", "kept"), [(1, 1), (3, 1), (5, 1), (6, 2), (8, 2), (9, 3), (99, 3)]
    )
    def test_tokens_are_bounded(self, fake: FakeRewriter, max_tokens: int, kept: int) -> None:
        session = session_of(fake, max_tokens=max_tokens)
        for text in ("one two three", "四五六", "seven eight nine"):
            session.add(text)
        assert len(session.history) == kept
        assert session.history[-1].text == "seven eight nine"

    def test_the_newest_turn_is_always_there(self, fake: FakeRewriter) -> None:
        session = session_of(fake, max_tokens=10)
        session.add("a")
        session.add("long " * 1000)
        assert [len(turn.text) for turn in session.history] == [5000]


class TestRetries:
    def test_a_request_that_comes_again_is_recorded_once(self, fake: FakeRewriter) -> None:
        session = session_of(fake)
        session.rewrite("a", key="1")
        first = session.rewrite("b", key="2")
        assert session.add("answer", key="3")
        again = session.rewrite("b", key="2")
        assert again == first
        assert not session.add("answer", key="3")
        assert [turn.text for turn in session.history] == ["a", "b", "answer"]
        assert histories(fake)[1] == histories(fake)[2] == ["a"]

    def test_nothing_is_recorded_if_the_model_fails(self) -> None:
        fake = FakeRewriter(fail)
        session = session_of(fake)
        with pytest.raises(RuntimeError, match="choked"):
            session.rewrite("a", key="1")
        assert session.history == []
        fake.act = lambda _: None
        session.rewrite("a", key="1")
        assert len(session.history) == 1


class TestStoreFailures:
    @pytest.mark.parametrize("call", ["load", "append"])
    def test_failures_are_raised(self, fake: FakeRewriter, call: str) -> None:
        store = BrokenStore()
        store.broken = {call}
        session = session_of(fake, store)
        with pytest.raises(UnavailableStoreError):
            session.rewrite("a")
        with pytest.raises(UnavailableStoreError):
            asyncio.run(session.arewrite("a"))
        if call == "append":
            with pytest.raises(UnavailableStoreError):
                session.add("a")

    @pytest.mark.parametrize("twin", ["sync", "async"])
    def test_or_the_dialogue_goes_on(self, fake: FakeRewriter, twin: str) -> None:
        store, seen = BrokenStore(), list[StoreError]()
        session = session_of(fake, store, on_store_error=seen.append)

        def rewrite(text: str) -> tuple[str, str | None, bool]:
            if twin == "async":
                result = asyncio.run(session.arewrite(text))
            else:
                result = session.rewrite(text)
            return result.text, result.skip_reason, result.unrecorded

        def add(text: str) -> bool:
            return asyncio.run(session.aadd(text)) if twin == "async" else session.add(text)

        assert rewrite("a") == ("a", "no_history", False)
        store.broken = {"append"}
        assert rewrite("b") == ("b a", None, True)
        assert not add("B")
        store.broken = {"load"}
        assert rewrite("c") == ("c", "error", True)
        store.broken = set()
        assert rewrite("d") == ("d a", None, False)
        assert add("D")
        assert [turn.text for turn in session.history] == ["a", "d", "D"]
        assert len(seen) == 3


class TestMisuse:
    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ({"max_turns": 0}, "max_turns must be a whole number of at least 1, got 0"),
            ({"max_tokens": -1}, "max_tokens must be a whole number"),
            ({"record": "both"}, "record must be one of original, rewritten, got 'both'"),
        ],
    )
    def test_settings_are_checked(
        self, fake: FakeRewriter, settings: dict[str, Any], problem: str
    ) -> None:
        with pytest.raises(InvalidArgumentError, match=problem):
            session_of(fake, **settings)

    def test_arguments_are_checked_before_anything_happens(self, fake: FakeRewriter) -> None:
        session, wrong = session_of(fake), list[dict[str, Any]]()
        wrong = [
            {"utterance": 7},
            {"utterance": "a", "key": ""},
            {"utterance": "a", "threshold": "x"},
        ]
        for arguments in wrong:
            with pytest.raises(InvalidArgumentError):
                session.rewrite(**arguments)
            with pytest.raises(InvalidArgumentError):
                asyncio.run(session.arewrite(**arguments))
        with pytest.raises(InvalidArgumentError, match="unknown role 'judge'"):
            session.add("a", role="judge")
        assert fake.calls == []
        assert session.history == []


class TestAsync:
    @pytest.mark.parametrize("waits", [False, True])
    def test_twins_do_the_same(self, fake: FakeRewriter, tmp_path: Path, waits: bool) -> None:
        store: Store = SqliteStore(tmp_path / "s.db") if waits else MemoryStore()

        async def talk() -> Sequence[Turn]:
            session = session_of(fake, store)
            await session.arewrite("a", key="1")
            await session.arewrite("a", key="1")
            assert await session.aadd("b")
            result = await session.arewrite("c")
            assert result.text == "c b"
            history = await session.ahistory()
            await session.areset()
            assert await session.ahistory() == []
            return history

        turns = asyncio.run(talk())
        assert [(turn.role, turn.text) for turn in turns] == [
            ("user", "a"),
            ("assistant", "b"),
            ("user", "c"),
        ]
        store.close()

    def test_a_cancelled_call_records_nothing(self) -> None:
        session = session_of(FakeRewriter())

        class Slow(FakeRewriter):
            async def arewrite(self, *_: Any, **__: Any) -> Any:
                await asyncio.sleep(30)

        async def talk() -> None:
            slow = Session(Slow(), "anna/1", store=session._store)
            task = asyncio.create_task(slow.arewrite("a"))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(talk())
        assert session.history == []


def test_a_real_rewriter_keeps_dialogues_apart(rewriter: Rewriter) -> None:
    store = MemoryStore()
    smith, anna = rewriter.session("1", store=store), rewriter.session("2", store=store)
    smith.add("Smith needs a restaurant.", role="user")
    anna.add("Anna needs a restaurant.", role="user")
    assert "Smith" in smith.rewrite("Does he care?").text
    assert "Smith" not in anna.rewrite("Does he care?").text
    assert "Smith" in asyncio.run(smith.arewrite("Does he like it?")).text


@pytest.mark.usefixtures("embedded")
def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Path(__file__).parents[1] / "docs" / "sessions.md"
    first, *_, last = re.findall(r"```python\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(first, names)
    assert names["result"].skip_reason == "no_history"
    assert len(names["session"].history) == 2
    for name in ("middleware", "store", "rewriter"):
        names[name].close()
    exec(f"from queen_sdk import MicroBatcher\n{last}", names)
    assert names["middleware"].rewrite(["Smith"], "he", policy=Policy(timeout=30)).changed
    names["batcher"].close()
