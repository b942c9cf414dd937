"""What the embedded parsers see of an utterance: a few numbers per token.

A token is looked up in a fixed vocabulary, alone and, in Chinese, as part of the longest word that
is known there; it is hashed; and it is described by its neighbours (Chinese) or by its first and
last letters (other words). Everything is in lower case, for chat has little else; what the case
was is a number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from queen_sdk.values import Token

Ids = npt.NDArray[np.int64]

LONGEST = 128
"""Tokens that are looked at; of a longer utterance the first ones, where the root mostly is."""
HASHES = (4096, 8192, 4096)
"""Sizes of the hashed tables: the token, what follows or ends it, what goes before or begins it."""
SHAPES = 7
"""Lower case, capital first, capitals, other letters, digits, mark, Chinese."""
PLACES = 4
"""A word of one token; first, inner and last token of a longer one."""
COLUMNS = 4 + len(HASHES)
"""Word, token, hashes, shape, place."""
UNKNOWN = 0
"""Number of what is not in the vocabulary."""

_FIRST_WIDE = "\u2e80"
_PLAIN_MARKS = str.maketrans("，。？！：；（）", ",.?!:;()")
_AFFIX = 3
_REMEMBERED = 20_000
_LONGEST_WORD = 32
_LONGEST_CHINESE_WORD = 4


class ParserInputs:
    """Tokens to numbers, with one vocabulary."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the words in the order of their numbers; the first stands for the unknown ones."""
        self._numbers = {word: number for number, word in enumerate(vocabulary)}
        self._known: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def encode(self, tokens: Sequence[Token]) -> Ids:
        """Return one row of `COLUMNS` numbers per token."""
        texts = [token.text.translate(_PLAIN_MARKS) for token in tokens[:LONGEST]]
        around = ["", *map(_neighbour, texts), ""]
        rows = [self._row(text, around[k], around[k + 2]) for k, text in enumerate(texts)]
        words = [row[0] for row in rows]
        places = [0] * len(rows)
        for start, end, number in self._chinese_words(texts):
            words[start:end] = [number] * (end - start)
            places[start:end] = [1, *[2] * (end - start - 2), 3]
        found = [(w, *row, p) for w, row, p in zip(words, rows, places, strict=True)]
        return np.array(found, dtype=np.int64).reshape(len(found), COLUMNS)

    def _chinese_words(self, texts: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return begin, end and number of the known words, from left to right, longest first."""
        found: list[tuple[int, int, int]] = []
        k = 0
        while k < len(texts):
            if texts[k][0] >= _FIRST_WIDE:
                for end in range(min(k + _LONGEST_CHINESE_WORD, len(texts)), k + 1, -1):
                    number = self._numbers.get("".join(texts[k:end]))
                    if number is not None:
                        found.append((k, end, number))
                        k = end - 1
                        break
            k += 1
        return found

    def _row(self, text: str, before: str, behind: str) -> tuple[int, ...]:
        wide = text[0] >= _FIRST_WIDE
        key = (text, before, behind) if wide else (text, "", "")
        row = self._known.get(key)
        if row is None:
            row = self._numbered(text, before, behind) if wide else self._numbered(text, None, None)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            if len(text) <= _LONGEST_WORD:
                self._known[key] = row
        return row

    def _numbered(self, text: str, before: str | None, behind: str | None) -> tuple[int, ...]:
        word = text.lower()
        ending = word[-_AFFIX:] + "$" if behind is None else word + behind
        beginning = "^" + word[:_AFFIX] if before is None else before + word
        parts = zip((word, ending, beginning), HASHES, strict=True)
        hashes = (_hash(part) % size for part, size in parts)
        return (self._numbers.get(word, UNKNOWN), *hashes, _shape(text))


def _neighbour(text: str) -> str:
    return text if text[0] >= _FIRST_WIDE else "a" if text[0].isalpha() else "0"


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))


def _shape(text: str) -> int:
    first = text[0]
    if first >= _FIRST_WIDE:
        return 6 if first.isalpha() else 5
    if first.isdigit():
        return 4
    if not first.isalpha():
        return 5
    if text.islower():
        return 0
    if text.isupper() and len(text) > 1:
        return 2
    return 1 if first.isupper() else 3
