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
from rasa.core.agent import Agent
from rasa.core.channels.channel import CollectingOutputChannel, UserMessage
from rasa.model_training import train
from rasa.shared.core.events import (
    BotUttered,
    UserUttered,
)
from rasa.shared.core.trackers import DialogueStateTracker
from rasa.shared.utils.io import read_yaml_file, write_yaml
from rasa_parts import CopyingRewriter, HandedRewriter, tracker_of

from queen_sdk import Middleware, Policy, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.bundle import embedded_bundles
from queen_sdk.server.app import create_app
from queen_sdk.testing import AdapterContract, Observed

BOT = Path(__file__).parents[2] / "examples" / "rasa_bot"
QUESTION, FOLLOW_UP = "What is the weather like in Paris in June?", "and in July?"


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
        await self.bot.agent.tracker_store.save(tracker_of(conversation, history))
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
