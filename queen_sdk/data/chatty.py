"""Treebank sentences as people type: with parts left out, fragments, lower case, no marks."""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

from queen_sdk.data.treebanks import Sentence
from queen_sdk.parsing.rule import Word

_FRAGMENTS = 0.15
_SHORTENED = 0.3
_LEFT_OUT = 0.3
_LOWERED = 0.5
_UNMARKED = 0.35
_LONGEST_FRAGMENT = 14
_CLAUSES = ("acl", "advcl", "ccomp", "conj", "csubj", "parataxis", "xcomp")
_OTHER_FRAGMENTS = 0.3
_LEAVABLE = frozenset(
    "acl advcl advmod appos ccomp conj csubj discourse dislocated iobj nmod nsubj obj obl "
    "parataxis vocative xcomp".split()
)
"""Families of relations to the root that can be missing without breaking the sentence."""


def chatty(sentence: Sentence, chance: random.Random) -> Sentence:
    """Return the sentence, or something of it, as it might be typed in a chat."""
    if chance.random() < _FRAGMENTS:
        sentence = _fragment(sentence, chance) or sentence
    if chance.random() < _SHORTENED:
        sentence = _shortened(sentence, chance) or sentence
    if chance.random() < _UNMARKED:
        sentence = without_marks(sentence)
    if chance.random() < _LOWERED:
        sentence = lowered(sentence)
    return sentence


def lowered(sentence: Sentence) -> Sentence:
    """Return the sentence in lower case; a letter that would grow keeps its case."""
    return _with_texts(sentence, [_lower(word.text) for word in sentence.words])


def without_marks(sentence: Sentence) -> Sentence:
    """Return the sentence without punctuation; as it is if nothing would be left of its root."""
    kept = [k for k, word in enumerate(sentence.words) if word.pos != "PUNCT"]
    return _part(sentence, kept) or sentence


def _fragment(sentence: Sentence, chance: random.Random) -> Sentence | None:
    """Return a clause or phrase of the sentence, chosen by chance."""
    words = sentence.words
    roots = [
        k
        for k, word in enumerate(words)
        if word.label.split(":")[0] in _CLAUSES
        or (word.pos != "PUNCT" and chance.random() < _OTHER_FRAGMENTS)
    ]
    if not roots:
        return None
    root = chance.choice(roots)
    kept = [k for k in range(len(words)) if _below(k, root, words)]
    if len(kept) > _LONGEST_FRAGMENT or kept[-1] - kept[0] + 1 != len(kept):
        return None
    return _part(sentence, kept)


def _shortened(sentence: Sentence, chance: random.Random) -> Sentence | None:
    """Return the sentence without some of the parts of its root clause, the subject too."""
    words = sentence.words
    root = next(k for k, word in enumerate(words) if word.head is None)
    left_out = [
        k
        for k, word in enumerate(words)
        if word.head == root
        and word.label.split(":")[0] in _LEAVABLE
        and chance.random() < _LEFT_OUT
    ]
    kept = [k for k in range(len(words)) if not any(_below(k, part, words) for part in left_out)]
    return _part(sentence, kept)


def _below(k: int | None, root: int, words: Sequence[Word]) -> bool:
    for _ in words:
        if k is None or k == root:
            break
        k = words[k].head
    return k == root


def _part(sentence: Sentence, kept: Sequence[int]) -> Sentence | None:
    """Return the sentence of some of its words; None if they do not hang on one another."""
    places = {old: new for new, old in enumerate(kept)}
    words: list[Word] = []
    text = ""
    for old in kept:
        word = sentence.words[old]
        head = None if word.head is None else places.get(word.head)
        before = sentence.words[old - 1] if old else None
        if text and (before is None or before.start + len(before.text) < word.start):
            text += " "
        label = "root" if head is None else word.label
        words.append(attrs.evolve(word, head=head, label=label, start=len(text)))
        text += word.text
    whole = sum(word.head is None for word in words) == 1
    return Sentence(text, tuple(words)) if whole else None


def _with_texts(sentence: Sentence, texts: Sequence[str]) -> Sentence:
    words = [attrs.evolve(w, text=t) for w, t in zip(sentence.words, texts, strict=True)]
    text = list(sentence.text)
    for word in words:
        text[word.start : word.start + len(word.text)] = word.text
    return Sentence("".join(text), tuple(words))


def _lower(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else text
