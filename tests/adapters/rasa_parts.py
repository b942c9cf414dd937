"""What the tests of the Rasa component share; imports Rasa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queen_adapters.rasa import QueenRewriter
from rasa.engine.recipes.default_recipe import DefaultV1Recipe
from rasa.shared.core.events import (
    ActionExecuted,
    BotUttered,
    Event,
    UserUttered,
)
from rasa.shared.core.trackers import DialogueStateTracker

from queen_sdk import RewriteResult, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.dialogue import HistoryItem, read_history
from queen_sdk.testing import FakeRewriter
from queen_sdk.values import Edit, Source


class CopyingRewriter(FakeRewriter):
    """Copies what the last question of the user has in front of its last " in "."""

    def rewrite(
        self, history: Sequence[HistoryItem], utterance: str, **options: Any
    ) -> RewriteResult:
        turns = read_history(history)
        self.calls.append((turns, utterance))
        self.act(utterance)
        index, text = next(
            (k, turn.text.rpartition(" in ")[0])
            for k, turn in reversed(list(enumerate(turns)))
            if turn.text.endswith("?")
        )
        source = Source(index, start=0, end=len(text), text=text)
        edit = Edit("insert", start=4, end=4, text=f"{text} ", sources=(source,), score=1.0)
        rewritten = f"{utterance[:4]}{text} {utterance[4:]}"
        return RewriteResult(rewritten, original=utterance, edits=(edit,), confidence=0.9)


@DefaultV1Recipe.register(DefaultV1Recipe.ComponentType.ENTITY_EXTRACTOR, is_trainable=False)
class HandedRewriter(QueenRewriter):
    """The component, around a rewriter that the test hands over."""

    rewriter: Rewrites = CopyingRewriter()

    @classmethod
    def open_rewriter(cls, config: Any) -> Rewrites:
        return cls.rewriter


def tracker_of(conversation: str, history: Sequence[Turn]) -> DialogueStateTracker:
    """Return what Rasa would have noted of a dialogue that followed the bot's rules."""
    events: list[Event] = []
    for turn in history:
        if turn.role == "user":
            greeting = {"name": "greet", "confidence": 1.0}
            events += [ActionExecuted("action_listen"), UserUttered(turn.text, greeting)]
        else:
            events += [ActionExecuted("utter_greet"), BotUttered(turn.text)]
    if history:
        events.append(ActionExecuted("action_listen"))
    return DialogueStateTracker.from_events(conversation, events)
