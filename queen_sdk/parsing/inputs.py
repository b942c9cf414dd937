"""What the embedded parsers see of an utterance: a few numbers per unit.

A unit is a token or, in Chinese, the longest word of a fixed vocabulary that begins there: fewer
units are fewer steps of the network. It is looked up in the vocabulary, whole and by its first
character, and hashed: a Chinese word whole and by its last character, a character with its
neighbours, other words with their first and last letters. Everything is in lower case, for chat has
little else; what the case was is a number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from queen_sdk.tokenization import token_spans

Ids = npt.NDArray[np.int64]
Span = tuple[int, int]
"""Offsets of the first character of a unit, and behind the last."""

FORMAT = 2
"""Raise it when the numbers of an utterance change. It is part of a parser's digest, so that one
that was trained on other numbers is refused."""
LONGEST = 128
"""Tokens that are looked at; of a longer utterance the first ones, where the root mostly is."""
HASHES = (4096, 8192, 4096)
"""Sizes of the hashed tables: the token, or the last character of a Chinese word; what follows or
ends the token, or the whole word; what goes before or begins it."""
SHAPES = 7
"""Lower case, capital first, capitals, other letters, digits, mark, Chinese."""
PLACES = 4
"""Units of one token, and of two, three and four characters."""
COLUMNS = 4 + len(HASHES)
"""Unit, its first token, hashes, shape, length."""
UNKNOWN = 0
"""Number of what is not in the vocabulary."""

_BEHIND, _BEFORE, _PLACE = 3, 4, 6
_FIRST_CODE, _LAST_CODE = COLUMNS, COLUMNS + 1
"""Behind the columns of a remembered row: what the neighbours see of the unit."""
_REMEMBERED_COLUMNS = COLUMNS + 2
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


class ParserInputs:
    """Text to units, and units to numbers, with one vocabulary."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the words in the order of their numbers; the first stands for the unknown ones."""
        self._numbers = {word: number for number, word in enumerate(vocabulary)}
        self._longest = _longest_by_beginning(vocabulary)
        self._known: dict[str, bytes] = {}

    def cut(self, text: str) -> list[Span]:
        """Return the units of a text: known Chinese words from left to right, longest first.

        Of a long text only the first `LONGEST` tokens are taken.
        """
        tokens = token_spans(text, LONGEST)
        if not self._longest:
            return tokens
        found: list[Span] = []
        k, count = 0, len(tokens)
        while k < count:
            start, end = tokens[k]
            length = self._longest.get(text[start : start + 2], 1)
            while length > 1:
                behind = start + length
                known = text[start:behind] in self._numbers and k + length <= count
                if known and tokens[k + length - 1][1] == behind:  # one token per character
                    end = behind
                    break
                length -= 1
            found.append((start, end))
            k += length
        return found

    def encode(self, units: Sequence[str]) -> Ids:
        """Return one row of `COLUMNS` numbers per unit."""
        known = self._known
        rows = b"".join([known.get(unit) or self._row(unit) for unit in units])
        numbers = np.frombuffer(bytearray(rows), np.int64).reshape(-1, _REMEMBERED_COLUMNS)
        wide = numbers[:, _FIRST_CODE] >= _FIRST_WIDE_CODE
        if wide.any():
            _add_neighbours(numbers, wide)
        return np.ascontiguousarray(numbers[:, :COLUMNS])

    def _row(self, text: str) -> bytes:
        """Return the numbers of a unit by itself, and what its neighbours see of it."""
        plain = text.translate(_PLAIN_MARKS)
        word = plain.lower()
        joined = text[:2] in self._longest and text in self._numbers
        first, last = (word[0], word[-1]) if joined else (word, word)
        numbers = (
            self._numbers.get(word, UNKNOWN),
            self._numbers.get(first, UNKNOWN),
            _hash(last) % HASHES[0],
            _hash(word if joined else word[-_AFFIX:] + "$") % HASHES[1],
            _hash("^" + word[:_AFFIX]) % HASHES[2],
            _shape(plain),
            len(word) - 1 if joined else 0,
            _code(plain[0]),
            _code(plain[-1] if joined else plain[0]),
        )
        row = np.array(numbers, dtype=np.int64).tobytes()
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        if len(text) <= _LONGEST_WORD:
            self._known[text] = row
        return row


def _add_neighbours(rows: Ids, wide: npt.NDArray[np.bool_]) -> None:
    """Describe Chinese characters by the pairs that they form with the ends of their neighbours.

    Words have such a pair only with what goes before them.
    """
    ends, beginnings = np.zeros((2, len(rows) + 1), dtype=np.int64)
    ends[1:], beginnings[:-1] = rows[:, _LAST_CODE], rows[:, _FIRST_CODE]
    pairs = (ends * _MIX + beginnings) * _MIX & _MASK  # whatever overflows is cut off
    pairs ^= pairs >> 15
    alone = wide & (rows[:, _PLACE] == 0)
    np.copyto(rows[:, _BEHIND], pairs[1:] % HASHES[1], where=alone)
    np.copyto(rows[:, _BEFORE], pairs[:-1] % HASHES[2], where=wide)


def _longest_by_beginning(vocabulary: Sequence[str]) -> dict[str, int]:
    """Return the length of the longest Chinese word for each two characters that begin one."""
    found: dict[str, int] = {}
    for word in vocabulary:
        if 1 < len(word) <= _LONGEST_CHINESE_WORD and word[0] >= _FIRST_WIDE:
            found[word[:2]] = max(found.get(word[:2], 0), len(word))
    return found


def _code(character: str) -> int:
    if character >= _FIRST_WIDE:
        return ord(character)
    return _LETTERS if character.isalpha() else _OTHERS


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
