"""The Rasa component inside a real assistant: trained, loaded and talked to (scripts/test-rasa)."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rasa", reason="needs Rasa 3.6 on Python 3.10: run scripts/test-rasa")

from http_server import serving
from queen_adapters.rasa import QueenRewriter
from rasa.core.agent import Agent
from rasa.core.channels.channel import CollectingOutputChannel, UserMessage
from rasa.engine.graph import ExecutionContext, GraphSchema
from rasa.engine.recipes.default_recipe import DefaultV1Recipe
from rasa.model_training import train
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
from rasa.shared.utils.io import read_yaml_file, write_yaml

from queen_sdk import Middleware, Policy, RewriteResult, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.bundle import embedded_bundles
from queen_sdk.dialogue import HistoryItem, read_history
from queen_sdk.server.app import create_app
from queen_sdk.testing import AdapterContract, FakeRewriter, Observed
from queen_sdk.values import Edit, Source

BOT = Path(__file__).parents[2] / "examples" / "rasa_bot"
QUESTION, FOLLOW_UP = "What is the weather like in Paris in June?", "and in July?"


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


Trained = Callable[[str | None, dict[str, Any]], Path]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Return a function that trains the example with a component in the place of its own."""
    models: dict[str, Path] = {}

    def model(component: str | None, settings: dict[str, Any]) -> Path:
        name = f"{component} {settings}"
        if name not in models:
            directory = tmp_path_factory.mktemp("bot")
            shutil.copytree(BOT, directory, dirs_exist_ok=True)
            config = read_yaml_file(directory / "config.yml")
            assert config["pipeline"][0]["name"] == "queen_adapters.rasa.QueenRewriter"
            own = [] if component is None else [{"name": component, **settings}]
            config["pipeline"][:1] = own
            write_yaml(config, directory / "config.yml")
            models[name] = _train(directory)
        return models[name]

    return model


