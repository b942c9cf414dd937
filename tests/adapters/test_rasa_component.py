"""The Rasa component by itself, with real messages and trackers (scripts/test-rasa)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rasa", reason="needs Rasa 3.6 on Python 3.10: run scripts/test-rasa")

from queen_adapters.rasa import QueenRewriter
from rasa.engine.graph import ExecutionContext, GraphSchema
from rasa.shared.core.events import (
    ActionExecuted,
    ActiveLoop,
    BotUttered,
    Event,
    Restarted,
    SessionStarted,
    UserUtteranceReverted,
    UserUttered,
)
from rasa.shared.core.trackers import DialogueStateTracker
from rasa.shared.exceptions import InvalidConfigException
from rasa.shared.nlu.training_data.message import Message
from rasa_parts import HandedRewriter, tracker_of

from queen_sdk import RewriteResult, Turn
from queen_sdk.testing import FakeRewriter
from queen_sdk.values import Edit, Source


def _component(**settings: Any) -> QueenRewriter:
    """Open the component as Rasa does."""
    context = ExecutionContext(GraphSchema({}))
    config = {**HandedRewriter.get_default_config(), "timeout": 30, **settings}
    kind = QueenRewriter if "bundle" in settings or "url" in settings else HandedRewriter
    return kind.create(config, None, None, context)


def _processed(component: QueenRewriter, text: Any, tracker: Any, **data: Any) -> Message:
    messages = component.process([Message({"text": text, **data})], tracker)
    return messages[0]


class TestComponent:
    """The component by itself, with real messages and trackers."""

    @pytest.fixture
    def fake(self, monkeypatch: pytest.MonkeyPatch) -> FakeRewriter:
        fake = FakeRewriter()
        monkeypatch.setattr(HandedRewriter, "rewriter", fake)
        return fake

    def test_a_bundle_on_disk_can_be_named(self, tiny_bundle_dir: Path) -> None:
        component = _component(bundle=str(tiny_bundle_dir))
        tracker = tracker_of("a", [Turn("Smith is here", role="assistant")])
        message = _processed(component, "Does he care?", tracker)
        assert message.get("text") == "Does Smith care?"
        assert message.get("queen")["original"] == "Does he care?"
        assert message.get("queen")["edits"][0]["text"] == "Smith"
        assert message.get("queen")["confidence"] is not None

    def test_what_was_done_is_put_out_with_the_message(self, fake: FakeRewriter) -> None:
        message = _processed(_component(), "July?", tracker_of("a", [Turn("June?")]))
        shown = message.as_dict(only_output_properties=True)
        assert shown["text"] == "July? June?"
        assert shown["queen"]["text"] == "July? June?"

    def test_in_retrieval_mode_the_pipeline_gets_the_own_words(self, fake: FakeRewriter) -> None:
        component = _component(mode="retrieval")
        message = _processed(component, "July?", tracker_of("a", [Turn("June?")]))
        assert message.get("text") == "July?"
        assert message.get("queen")["text"] == "July? June?"

    def test_commands_are_left_alone_and_are_no_history(self, fake: FakeRewriter) -> None:
        tracker = tracker_of("a", [Turn("June?"), Turn("/greet")])
        assert _processed(_component(), "/restart", tracker).get("queen") is None
        assert _processed(_component(), "July?", tracker).get("text") == "July? June?"
        assert len(fake.calls) == 1

    def test_a_copy_never_makes_a_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Commanding(FakeRewriter):
            def rewrite(self, history: Any, utterance: str, **_: Any) -> RewriteResult:
                source = Source(0, start=0, end=8, text="/restart")
                edit = Edit("insert", start=0, end=0, text="/restart", sources=(source,), score=1)
                return RewriteResult(f"/restart{utterance}", original=utterance, edits=(edit,))

        monkeypatch.setattr(HandedRewriter, "rewriter", Commanding())
        tracker = tracker_of("a", [Turn("/restart stops", role="assistant")])
        assert _processed(_component(), "now?", tracker).get("text") == "now?"

    @pytest.mark.parametrize("text", ["", None, 17])
    def test_messages_without_text_pass(self, fake: FakeRewriter, text: Any) -> None:
        assert _processed(_component(), text, tracker_of("a", [Turn("June?")])).get("text") == text

    def test_without_a_tracker_nothing_is_done(self, fake: FakeRewriter) -> None:
        message = _processed(_component(), "July?", None)
        assert message.get("text") == "July?"
        assert message.get("queen")["skip_reason"] == "no_history"

    @pytest.mark.parametrize("break_event", [Restarted(), SessionStarted()])
    def test_history_begins_with_the_session(self, fake: FakeRewriter, break_event: Event) -> None:
        tracker = DialogueStateTracker.from_events("a", [UserUttered("June?"), break_event])
        assert _processed(_component(), "July?", tracker).get("text") == "July?"

    def test_what_was_taken_back_is_no_history(self, fake: FakeRewriter) -> None:
        events = [
            UserUttered("May?"),
            BotUttered("Fine."),
            UserUttered("x"),
            UserUtteranceReverted(),
        ]
        tracker = DialogueStateTracker.from_events("a", events)
        assert _processed(_component(), "July?", tracker).get("text") == "July? Fine."

    def test_what_was_said_in_a_form_is_history(self, fake: FakeRewriter) -> None:
        asked = [ActionExecuted("trip_form"), ActiveLoop("trip_form"), BotUttered("When?")]
        again = [UserUttered("in May"), ActionExecuted("trip_form"), BotUttered("Where to?")]
        tracker = DialogueStateTracker.from_events("a", [UserUttered("hi"), *asked, *again])
        assert _processed(_component(), "July?", tracker).get("text") == "July? Where to?"
        assert [turn.text for turn in fake.calls[0][0]] == ["hi", "When?", "in May", "Where to?"]

    def test_pictures_of_the_bot_are_no_history(self, fake: FakeRewriter) -> None:
        events = [UserUttered("May?"), BotUttered(None, {"image": "a.png"})]
        tracker = DialogueStateTracker.from_events("a", events)
        assert _processed(_component(), "July?", tracker).get("text") == "July? May?"

    @pytest.mark.parametrize("metadata", [None, {}, {"queen": True}, {"queen": "?"}, "queen"])
    def test_only_the_switch_switches_off(self, fake: FakeRewriter, metadata: Any) -> None:
        tracker = tracker_of("a", [Turn("June?")])
        message = _processed(_component(), "July?", tracker, metadata=metadata)
        assert message.get("text") == "July? June?"

    def test_the_policy_can_be_set(self, fake: FakeRewriter) -> None:
        tracker = tracker_of("a", [Turn("May?"), Turn("June?")])
        component = _component(threshold=1.5, min_confidence=0.5, protect=["RTX"], max_history=1)
        assert _processed(component, "July?", tracker).get("text") == "July? June?"
        assert len(fake.calls[0][0]) == 1
        assert fake.options == [(1.5, 0.5, ("RTX",))]
        off = _processed(_component(enabled=False), "July?", tracker)
        assert off.get("queen")["skip_reason"] == "disabled"

    @pytest.mark.parametrize(
        ("settings", "complaint"),
        [
            ({"bundel": "en"}, "there is no setting 'bundel'; there are: bundle, url, enabled"),
            ({"bundle": "nowhere"}, "nowhere"),
            ({"bundle": "en", "url": "http://a"}, "give bundle or url, not both"),
            ({"url": "localhost"}, "url must be the address of a queen server"),
            ({"timeout": 0}, "timeout must be a positive number of seconds, got 0"),
            ({"mode": "fast"}, "mode must be one of replace, retrieval, got 'fast'"),
            ({"enabled": "no"}, "enabled must be true or false, got 'no'"),
            ({"protect": "RTX"}, "put a single term into a list"),
        ],
    )
    def test_a_wrong_configuration_is_explained(
        self, settings: dict[str, Any], complaint: str
    ) -> None:
        with pytest.raises(
            InvalidConfigException, match=f"Rewriter in the pipeline: .*{complaint}"
        ):
            _component(**settings)
