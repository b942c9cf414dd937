"""What the embedded parsers see of an utterance: a few numbers per token.

A token is looked up in a fixed vocabulary, alone and, in Chinese, as part of the longest word that
is known there; it is hashed; and it is described by its neighbours (Chinese) or by its first and
last letters (other words). Everything is in lower case, for chat has little else; what the case
was is a number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
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

_WORD, _TOKEN, _ALONE, _BEHIND, _BEFORE, _SHAPE, _PLACE = range(COLUMNS)
_MIX = 0x9E3779B1
_MASK = 0x7FFFFFFF
_FIRST_WIDE = "\u2e80"
_FIRST_WIDE_CODE = ord(_FIRST_WIDE)
_LETTERS, _OTHERS = 1, 2
"""What stands for the code of a neighbour that is not Chinese."""
_PLAIN_MARKS = str.maketrans("，。？！：；（）", ",.?!:;()")
_AFFIX = 3
_REMEMBERED = 20_000
_LONGEST_WORD = 32
_LONGEST_CHINESE_WORD = 4
_PLACES_BY_LENGTH = [[1, *[2] * (length - 2), 3] for length in range(_LONGEST_CHINESE_WORD + 1)]


class ParserInputs:
    """Tokens to numbers, with one vocabulary."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the words in the order of their numbers; the first stands for the unknown ones."""
        self._numbers = {word: number for number, word in enumerate(vocabulary)}
        self._longest = _longest_by_beginning(vocabulary)
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, tokens: Sequence[Token]) -> Ids:
        """Return one row of `COLUMNS` numbers per token."""
        texts = [token.text for token in tokens[:LONGEST]]
        rows = [self._known.get(text) or self._row(text) for text in texts]
        found = np.fromiter(chain.from_iterable(rows), np.int64, len(rows) * COLUMNS)
        found = found.reshape(len(rows), COLUMNS)
        codes = found[:, _PLACE].copy()
        found[:, _PLACE] = 0
        if (codes >= _FIRST_WIDE_CODE).any():
            _add_neighbours(found, codes)
            numbers, places = [row[_WORD] for row in rows], [0] * len(rows)
            for start, end, number in self._chinese_words(texts):
                numbers[start:end] = [number] * (end - start)
                places[start:end] = _PLACES_BY_LENGTH[end - start]
            found[:, _WORD], found[:, _PLACE] = numbers, places
        return found

    def _chinese_words(self, texts: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return begin, end and number of the known words, from left to right, longest first."""
        found: list[tuple[int, int, int]] = []
        k, count = 0, len(texts)
        while k + 1 < count:
            longest = self._longest.get(texts[k] + texts[k + 1], 0)
            for end in range(min(k + longest, count), k + 1, -1):
                number = self._numbers.get("".join(texts[k:end]))
                if number is not None:
                    found.append((k, end, number))
                    k = end - 1
                    break
            k += 1
        return found

    def _row(self, text: str) -> tuple[int, ...]:
        """Return the numbers of a token by itself; at its place, the code that neighbours see."""
        plain = text.translate(_PLAIN_MARKS)
        word = plain.lower()
        number, wide = self._numbers.get(word, UNKNOWN), plain[0] >= _FIRST_WIDE
        row = (
            number,
            number,
            _hash(word) % HASHES[0],
            0 if wide else _hash(word[-_AFFIX:] + "$") % HASHES[1],
            0 if wide else _hash("^" + word[:_AFFIX]) % HASHES[2],
            _shape(plain),
            ord(plain[0]) if wide else _LETTERS if plain[0].isalpha() else _OTHERS,
        )
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        if len(text) <= _LONGEST_WORD:
            self._known[text] = row
        return row


def _add_neighbours(rows: Ids, codes: Ids) -> None:
    """Describe Chinese characters by the pairs that they form with what stands around them."""
    around = np.zeros(len(codes) + 2, dtype=np.int64)
    around[1:-1] = codes
    pairs = (around[:-1] * _MIX + around[1:]) * _MIX & _MASK  # whatever overflows is cut off
    pairs ^= pairs >> 15
    wide = codes >= _FIRST_WIDE_CODE
    rows[wide, _BEHIND] = pairs[1:][wide] % HASHES[1]
    rows[wide, _BEFORE] = pairs[:-1][wide] % HASHES[2]


def _longest_by_beginning(vocabulary: Sequence[str]) -> dict[str, int]:
    """Return the length of the longest Chinese word for each two characters that begin one."""
    found: dict[str, int] = {}
    for word in vocabulary:
        if 1 < len(word) <= _LONGEST_CHINESE_WORD and word[0] >= _FIRST_WIDE:
            found[word[:2]] = max(found.get(word[:2], 0), len(word))
    return found


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
