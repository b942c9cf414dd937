"""Where an utterance and its reference differ, as replaced and inserted spans of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

import attrs


@attrs.frozen
class Difference:
    """`utterance[start:end]` stands where the reference has `reference[ref_start:ref_end]`."""

    start: int
    end: int
    ref_start: int
    ref_end: int


def alignments(utterance: Sequence[str], reference: Sequence[str]) -> Iterator[list[Difference]]:
    """Yield plausible alignments: longest common subsequence from both ends, then block matching.

    A reference rarely has one alignment only; the caller picks the one that it can rebuild best.
    """
    yield _differences(_common_subsequence(utterance, reference), len(utterance), len(reference))
    mirrored = _common_subsequence(utterance[::-1], reference[::-1])
    pairs = [(len(utterance) - 1 - i, len(reference) - 1 - j) for i, j in reversed(mirrored)]
    yield _differences(pairs, len(utterance), len(reference))
    matcher = SequenceMatcher(None, utterance, reference, autojunk=False)
    pairs = [
        (block.a + k, block.b + k)
        for block in matcher.get_matching_blocks()
        for k in range(block.size)
    ]
    yield _differences(pairs, len(utterance), len(reference))


def slides(difference: Difference, reference: Sequence[str]) -> Iterator[Difference]:
    """Yield an insertion and its equivalents: `a [b a] c` inserts the same as `[a b] a c`."""
    yield difference
    if difference.start != difference.end:
        return
    moved = difference
    while (
        moved.ref_start > 0
        and moved.start > 0
        and (reference[moved.ref_start - 1] == reference[moved.ref_end - 1])
    ):
        moved = Difference(moved.start - 1, moved.end - 1, moved.ref_start - 1, moved.ref_end - 1)
        yield moved
    moved = difference
    while moved.ref_end < len(reference) and reference[moved.ref_end] == reference[moved.ref_start]:
        moved = Difference(moved.start + 1, moved.end + 1, moved.ref_start + 1, moved.ref_end + 1)
        yield moved


def _common_subsequence(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            if a[i] == b[j]:
                table[i][j] = table[i + 1][j + 1] + 1
            else:
                table[i][j] = max(table[i + 1][j], table[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j] and table[i][j] == table[i + 1][j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _differences(
    pairs: Sequence[tuple[int, int]], utterance_length: int, reference_length: int
) -> list[Difference]:
    found: list[Difference] = []
    i = j = 0
    for next_i, next_j in [*pairs, (utterance_length, reference_length)]:
        if (i, j) != (next_i, next_j):
            found.append(Difference(i, next_i, j, next_j))
        i, j = next_i + 1, next_j + 1
    return found
