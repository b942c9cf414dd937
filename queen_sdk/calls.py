"""Reading what a rewriter is called with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from queen_sdk.dialogue import HistoryItem, read_history, read_utterance
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.language import detect_language
from queen_sdk.values import RewriteResult, SkipReason, Turn

Dialogue: TypeAlias = tuple[Sequence[HistoryItem], str]
"""A history and the utterance that follows it."""


@attrs.frozen
class Call:
    """One dialogue, read and checked."""

    turns: tuple[Turn, ...]
    utterance: str
    language: str

    @classmethod
    def read(cls, dialogue: Dialogue) -> Call:
        """Read a dialogue and find its language.

        Raises:
            InvalidArgumentError: It is not a pair of history and utterance.
        """
        if not isinstance(dialogue, Sequence) or isinstance(dialogue, str) or len(dialogue) != 2:
            raise InvalidArgumentError(
                f"a dialogue must be a pair of history and utterance, got {dialogue!r:.80}"
            )
        turns = read_history(dialogue[0])
        utterance = read_utterance(dialogue[1])
        spoken = [turn.text for turn in turns if turn.role in ("user", "assistant")]
        return cls(turns, utterance, detect_language(spoken, utterance))

    def untouched(self, reason: SkipReason) -> RewriteResult:
        """Return the result of a call that no model is asked about."""
        return RewriteResult(
            self.utterance, original=self.utterance, skip_reason=reason, language=self.language
        )


def read_dialogues(dialogues: Sequence[Dialogue]) -> list[Call]:
    """Read several dialogues.

    Raises:
        InvalidArgumentError: They are not a sequence, or one of them is not a dialogue.
    """
    if isinstance(dialogues, (str, bytes)) or not isinstance(dialogues, Sequence):
        raise InvalidArgumentError(
            "dialogues must be a sequence of (history, utterance) pairs, "
            f"got {type(dialogues).__name__}; rewrite_many takes any iterable"
        )
    return [Call.read(dialogue) for dialogue in dialogues]
