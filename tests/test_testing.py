"""The contract of adapters: a good one keeps it, and every way to break it is found."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from queen_sdk import Middleware, Policy, RewriteResult, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.testing import (
    ANSWER,
    CHINESE,
    ENGLISH,
    AdapterContract,
    Content,
    Driver,
    FakeRewriter,
    Observed,
)


class Host:
    """A bot in memory, and its adapter; the flaws of the subclasses are those of real adapters."""

    def __init__(self, rewriter: Rewrites) -> None:
        self.rewriter = rewriter
        self.middleware = Middleware(rewriter, Policy(timeout=30), observers=())

    def policy(self, enabled: bool) -> Policy:
        return attrs.evolve(self.middleware.policy, enabled=enabled)

    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        return self.middleware.rewrite(history, text, policy=self.policy(enabled))

    async def arewrite(
        self, conversation: str, history: Sequence[Turn], text: str, enabled: bool
    ) -> Any:
        return await self.middleware.arewrite(history, text, policy=self.policy(enabled))

    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        used: Content = result.text
        if not isinstance(given, str):
            used = [{**p, "text": result.text} if p["type"] == "text" else p for p in given]
        return Observed(
            used=used,
            original=given,
            shown=ANSWER,
            history=tuple(history),
            edits=result.edits,
            skip_reason=result.skip_reason,
        )

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        text = utterance if isinstance(utterance, str) else text_part(utterance)
        return self.seen(self.rewrite(conversation, history, text, enabled), history, utterance)

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        text = utterance if isinstance(utterance, str) else text_part(utterance)
        result = await self.arewrite(conversation, history, text, enabled)
        return self.seen(result, history, utterance)


def text_part(parts: Sequence[Any]) -> str:
    return next(part["text"] for part in parts if part["type"] == "text")


class TestAGoodAdapter(AdapterContract):
    def make(self, rewriter: Rewrites) -> Driver:
        return Host(rewriter)


class TestAnAdapterOfAPoorerHost(AdapterContract):
    """Calls that the host does not have are not made."""

    asynchronous = False
    roles = ("user", "assistant")
    multimodal = False

    def make(self, rewriter: Rewrites) -> Driver:
        host = Host(rewriter)
        host.aask = None  # type: ignore[assignment, method-assign]
        return host


class DoesNothing(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        return attrs.evolve(super().seen(result, history, given), used=given)


class LosesTheOriginal(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        seen = super().seen(result, history, given)
        return attrs.evolve(seen, original=seen.used)


class LosesTheEdits(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        return attrs.evolve(super().seen(result, history, given), edits=())


class CallsTheModelItself(Host):
    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        if not enabled or not history:
            return super().rewrite(conversation, history, text, enabled)
        return self.rewriter.rewrite(history, text)


class GivesUpAfterAFailure(Host):
    failed = False

    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        result = super().rewrite(conversation, history, text, enabled and not self.failed)
        self.failed = self.failed or result.skip_reason == "error"
        return result


class HasNoSwitch(Host):
    def policy(self, enabled: bool) -> Policy:
        return self.middleware.policy


class StaysOff(Host):
    def policy(self, enabled: bool) -> Policy:
        self.middleware.policy = super().policy(enabled and self.middleware.policy.enabled)
        return self.middleware.policy


class KeepsTheLastHistory(Host):
    """The history is kept in the adapter, so that two users mix."""

    kept: Sequence[Turn] = ()

    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        self.kept = history or self.kept
        return super().rewrite(conversation, self.kept, text, enabled)


class SharesAVariable(Host):
    """The history is put where another task can change it before it is read."""

    async def arewrite(
        self, conversation: str, history: Sequence[Turn], text: str, enabled: bool
    ) -> Any:
        self.history = history
        await asyncio.sleep(0)
        return await super().arewrite(conversation, self.history, text, enabled)


class ForgetsTheSwitchWhenAwaited(Host):
    async def arewrite(
        self, conversation: str, history: Sequence[Turn], text: str, enabled: bool
    ) -> Any:
        return await super().arewrite(conversation, history, text, True)


class TakesEverythingForSpeech(Host):
    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        said = [turn.text for turn in history]
        return super().rewrite(conversation, said, text, enabled)  # type: ignore[arg-type]


class DropsTheSystemTurn(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        spoken = [turn for turn in history if turn.role != "system"]
        return super().seen(result, spoken, given)


class RewritesTheHistory(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        return super().seen(result, [Turn(result.text), *history[1:]], given)


class FlattensParts(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        return attrs.evolve(super().seen(result, history, given), used=result.text)


class DropsPictures(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        seen = super().seen(result, history, given)
        if isinstance(seen.used, str):
            return seen
        return attrs.evolve(seen, used=[part for part in seen.used if part["type"] == "text"])


class AsksForNothing(Host):
    """The model is asked even when there is nothing to copy from."""

    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        if not history:
            return self.rewriter.rewrite([], text)
        return super().rewrite(conversation, history, text, enabled)


class AsksTwice(Host):
    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        super().rewrite(conversation, history, text, enabled)
        return super().rewrite(conversation, history, text, enabled)


class SwapsTheRoles(Host):
    def rewrite(self, conversation: str, history: Sequence[Turn], text: str, enabled: bool) -> Any:
        swapped = [attrs.evolve(turn, role="assistant") for turn in history]
        return super().rewrite(conversation, swapped, text, enabled)


class StreamsTheRewrite(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        seen = super().seen(result, history, given)
        return attrs.evolve(seen, shown=f"{result.text} {ANSWER}")


class StreamsAPieceOfIt(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        seen = super().seen(result, history, given)
        return attrs.evolve(seen, shown="".join(e.text for e in result.edits) + ANSWER)


class SaysNothingOfTheScreen(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        return attrs.evolve(super().seen(result, history, given), shown="")


class SaysNoReason(Host):
    def seen(self, result: RewriteResult, history: Sequence[Turn], given: Content) -> Observed:
        return attrs.evolve(super().seen(result, history, given), skip_reason=None)


FLAWS: list[tuple[type[Host], str]] = [
    (DoesNothing, "test_a_follow_up_is_rewritten"),
    (AsksTwice, "test_a_follow_up_is_rewritten"),
    (SwapsTheRoles, "test_a_follow_up_is_rewritten"),
    (LosesTheOriginal, "test_the_original_is_recoverable"),
    (LosesTheEdits, "test_the_original_is_recoverable"),
    (CallsTheModelItself, "test_a_failing_model_leaves_the_bot_alone"),
    (GivesUpAfterAFailure, "test_a_failing_model_leaves_the_bot_alone"),
    (SaysNoReason, "test_a_failing_model_leaves_the_bot_alone"),
    (HasNoSwitch, "test_one_call_can_be_switched_off"),
    (StaysOff, "test_one_call_can_be_switched_off"),
    (KeepsTheLastHistory, "test_conversations_do_not_mix"),
    (SharesAVariable, "test_conversations_do_not_mix_when_they_run_at_once"),
    (ForgetsTheSwitchWhenAwaited, "test_async_does_what_sync_does"),
    (TakesEverythingForSpeech, "test_turns_that_nobody_said_are_untouched"),
    (DropsTheSystemTurn, "test_turns_that_nobody_said_are_untouched"),
    (RewritesTheHistory, "test_the_history_is_untouched"),
    (FlattensParts, "test_pictures_and_the_like_are_untouched"),
    (DropsPictures, "test_pictures_and_the_like_are_untouched"),
    (AsksForNothing, "test_without_history_nothing_is_done"),
    (SaysNoReason, "test_without_history_nothing_is_done"),
    (StreamsTheRewrite, "test_the_rewrite_is_not_shown_to_the_user"),
    (StreamsAPieceOfIt, "test_the_rewrite_is_not_shown_to_the_user"),
    (SaysNothingOfTheScreen, "test_the_rewrite_is_not_shown_to_the_user"),
]


@pytest.mark.parametrize(
    ("flawed", "test"), FLAWS, ids=lambda case: getattr(case, "__name__", case)
)
def test_a_flaw_is_found_by_the_test_that_is_for_it(flawed: type[Host], test: str) -> None:
    class Contract(AdapterContract):
        def make(self, rewriter: Rewrites) -> Driver:
            return flawed(rewriter)

    check: Callable[..., None] = getattr(Contract(), test)
    known: dict[str, Any] = {"history": ENGLISH, "utterance": "And in July?", "role": "system"}
    arguments = {name: known[name] for name in inspect.signature(check).parameters}
    with pytest.raises((AssertionError, RuntimeError)):
        check(**arguments)


def test_no_test_of_the_contract_is_without_a_flaw_that_it_finds() -> None:
    tests = {name for name in vars(AdapterContract) if name.startswith("test_")}
    assert tests == {test for _, test in FLAWS}


def test_the_fake_copies_what_was_said_last() -> None:
    history = [*CHINESE, Turn("42", role="tool")]
    result = FakeRewriter().rewrite(history, "那七月呢？")
    assert result.text == f"那七月呢？ {CHINESE[-1].text}"
    assert result.edits[0].sources[0].turn == 1
