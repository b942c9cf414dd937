"""The query template: the utterance with marks where a reference or an ellipsis may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from queen_sdk.parsing import EllipsisEnds
from queen_sdk.values import Token

COREF = "[COREF]"
"""Stands for a pronoun or a referring noun phrase."""
ELLIP = "[ELLIP]"
"""Stands at an end where something may be left out."""

Span = tuple[int, int]
"""First utterance token, and the one behind the last."""


@attrs.frozen
class TemplateSettings:
    """Which parts and tricks a model was trained with; part of its manifest."""

    query: bool = True
    """Without it the input has no query at all."""
    coreference: bool = True
    """The coreference part."""
    ellipsis: bool = True
    """The ellipsis part."""
    shared_marker: bool = True
    """Both marks are the tokenizer's unknown token, so that neither is rare."""
    marks: bool = True
    """Whether the model sees punctuation; one trained on text without any must not."""
    opening: int = 0
    """Word pieces up to which the first turn stays in view when later ones are dropped."""
    ellipsis_if_no_coreference: bool = True
    """The ellipsis part is tried only if the coreference part found nothing."""


@attrs.frozen
class QueryTemplate:
    """The query as token texts and marks; empty if the model has no query."""

    items: tuple[str, ...]
    """Token texts, `COREF` and `ELLIP`; no token of an utterance can look like a mark."""


class ReferringExpressions:
    """The collection of pronouns and referring noun phrases, matched longest first."""

    def __init__(self, expressions: Iterable[str]) -> None:
        """Take expressions as token texts in lower case, joined by single spaces."""
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for expression in expressions:
            words = tuple(expression.split(" "))
            self._by_first.setdefault(words[0], []).append(words)
        for options in self._by_first.values():
            options.sort(key=len, reverse=True)

    def spans(self, tokens: Sequence[Token]) -> tuple[Span, ...]:
        """Return the matches from left to right, none overlapping another."""
        words = tuple(token.text.casefold() for token in tokens)
        found: list[Span] = []
        k = 0
        while k < len(words):
            size = next(
                (len(o) for o in self._by_first.get(words[k], ()) if words[k : k + len(o)] == o), 0
            )
            if size:
                found.append((k, k + size))
            k += size or 1
        return tuple(found)


def build_query(
    tokens: Sequence[Token],
    *,
    settings: TemplateSettings,
    coreference: Sequence[Span],
    ellipsis_ends: Callable[[], EllipsisEnds],
) -> QueryTemplate:
    """Build the query of an utterance.

    `coreference` are the spans to mark, in order. `ellipsis_ends` is called only if the ellipsis
    part is needed, because it may have to parse.
    """
    if not settings.query:
        return QueryTemplate(())
    items: list[str] = []
    done = 0
    for start, end in coreference if settings.coreference else ():
        items.extend(token.text for token in tokens[done:start])
        items.append(COREF)
        done = end
    items.extend(token.text for token in tokens[done:])
    if settings.ellipsis and not (done and settings.ellipsis_if_no_coreference):
        ends = ellipsis_ends()
        if ends != "end":
            items.insert(0, ELLIP)
        if ends != "begin":
            items.append(ELLIP)
    return QueryTemplate(tuple(items))