def _train(directory: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        # What Rasa keeps of a training is not found again if a component's place has changed.
        patch.setenv("RASA_CACHE_DIRECTORY", str(directory / "cache"))
        result = train(
            str(directory / "domain.yml"),
            str(directory / "config.yml"),
            [str(directory / "data")],
            output=str(directory / "models"),
        )
    assert result.model
    return Path(result.model)


class Bot:
    """An assistant that is talked to."""

    def __init__(self, model: Path) -> None:
        self.agent = Agent.load(str(model))

    async def say(self, sender: str, text: str, metadata: Any = None) -> list[str]:
        """Return the answers."""
        channel = CollectingOutputChannel()
        message = UserMessage(text, channel, sender, metadata=metadata)
        await self.agent.handle_message(message)
        return [answer["text"] for answer in channel.messages]

    async def tracker(self, sender: str) -> DialogueStateTracker:
        return await self.agent.tracker_store.get_or_create_tracker(sender)

    async def understood(self, sender: str) -> dict[str, Any]:
        """Return what the assistant made of the last message."""
        found = (await self.tracker(sender)).latest_message
        assert found is not None
        data: dict[str, Any] = found.parse_data
        return {
            **data,
            "words": found.text,
            "intent": found.intent["name"],
            "entities": {entity["entity"]: entity["value"] for entity in found.entities},
        }

    def follow_up(self, sender: str = "anna", **call: Any) -> dict[str, Any]:
        """Ask the question and its follow-up, and return what the latter was taken for."""

        async def dialogue() -> dict[str, Any]:
            await self.say(sender, QUESTION)
            call["answers"] = await self.say(sender, FOLLOW_UP, call.get("metadata"))
            return {**await self.understood(sender), "answers": call["answers"]}

        return asyncio.run(dialogue())


@pytest.fixture
def copying(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> Bot:
    """Return an assistant with the component around a rewriter that copies."""
    monkeypatch.setattr(HandedRewriter, "rewriter", CopyingRewriter())
    return Bot(trained("HandedRewriter", {"timeout": 30}))


WITHOUT = ("book_trip", {"month": "July"}, ["I have noted the time of your trip."])
WITH = ("ask_weather", {"city": "Paris", "month": "July"}, ["Mild, with a shower now and then."])


def _taken_for(seen: dict[str, Any]) -> tuple[Any, ...]:
    return seen["intent"], seen["entities"], seen["answers"]


class TestFollowUp:
    """What the issue asks for: the same words are understood otherwise."""

    def test_without_the_component_it_is_misunderstood(self, trained: Trained) -> None:
        seen = Bot(trained(None, {})).follow_up()
        assert _taken_for(seen) == WITHOUT
        assert "queen" not in seen

    def test_with_the_component_it_is_understood(self, copying: Bot) -> None:
        seen = copying.follow_up()
        assert _taken_for(seen) == WITH
        assert seen["text"] == "and What is the weather like in Paris in July?"
        assert seen["words"] == FOLLOW_UP

    @pytest.mark.skipif("en" not in embedded_bundles(), reason="this copy has no embedded bundles")
    def test_with_the_embedded_bundle_it_is_understood(self, trained: Trained) -> None:
        component = "queen_adapters.rasa.QueenRewriter"
        seen = Bot(trained(component, {"bundle": "en", "timeout": 30})).follow_up()
        assert seen["queen"]["skip_reason"] is None
        assert _taken_for(seen) == WITH

    def test_entities_point_into_the_rewrite(self, copying: Bot) -> None:
        copying.follow_up()
        latest = asyncio.run(copying.tracker("anna")).latest_message
        assert latest is not None
        for entity in latest.entities:
            spoken = latest.parse_data["text"][entity["start"] : entity["end"]]
            assert spoken == entity["value"]


class TestRemote:
    """The component in front of a server."""

    def test_a_server_rewrites_and_a_server_that_is_down_costs_nothing(
        self, trained: Trained
    ) -> None:
        with (
            Middleware(CopyingRewriter(), Policy(timeout=30)) as middleware,
            serving(create_app(middleware)) as running,
        ):
            component = "queen_adapters.rasa.QueenRewriter"
            bot = Bot(trained(component, {"url": running.url, "timeout": 30}))
            assert _taken_for(bot.follow_up("anna")) == WITH
        seen = bot.follow_up("bert")
        assert _taken_for(seen) == WITHOUT
        assert seen["queen"]["skip_reason"] == "error"


class _Driver:
    """Plays the user for the contract."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot

    def ask(self, *arguments: Any, **options: Any) -> Observed:
        return asyncio.run(self.aask(*arguments, **options))

    async def aask(
        self, conversation: str, history: Sequence[Turn], utterance: Any, *, enabled: bool = True
    ) -> Observed:
        await self.bot.agent.tracker_store.save(_tracker(conversation, history))
        metadata = None if enabled else {"queen": False}
        answers = await self.bot.say(conversation, utterance, metadata)
        tracker = await self.bot.tracker(conversation)
        latest = tracker.latest_message
        assert latest is not None
        said = [
            Turn(event.text or "", role="user" if isinstance(event, UserUttered) else "assistant")
            for event in tracker.events
            if isinstance(event, (UserUttered, BotUttered))
        ]
        return Observed(
            used=latest.parse_data["text"],
            original=latest.parse_data["queen"]["original"],
            shown="\n".join(answers),
            history=tuple(said[: -1 - len(answers)]),
            edits=latest.parse_data["queen"]["edits"],
            skip_reason=latest.parse_data["queen"]["skip_reason"],
        )


def _tracker(conversation: str, history: Sequence[Turn]) -> DialogueStateTracker:
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


class TestContract(AdapterContract):
    """What every adapter keeps."""

    roles = ("user", "assistant")
    multimodal = False

    @pytest.fixture(autouse=True)
    def _model(self, trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model = trained("HandedRewriter", {"timeout": 30})
        self.patch = monkeypatch

    def make(self, rewriter: Rewrites) -> _Driver:
        self.patch.setattr(HandedRewriter, "rewriter", rewriter)
        return _Driver(Bot(self.model))


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
        tracker = _tracker("a", [Turn("Smith is here", role="assistant")])
        message = _processed(component, "Does he care?", tracker)
        assert message.get("text") == "Does Smith care?"
        assert message.get("queen")["original"] == "Does he care?"
        assert message.get("queen")["edits"][0]["text"] == "Smith"
        assert message.get("queen")["confidence"] is not None

    def test_what_was_done_is_put_out_with_the_message(self, fake: FakeRewriter) -> None:
        message = _processed(_component(), "July?", _tracker("a", [Turn("June?")]))
        shown = message.as_dict(only_output_properties=True)
        assert shown["text"] == "July? June?"
        assert shown["queen"]["text"] == "July? June?"

    def test_in_retrieval_mode_the_pipeline_gets_the_own_words(self, fake: FakeRewriter) -> None:
        component = _component(mode="retrieval")
        message = _processed(component, "July?", _tracker("a", [Turn("June?")]))
        assert message.get("text") == "July?"
        assert message.get("queen")["text"] == "July? June?"

    def test_commands_are_left_alone_and_are_no_history(self, fake: FakeRewriter) -> None:
        tracker = _tracker("a", [Turn("June?"), Turn("/greet")])
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
        tracker = _tracker("a", [Turn("/restart stops", role="assistant")])
        assert _processed(_component(), "now?", tracker).get("text") == "now?"

    @pytest.mark.parametrize("text", ["", None, 17])
    def test_messages_without_text_pass(self, fake: FakeRewriter, text: Any) -> None:
        assert _processed(_component(), text, _tracker("a", [Turn("June?")])).get("text") == text

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
        tracker = _tracker("a", [Turn("June?")])
        message = _processed(_component(), "July?", tracker, metadata=metadata)
        assert message.get("text") == "July? June?"

    def test_the_policy_can_be_set(self, fake: FakeRewriter) -> None:
        tracker = _tracker("a", [Turn("May?"), Turn("June?")])
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
