"""Turns that repeat a phrase of their dialogue, said again without it.

Who names a thing once more could have left it out. The turn without it is incomplete, the turn as
it was said is its reference, and is complete itself: examples that nobody has to label. They fit
languages that leave such things out freely, as Chinese does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import attrs

from queen_sdk.data.examples import Example
from queen_sdk.errors import InvalidArgumentError, missing_extra
from queen_sdk.tokenization import is_mark, tokenize
from queen_sdk.values import Token

OMITTED = "#omitted"
"""What the ids of the examples that are made here end in."""

_RARE = 0.002
"""In so many of the turns a phrase may stand at most: frequent ones say nothing of the topic."""
_FEW = 3
"""Turns in which any phrase may stand, however few there are."""
_FEWEST, _MOST = 2, 8
"""Tokens of a phrase that is left out; of what is left, there are as few as that at least."""
_LONGEST = 25
"""Tokens of a turn."""

_NAMING = ("n", "vn", "an", "eng")
"""What the tags of nouns and names begin with."""

_Phrase = tuple[str, ...]
_Cut = Callable[[str], Sequence[tuple[str, bool]]]
"""Text to words, each with whether it names something."""


def omitting(examples: Sequence[Example], language: str) -> list[Example]:
    """Return the turns of the histories that can be said without a phrase, each dialogue once.

    Left out is the longest phrase that stood before, made of whole words, a name or a noun among
    them, and rare.

    Raises:
        InvalidArgumentError: The language is not Chinese.
        MissingExtraError: jieba, which knows its words, is not installed.
    """
    if language != "zh":
        raise InvalidArgumentError(
            f"only Chinese (zh) leaves out freely what was said before, got {language!r}"
        )
    cut = _tagger()
    frequent = _frequent({turn.text for example in examples for turn in example.history})
    found: dict[tuple[str, ...], Example] = {}
    for example in examples:
        for k in range(1, len(example.history)):
            said = tuple(turn.text for turn in example.history[: k + 1])
            if said not in found and (short := _without(said, frequent, cut)) is not None:
                found[said] = attrs.evolve(
                    example,
                    history=example.history[:k],
                    utterance=short,
                    reference=said[-1],
                    id=f"{example.id}.{k}{OMITTED}",
                )
    return [*found.values()]


def _without(said: Sequence[str], frequent: frozenset[_Phrase], cut: _Cut) -> str | None:
    """Return the last turn without what the turns before it say too, if there is such a phrase."""
    *before, text = said
    tokens = tokenize(text)
    if not 2 * _FEWEST <= len(tokens) <= _LONGEST:
        return None
    words = _folded(tokens)
    known = {phrase for turn in before for phrase in _phrases(_folded(tokenize(turn)))}
    starts, naming = _words(text, cut)
    for size in range(min(_MOST, len(tokens) - _FEWEST), _FEWEST - 1, -1):
        for first in range(len(tokens) - size + 1):
            start, end = tokens[first].start, tokens[first + size - 1].end
            phrase = words[first : first + size]
            if phrase not in known or phrase in frequent or not {start, end} <= starts:
                continue
            short = text[:start] + text[end:]
            if any(start <= name < end for name in naming) and not short.lstrip().startswith("的"):
                return short
    return None


def _words(text: str, cut: _Cut) -> tuple[set[int], set[int]]:
    """Return where words start or the text ends, and where those that name things start."""
    starts, naming = {0}, set()
    for word, names in cut(text):
        here = max(starts)
        starts.add(here + len(word))
        if names:
            naming.add(here)
    return starts, naming


def _frequent(texts: set[str]) -> frozenset[_Phrase]:
    counts = Counter(phrase for text in texts for phrase in set(_phrases(_folded(tokenize(text)))))
    most = max(_FEW, len(texts) * _RARE)
    return frozenset(phrase for phrase, count in counts.items() if count > most)


def _phrases(words: _Phrase) -> Iterator[_Phrase]:
    for first in range(len(words)):
        for behind in range(first + 1, min(first + _MOST, len(words)) + 1):
            if is_mark(words[behind - 1]):
                break
            if behind - first >= _FEWEST:
                yield words[first:behind]


def _folded(tokens: Sequence[Token]) -> _Phrase:
    return tuple(token.text.casefold() for token in tokens)


def _tagger() -> _Cut:
    try:
        import jieba
        from jieba import posseg
    except ImportError as error:
        raise missing_extra("jieba", "train") from error
    jieba.setLogLevel(60)
    return lambda text: [(word, tag.startswith(_NAMING)) for word, tag in posseg.cut(text)]
