"""Rasa 3.6: a component of the NLU pipeline that rewrites a message before it is understood.

    pipeline:
      - name: queen_adapters.rasa.QueenRewriter   # before the tokenizer

The tracker keeps the user's own words; the message's property `queen` has both, and the edits.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from queen_adapters.frame import for_call, in_middleware, require
from queen_sdk import CallOptions, Middleware, Policy, QueenError, Rewriter, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.client import RemoteRewriter
from queen_sdk.errors import MissingExtraError
from queen_sdk.values import Role

try:
    require("rasa", extra="rasa", at_least="3.6", below="3.7")
except MissingExtraError as error:
    if sys.version_info < (3, 11):
        raise
    raise MissingExtraError(f"{error} (on Python 3.10, which Rasa 3.6 needs)") from None

from rasa.engine.graph import ExecutionContext, GraphComponent
from rasa.engine.recipes.default_recipe import DefaultV1Recipe
from rasa.engine.storage.resource import Resource
from rasa.engine.storage.storage import ModelStorage
from rasa.shared.constants import INTENT_MESSAGE_PREFIX
from rasa.shared.core.events import (
    BotUttered,
    Restarted,
    SessionStarted,
    UserUtteranceReverted,
    UserUttered,
)
from rasa.shared.core.trackers import DialogueStateTracker
from rasa.shared.exceptions import InvalidConfigException
from rasa.shared.nlu.constants import METADATA, TEXT
from rasa.shared.nlu.training_data.message import Message

QUEEN = "queen"
"""The property of a message that says what was done, and the key of its metadata for the switch."""

_SHOWN = ("original", "text", "edits", "confidence", "skip_reason")


# An "entity extractor", since of all kinds Rasa knows it is one that training leaves out.
@DefaultV1Recipe.register(DefaultV1Recipe.ComponentType.ENTITY_EXTRACTOR, is_trainable=False)
class QueenRewriter(GraphComponent):
    """Rewrites messages with the history of their conversation."""

    @staticmethod
    def get_default_config() -> dict[str, Any]:
        """Return what can be set in `config.yml`."""
        return {
            "bundle": None,  # name of an embedded one or directory; None to go by language
            "url": None,  # of a server that `queen serve` started, instead of a bundle
            "enabled": True,
            "mode": "replace",  # or "retrieval": the pipeline gets the user's own words
            "timeout": 0.5,  # seconds; then the message goes on as it is
            "max_history": 20,  # newest turns that are used
            "threshold": None,
            "min_confidence": 0.0,
            "protect": [],
        }

    @classmethod
    def create(
        cls,
        config: dict[str, Any],
        model_storage: ModelStorage,
        resource: Resource,
        execution_context: ExecutionContext,
    ) -> QueenRewriter:
        """Open the component when a trained assistant is loaded.

        Raises:
            InvalidConfigException: The configuration, or the bundle that it names, is not usable.
        """
        try:
            policy = _policy(config, cls.get_default_config())
            return cls(in_middleware(cls.open_rewriter(config), policy))
        except (QueenError, OSError) as error:
            raise InvalidConfigException(f"{cls.__name__} in the pipeline: {error}") from error

    @classmethod
    def open_rewriter(cls, config: Mapping[str, Any]) -> Rewrites:
        """Return what rewrites; override it in a component of your own to take another."""
        if config["url"] is not None:
            if config["bundle"] is not None:
                raise QueenError("give bundle or url, not both: the server has its own bundle")
            return RemoteRewriter(config["url"], timeout=config["timeout"] or 10.0)
        return Rewriter(config["bundle"], threads=1)

    def __init__(self, middleware: Middleware) -> None:
        """Take what rewrites."""
        self._middleware = middleware

    def process(
        self, messages: list[Message], tracker: DialogueStateTracker | None = None
    ) -> list[Message]:
        """Rewrite the messages; without a tracker, as in tests of the NLU alone, leave them."""
        for message in messages:
            text = message.get(TEXT)
            if isinstance(text, str) and not text.startswith(INTENT_MESSAGE_PREFIX):
                self._rewrite(message, text, _history(tracker))
        return messages

    def _rewrite(self, message: Message, text: str, history: list[Turn]) -> None:
        metadata = message.get(METADATA)
        enabled = not isinstance(metadata, Mapping) or metadata.get(QUEEN) is not False
        policy = for_call(self._middleware, None, enabled=enabled)
        result = self._middleware.rewrite(history, text, policy=policy)
        fields = result.to_dict()
        message.set(QUEEN, {name: fields[name] for name in _SHOWN}, add_to_output=True)
        words = self._middleware.message(result)
        if not words.startswith(INTENT_MESSAGE_PREFIX):  # nothing copied may become a command
            message.set(TEXT, words, add_to_output=True)


def _history(tracker: DialogueStateTracker | None) -> list[Turn]:
    """Return what was said in this session of this conversation, without commands."""
    turns: list[Turn] = []  # not tracker.applied_events(): that leaves out what forms asked
    for event in () if tracker is None else tracker.events:
        if isinstance(event, (Restarted, SessionStarted)):
            turns.clear()
        elif isinstance(event, UserUtteranceReverted):
            del turns[max((k for k, turn in enumerate(turns) if turn.role == "user"), default=0) :]
        elif isinstance(event, (BotUttered, UserUttered)) and event.text:
            role: Role = "user" if isinstance(event, UserUttered) else "assistant"
            turns.append(Turn(event.text, role=role))
    return [turn for turn in turns if not turn.text.startswith(INTENT_MESSAGE_PREFIX)]


def _policy(config: Mapping[str, Any], known: Mapping[str, Any]) -> Policy:
    for name in config:
        if name not in known:
            raise QueenError(f"there is no setting {name!r}; there are: {', '.join(known)}")
    if not isinstance(config["enabled"], bool):
        raise QueenError(f"enabled must be true or false, got {config['enabled']!r}")
    options = {name: config[name] for name in ("threshold", "min_confidence", "protect")}
    rest = {name: config[name] for name in ("enabled", "mode", "timeout", "max_history")}
    return Policy(options=CallOptions(**options), **rest)
