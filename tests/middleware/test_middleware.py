"""The middleware: what is asked, what fails open, what is told."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
from fakes import FakeRewriter, Gate, fail

from queen_sdk import (
    CallOptions,
    CircuitBreaker,
    MemoryStore,
    MicroBatcher,
    Middleware,
    Policy,
    Rewriter,
    RewriteResult,
    SqliteStore,
)
from queen_sdk.errors import InferenceError, InvalidArgumentError, UnavailableStoreError
from queen_sdk.policy import Mode
from queen_sdk.telemetry import Event

HISTORY = ["Smith needs an expensive restaurant."]
UTTERANCE = "Does he care?"

Ask = Callable[..., RewriteResult]
Make = Callable[..., Middleware]


class TestPolicy:
    def test_a_good_call_goes_through(self, fake: FakeRewriter, make: Make, ask: Ask) -> None:
        result = ask(make())
        assert result.text == f"{UTTERANCE} {HISTORY[0]}"
        assert result.skip_reason is None

    @pytest.mark.parametrize(
        ("history", "utterance", "policy", "reason"),
        [
            (HISTORY, UTTERANCE, Policy(enabled=False), "disabled"),
            (HISTORY, "", Policy(), "empty_utterance"),
            (HISTORY, " \n", Policy(), "empty_utterance"),
            ([], UTTERANCE, Policy(), "no_history"),
            ([("system", "Be kind.")], UTTERANCE, Policy(), "no_history"),
            ([UTTERANCE], UTTERANCE, Policy(), "no_history"),
        ],
    )
    def test_there_may_be_nothing_to_ask(
        self,
        fake: FakeRewriter,
        make: Make,
        ask: Ask,
        history: list[Any],
        utterance: str,
        policy: Policy,
        reason: str,
    ) -> None:
        result = ask(make(), history, utterance, policy=policy)
        assert (result.text, result.original, result.skip_reason) == (utterance, utterance, reason)
        assert fake.calls == []

    def test_only_the_newest_turns_are_used(self, fake: FakeRewriter, make: Make, ask: Ask) -> None:
        result = ask(make(Policy(max_history=2, timeout=30)), ["a", "b", "c", "d"])
        assert [turn.text for turn in fake.calls[0][0]] == ["c", "d"]
        assert result.edits[0].sources[0].turn == 3
        assert result.dropped_turns == 2

    def test_a_call_adds_to_the_options_of_the_policy(
        self, fake: FakeRewriter, make: Make, ask: Ask
    ) -> None:
        options = CallOptions(threshold=0.5, min_confidence=0.5, protect=["A"])
        middleware = make(Policy(options=options, timeout=30))
        ask(middleware)
        ask(middleware, threshold=0.25, min_confidence=0.25, protect=["B"])
        ask(middleware, min_confidence=0.75)
        assert fake.options == [
            (0.5, 0.5, ("A",)),
            (0.25, 0.5, ("A", "B")),
            (0.5, 0.75, ("A",)),
        ]

    @pytest.mark.parametrize(("mode", "message"), [("replace", "b a"), ("retrieval", "b")])
    def test_the_mode_says_what_the_bot_is_told(self, make: Make, mode: str, message: str) -> None:
        middleware = make(Policy(mode=cast(Mode, mode), timeout=30))
        result = middleware.rewrite(["a"], "b")
        assert result.text == "b a"
        assert middleware.message(result) == message
        assert middleware.message(result, mode="retrieval") == "b"

    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ({"mode": "both"}, "mode must be one of replace, retrieval, got 'both'"),
            ({"timeout": 0}, "timeout must be a positive number of seconds, got 0"),
            ({"max_history": 0}, "max_history must be a whole number of at least 1, got 0"),
        ],
    )
    def test_policies_are_checked(self, settings: dict[str, Any], problem: str) -> None:
        with pytest.raises(InvalidArgumentError, match=problem):
            Policy(**settings)

    @pytest.mark.parametrize(
        "arguments", [{"utterance": 7}, {"history": "a"}, {"threshold": "x"}, {"protect": "x"}]
    )
    def test_misuse_is_raised(self, make: Make, ask: Ask, arguments: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgumentError):
            ask(make(), **arguments)

    def test_misuse_that_only_the_model_sees_is_raised(
        self, fake: FakeRewriter, make: Make, ask: Ask
    ) -> None:
        def refuse(_: str) -> None:
            raise InvalidArgumentError("no")

        fake.act = refuse
        breaker = CircuitBreaker(max_failures=1)
        with pytest.raises(InvalidArgumentError, match="no"):
            ask(make(breaker=breaker))
        assert not breaker.open


class TestFailures:
    @pytest.mark.parametrize("error", [RuntimeError, InferenceError, MemoryError, OSError])
    def test_a_failing_model_passes_the_utterance_on(
        self, fake: FakeRewriter, make: Make, ask: Ask, error: type[Exception]
    ) -> None:
        def break_down(_: str) -> None:
            raise error("broken")

        fake.act = break_down
        result = ask(make())
        assert result == RewriteResult(UTTERANCE, original=UTTERANCE, skip_reason="error")

    def test_a_slow_model_is_not_waited_for(self, fake: FakeRewriter, make: Make, ask: Ask) -> None:
        gate = Gate()
        fake.act = gate
        middleware = make(Policy(timeout=0.05))
        began = time.monotonic()
        result = ask(middleware)
        assert time.monotonic() - began < 5
        assert (result.text, result.skip_reason) == (UTTERANCE, "timeout")
        gate.opened.set()
        assert ask(middleware, policy=Policy(timeout=None)).changed

    def test_a_full_queue_is_not_waited_for(self, fake: FakeRewriter) -> None:
        gate = Gate()
        fake.act = gate
        breaker = CircuitBreaker(max_failures=1)
        with MicroBatcher(fake, workers=1, max_queue=2) as batcher:
            middleware = Middleware(batcher, Policy(timeout=30), breaker=breaker, observers=())

            async def flood() -> list[RewriteResult]:
                calls = asyncio.gather(*(middleware.arewrite(HISTORY, str(k)) for k in range(8)))
                await asyncio.sleep(0.05)
                gate.opened.set()
                return await calls

            results = asyncio.run(flood())
            middleware.close()
            assert batcher.rewrite(HISTORY, "still open").changed
        refused = [result.skip_reason == "queue_full" for result in results]
        assert sum(refused) in (5, 6)
        assert not breaker.open

    def test_a_model_that_keeps_failing_is_left_alone_for_a_while(
        self, fake: FakeRewriter, make: Make, ask: Ask
    ) -> None:
        now = 0.0
        breaker = CircuitBreaker(max_failures=3, cool_down=10, clock=lambda: now)
        middleware = make(breaker=breaker)
        fake.act = fail
        reasons = [ask(middleware).skip_reason for _ in range(5)]
        assert reasons == ["error"] * 3 + ["circuit_open"] * 2
        assert len(fake.calls) == 3
        now = 10.0
        assert ask(middleware).skip_reason == "error"
        assert ask(middleware).skip_reason == "circuit_open"
        now, fake.act = 20.0, lambda _: None
        assert ask(middleware).changed
        assert ask(middleware).changed

    def test_a_cancelled_call_is_cancelled_and_no_failure(
        self, fake: FakeRewriter, make: Make
    ) -> None:
        gate, breaker = Gate(), CircuitBreaker(max_failures=1)
        fake.act = gate
        middleware = make(Policy(timeout=30), breaker=breaker)

        async def cancel() -> None:
            task = asyncio.create_task(middleware.arewrite(HISTORY, UTTERANCE))
            await asyncio.to_thread(gate.wait_for, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        gate.opened.set()
        assert not breaker.open

    def test_a_closed_rewriter_fails_open(self, tiny_bundle_dir: Path, ask: Ask) -> None:
        rewriter = Rewriter(tiny_bundle_dir, threads=1)
        with Middleware(rewriter, observers=()) as middleware:
            assert ask(middleware, policy=Policy(timeout=30)).changed
            rewriter.close()
            assert ask(middleware, policy=Policy(timeout=30)).skip_reason == "error"

    def test_a_network_that_raises_fails_open(
        self, tiny_bundle_dir: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask
    ) -> None:
        with (
            Rewriter(tiny_bundle_dir, threads=1) as rewriter,
            Middleware(rewriter, Policy(timeout=30), observers=()) as middleware,
        ):
            model = rewriter._some_model()
            with monkeypatch.context() as patch:
                session = model.scorer._current()
                broken = attrs.evolve(session, native=None)
                patch.setattr(model.scorer, "_session", broken)
                assert ask(middleware).skip_reason == "error"
            assert ask(middleware).changed

    def test_a_bundle_may_be_deleted_while_it_is_used(
        self, altered_bundle: Callable[..., Path], ask: Ask
    ) -> None:
        directory = altered_bundle()
        with (
            Rewriter(directory, threads=1) as rewriter,
            Middleware(rewriter, Policy(timeout=30), observers=()) as middleware,
        ):
            before = ask(middleware)
            shutil.rmtree(directory)
            assert ask(middleware) == before
            assert before.changed


class TestSessions:
    def test_a_session_goes_through_the_middleware(self, fake: FakeRewriter, make: Make) -> None:
        middleware, store = make(Policy(timeout=30)), MemoryStore()
        session = middleware.session("anna", store=store)
        session.rewrite("a")
        fake.act = fail
        assert session.rewrite("b").skip_reason == "error"
        fake.act = lambda _: None
        assert asyncio.run(session.arewrite("c")).text == "c b"
        assert [turn.text for turn in session.history] == ["a", "b", "c"]

    def test_a_full_disk_does_not_stop_the_dialogue(
        self, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = SqliteStore(tmp_path / "s.db")
        session = make(Policy(timeout=30)).session("anna", store=store)
        session.rewrite("a")
        assert store._connection is not None
        store._connection.execute("PRAGMA max_page_count = 1")
        for k in range(3):
            result = session.rewrite("x" * 9000 + str(k))
            assert result.changed
            assert result.unrecorded
        assert [turn.text for turn in session.history] == ["a"]
        failures = [line for line in caplog.messages if line.startswith("store ")]
        assert failures == ['store {"error": "UnavailableStoreError"}'] * 3
        store.close()

    @pytest.mark.parametrize("twin", ["rewrite", "arewrite"])
    def test_what_a_session_passes_on_by_itself_is_told_too(self, make: Make, twin: str) -> None:
        seen: list[Event] = []
        store = MemoryStore()
        session = make(Policy(timeout=30), after=seen.append).session("anna/1", store=store)

        def rewrite(text: str, enabled: bool) -> RewriteResult:
            if twin == "arewrite":
                return asyncio.run(session.arewrite(text, enabled=enabled))
            return session.rewrite(text, enabled=enabled)

        rewrite("a", True)
        rewrite("b", False)
        store.load = broken_load  # type: ignore[method-assign]
        rewrite("c", True)
        told = [(one.result.skip_reason, one.turns, one.session, one.failed) for one in seen]
        assert told == [
            ("no_history", 0, "anna/1", False),
            ("disabled", 1, "anna/1", False),
            ("error", 0, "anna/1", True),
        ]
        assert isinstance(seen[2].error, UnavailableStoreError)


def broken_load(session: str) -> Any:
    raise UnavailableStoreError(f"{session} is away")
