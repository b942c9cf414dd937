"""Treebank sentences with other words in the same places of the tree."""

from __future__ import annotations

import random
from collections.abc import Iterable

import attrs

from queen_sdk.data.treebanks import Sentence
from queen_sdk.parsing.rule import Word, is_copula

_SWAPPED = 0.25
_OPEN = frozenset({"ADJ", "ADV", "NOUN", "NUM", "PROPN", "VERB"})
_CORE = frozenset({"ccomp", "csubj", "iobj", "nsubj", "obj", "obl", "xcomp"})

_Kind = tuple[str, str, bool, frozenset[str]]


class Swapper:
    """Words for words of the same kind, as the trees of one treebank have them.

    Of one kind are words with the same part of speech, relation and core dependents: the tree
    holds for the new sentence too, however odd it sounds.
    """

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        """Collect the words of a treebank by their kind."""
        self._words: dict[_Kind, list[str]] = {}
        for sentence in sentences:
            for word, kind in _kinds(sentence):
                if kind is not None:
                    self._words.setdefault(kind, []).append(word.text)

    def swap(self, sentence: Sentence, chance: random.Random) -> Sentence:
        """Return the sentence with about a quarter of its content words changed."""
        text, end = "", 0
        words: list[Word] = []
        for word, kind in _kinds(sentence):
            text += sentence.text[end : word.start]
            end = word.start + len(word.text)
            found = word.text
            if kind in self._words and chance.random() < _SWAPPED:
                found = chance.choice(self._words[kind])
            words.append(attrs.evolve(word, text=found, start=len(text)))
            text += found
        return Sentence(text + sentence.text[end:], tuple(words))


def _kinds(sentence: Sentence) -> list[tuple[Word, _Kind | None]]:
    below: list[set[str]] = [set() for _ in sentence.words]
    for word in sentence.words:
        family = word.label.split(":")[0]
        if word.head is not None and family in _CORE:
            below[word.head].add(family)
    return [
        (word, None)
        if word.pos not in _OPEN or is_copula(word)
        else (word, (word.pos, word.label, word.text.isascii(), frozenset(found)))
        for word, found in zip(sentence.words, below, strict=True)
    ]
