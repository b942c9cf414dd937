"""Sentences with their trees as examples for a parser."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Protocol

import attrs
import numpy as np

from queen_sdk.data.treebanks import Sentence
from queen_sdk.parsing.inputs import LONGEST, Ids, Span
from queen_sdk.parsing.rule import Word, roles_of
from queen_sdk.tokenization import token_spans

COMBINATIONS = 8
"""Ways to have or lack subject, verb and object."""
NONE = -1
"""In place of a unit, where a role is missing or the head was cut off."""


@attrs.frozen(eq=False)
class ParserExample:
    """One utterance, and what the network is to find in it."""

    inputs: Ids
    labels: Ids
    """Per unit: the number of its relation, which also says whether it begins a word."""
    heads: Ids
    """Per unit: the first unit of the word that it hangs on; its own place for the root."""
    roles: tuple[int, int, int]
    """First units of subject, verb and object, or `NONE`."""

    believed: tuple[float, ...] | None = None
    """How a teacher divides belief between the eight combinations; None if a tree decides."""

    @property
    def root(self) -> int:
        """The first unit of the root, or `NONE`."""
        return next((k for k, head in enumerate(self.heads) if head == k), NONE)

    @property
    def combination(self) -> int:
        """Which of the eight ways to have or lack subject, verb and object it is."""
        return sum(1 << k for k, place in enumerate(self.roles) if place != NONE)

    @property
    def shares(self) -> tuple[float, ...]:
        """What of each of the eight combinations is to be found."""
        if self.believed is not None:
            return self.believed
        return tuple(float(k == self.combination) for k in range(COMBINATIONS))


class Numbering(Protocol):
    """Anything that makes numbers of a text, such as `ParserInputs`."""

    def cut(self, text: str) -> list[Span]:
        """Return what is read as one unit each; of `LONGEST` tokens at most."""
        ...

    def encode(self, units: Sequence[str]) -> Ids:
        """Return one row of numbers per unit."""
        ...


class Loosened:
    """Numbers of a text of which some units are taken apart by chance.

    Words that the vocabulary lacks come in pieces: those of the treebank, which it has, would not
    show what such pieces look like.
    """

    def __init__(self, inputs: Numbering, share: float, chance: random.Random) -> None:
        """Take the share of units to take apart."""
        self._inputs, self._share, self._chance = inputs, share, chance

    def cut(self, text: str) -> list[Span]:
        """Return the units, some of them token by token."""
        tokens = dict(token_spans(text, LONGEST))
        found: list[Span] = []
        for start, end in self._inputs.cut(text):
            if tokens[start] != end and self._chance.random() < self._share:
                found += [(k, tokens[k]) for k in range(start, end) if k in tokens]
            else:
                found.append((start, end))
        return found

    def encode(self, units: Sequence[str]) -> Ids:
        """Return one row of numbers per unit."""
        return self._inputs.encode(units)


class ExampleMaker:
    """Sentences to examples, under one set of relations."""

    def __init__(self, inputs: Numbering, labels: Sequence[str]) -> None:
        """Take what numbers the tokens, and the relations in the order of their numbers."""
        self._inputs = inputs
        self._labels = {label: number for number, label in enumerate(labels)}

    def make(self, sentence: Sentence) -> ParserExample | None:
        """Return the example; None without a token, or if the cut left no root."""
        text, words = sentence.text, sentence.words
        units = self._inputs.cut(text)
        first = _first_units(units, words)
        root = next((k for k, word in enumerate(words) if word.head is None), None)
        if root not in first:
            return None
        owners = _owners(units, words, first)
        heads = [_head(place, owner, first, words) for place, owner in enumerate(owners)]
        labels = [
            self._label(words[owner], first.get(owner) == place)
            for place, owner in enumerate(owners)
        ]
        roles = roles_of(words)
        subject, verb, found = (NONE if k is None else first.get(k, NONE) for k in roles)
        return ParserExample(
            self._inputs.encode([text[start:end] for start, end in units]),
            np.array(labels, dtype=np.int64),
            np.array(heads, dtype=np.int64),
            (subject, verb, found),
        )

    def _label(self, word: Word, begins: bool) -> int:
        return self._labels.get(relation(word, begins), 0)


def relation(word: Word, begins: bool) -> str:
    """Return what a token of `word` is to be recognised as."""
    return f"{'B' if begins else 'I'} {word.pos} {word.label}"


def relations(sentences: Iterable[Sentence], least: int = 5) -> tuple[str, ...]:
    """Return the relations that occur at least so often; the first stands for all others."""
    counts: dict[str, int] = {}
    for sentence in sentences:
        for word in sentence.words:
            for begins in (True, False)[: len(word.text)]:
                name = relation(word, begins)
                counts[name] = counts.get(name, 0) + 1
    return ("other", *sorted(name for name, count in counts.items() if count >= least))


def _first_units(units: Sequence[Span], words: Sequence[Word]) -> dict[int, int]:
    """Return for each word the unit in which it begins; words without one are left out."""
    found: dict[int, int] = {}
    place = 0
    for k, word in enumerate(words):
        while place < len(units) and units[place][1] <= word.start:
            place += 1
        if place < len(units) and units[place][0] < word.start + len(word.text):
            found[k] = place
    return found


def _owners(units: Sequence[Span], words: Sequence[Word], first: dict[int, int]) -> list[int]:
    """Return for each unit the word that it stands for.

    Of several that begin in it, that is the root, or the first one that does not hang on another of
    them; if none begins, it is the one that goes on there.
    """
    beginning: dict[int, list[int]] = {}
    for k, place in first.items():
        beginning.setdefault(place, []).append(k)
    found: list[int] = []
    k = 0
    for place, (start, _) in enumerate(units):
        while k + 1 < len(words) and words[k + 1].start <= start:
            k += 1
        found.append(_uppermost(beginning.get(place, [k]), words))
    return found


def _uppermost(own: Sequence[int], words: Sequence[Word]) -> int:
    root = (k for k in own if words[k].head is None)
    others = (k for k in own if words[k].head not in own)
    return next(chain(root, others), own[0])


def _head(place: int, owner: int, first: dict[int, int], words: Sequence[Word]) -> int:
    if first.get(owner) != place:
        return first.get(owner, NONE)
    head = words[owner].head
    if head is None:
        return place
    found = first.get(head, NONE)
    return NONE if found == place else found
