"""Sentences with their trees as examples for a parser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import attrs
import numpy as np

from queen_sdk.data.treebanks import Sentence
from queen_sdk.parsing.inputs import LONGEST, Ids
from queen_sdk.parsing.rule import Word, roles_of
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Token

COMBINATIONS = 8
"""Ways to have or lack subject, verb and object."""
NONE = -1
"""In place of a token, where a role is missing or the head was cut off."""


@attrs.frozen(eq=False)
class ParserExample:
    """One utterance, and what the network is to find in it."""

    inputs: Ids
    labels: Ids
    """Per token: the number of its relation, which also says whether it begins a word."""
    heads: Ids
    """Per token: the first token of the word that it hangs on; its own place for the root."""
    roles: tuple[int, int, int]
    """First tokens of subject, verb and object, or `NONE`."""

    believed: tuple[float, ...] | None = None
    """How a teacher divides belief between the eight combinations; None if a tree decides."""

    @property
    def root(self) -> int:
        """The first token of the root, or `NONE`."""
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
    """Anything that makes numbers of tokens, such as `ParserInputs`."""

    def encode(self, tokens: Sequence[Token]) -> Ids:
        """Return one row of numbers per token, for `LONGEST` of them at most."""
        ...


class ExampleMaker:
    """Sentences to examples, under one set of relations."""

    def __init__(self, inputs: Numbering, labels: Sequence[str]) -> None:
        """Take what numbers the tokens, and the relations in the order of their numbers."""
        self._inputs = inputs
        self._labels = {label: number for number, label in enumerate(labels)}

    def make(self, sentence: Sentence) -> ParserExample | None:
        """Return the example; None without a token, or if the cut left no root."""
        tokens = tokenize(sentence.text)[:LONGEST]
        owners = _owners([token.start for token in tokens], sentence.words)
        first: dict[int, int] = {}
        for place, owner in enumerate(owners):
            first.setdefault(owner, place)
        root = next((k for k, word in enumerate(sentence.words) if word.head is None), None)
        if root not in first:
            return None
        heads = [_head(place, owner, first, sentence.words) for place, owner in enumerate(owners)]
        labels = [
            self._label(sentence.words[owner], first[owner] == place)
            for place, owner in enumerate(owners)
        ]
        roles = roles_of(sentence.words)
        subject, verb, found = (NONE if k is None else first.get(k, NONE) for k in roles)
        return ParserExample(
            self._inputs.encode(tokens),
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


def _owners(starts: Sequence[int], words: Sequence[Word]) -> list[int]:
    """Return for each token start the word that stands there."""
    found: list[int] = []
    k = 0
    for start in starts:
        while k + 1 < len(words) and words[k + 1].start <= start:
            k += 1
        found.append(k)
    return found


def _head(place: int, owner: int, first: dict[int, int], words: Sequence[Word]) -> int:
    if first[owner] != place:
        return first[owner]
    head = words[owner].head
    return place if head is None else first.get(head, NONE)
