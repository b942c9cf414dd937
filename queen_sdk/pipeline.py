"""From a dialogue to the scorer's input: the stages before the network, for one model.

Serving and training both go through here; only the spans of the coreference part may come from
elsewhere in training.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import attrs

from queen_sdk.dialogue import spoken_turns, tag_lengths
from queen_sdk.features import FeatureBuilder, Features
from queen_sdk.parsing import EllipsisEnds, Parser, ellipsis_ends
from queen_sdk.template import (
    QueryTemplate,
    ReferringExpressions,
    Span,
    TemplateSettings,
    build_query,
)
from queen_sdk.values import SkipReason, Timings, Turn


@attrs.frozen
class Prepared:
    """A dialogue that is ready to be scored."""

    features: Features
    query: QueryTemplate
    dropped_turns: int
    timings: Timings


@attrs.frozen
class Skipped:
    """A dialogue that there is nothing to ask about."""

    reason: SkipReason
    dropped_turns: int = 0


class Pipeline:
    """Tokenization, template and features with the settings of one model."""

    def __init__(
        self,
        builder: FeatureBuilder,
        *,
        template: TemplateSettings,
        collection: Sequence[str],
        parser: Parser | None,
    ) -> None:
        """Take the parts; a `parser` of None marks both ends."""
        self.builder = builder
        self._template = template
        self._collection = ReferringExpressions(collection)
        self._parser = parser

    def prepare(
        self, turns: Sequence[Turn], utterance: str, *, coreference: Sequence[Span] | None = None
    ) -> Prepared | Skipped:
        """Run the stages; `coreference` overrides the spans that the collection would find."""
        started = time.perf_counter()
        spoken = spoken_turns(turns, utterance)
        if not spoken:
            return Skipped("no_history")
        earlier = max(len(spoken) - self.builder.max_length, 0)
        spoken = [*spoken[:1], *spoken[earlier + 1 :]]  # the first may stay in view
        *tags, tag = tag_lengths([*(turns[k].text for k in spoken), utterance])
        tokens = self.builder.tokens(utterance, tag)
        if not any(character.isalnum() for token in tokens for character in token.text):
            return Skipped("empty_utterance")
        tokenized = time.perf_counter()
        parsing = _Stopwatch(lambda: self._ends(utterance[tag:]))
        query = build_query(
            tokens,
            settings=self._template,
            coreference=self._collection.spans(tokens) if coreference is None else coreference,
            ellipsis_ends=parsing,
        )
        templated = time.perf_counter()
        window = self.builder.window(
            [(k, turns[k].text, start) for k, start in zip(spoken, tags, strict=True)],
            tokens,
            query,
        )
        if window is None:
            return Skipped("utterance_too_long", earlier + len(spoken))
        if not any(words for _, words in window.turns):
            return Skipped("no_history", earlier + window.dropped)
        features = self.builder.features(window, tokens, query)
        timings = Timings(
            tokenize=(tokenized - started) * 1e3,
            template=(templated - tokenized - parsing.seconds) * 1e3,
            parse=parsing.seconds * 1e3,
            encode=(time.perf_counter() - templated) * 1e3,
        )
        return Prepared(features, query, earlier + window.dropped, timings)

    def _ends(self, utterance: str) -> EllipsisEnds:
        return ellipsis_ends(self._parser.parse(utterance) if self._parser else None)


class _Stopwatch:
    """Calls a function and remembers how long it took."""

    def __init__(self, function: Callable[[], EllipsisEnds]) -> None:
        self._function = function
        self.seconds = 0.0

    def __call__(self) -> EllipsisEnds:
        started = time.perf_counter()
        value = self._function()
        self.seconds = time.perf_counter() - started
        return value
