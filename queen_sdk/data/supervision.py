"""Gold edits: which rows must be copied where, so that the utterance becomes its reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import attrs

from queen_sdk.data.alignment import Difference, alignments, slides
from queen_sdk.rows import Row
from queen_sdk.values import EditKind, Token


@attrs.frozen
class GoldEdit:
    """One edit in token indices."""

    kind: EditKind
    start: int
    """First utterance token that is replaced, or the one that is inserted before."""
    end: int
    """Behind the last replaced token; equal to `start` for an insertion."""
    pieces: tuple[tuple[int, int], ...]
    """Copied row spans (first row, behind the last row), in row order."""


@attrs.frozen
class Supervision:
    """What an example teaches."""

    edits: tuple[GoldEdit, ...]
    missing: tuple[tuple[str, str], ...]
    """Reference words found nowhere, each with its place in the span: `before` or `after`."""

    @property
    def exact(self) -> bool:
        """Whether the edits rebuild the reference token for token."""
        return not self.missing


_DELETION = ("", "deletion")


def supervise(
    utterance: Sequence[Token], reference: Sequence[Token], rows: Sequence[Row]
) -> Supervision:
    """Align and cover; of several alignments, the one that leaves least out, then fewest pieces."""
    words = [token.text.casefold() for token in utterance]
    target = [token.text.casefold() for token in reference]
    if words == target:
        return Supervision((), ())
    cover = _Cover(rows)
    candidates = (_covered(d, words, target, cover) for d in alignments(words, target))
    best = min(candidates, key=_cost)
    edits = tuple(edit for edit, _ in best if edit is not None)
    return Supervision(edits, tuple(word for _, missing in best for word in missing))


_Covered = tuple[GoldEdit | None, tuple[tuple[str, str], ...]]


def _cost(covered: Sequence[_Covered]) -> tuple[int, int, int]:
    missing = sum(len(words) for _, words in covered)
    edits = [edit for edit, _ in covered if edit is not None]
    return missing, sum(len(edit.pieces) for edit in edits), sum(e.end - e.start for e in edits)


def _covered(
    differences: Sequence[Difference], words: Sequence[str], target: Sequence[str], cover: _Cover
) -> list[_Covered]:
    """Choose, from left to right, the best way to say each difference."""
    found: list[_Covered] = []
    last: Difference | None = None
    for difference, following in zip_longest(differences, differences[1:]):
        options = [
            (option, _edit(option, target, cover))
            for option in _widened(difference, words, target)
            if _apart(last, option) and _apart(option, following)
        ]
        last, best = min(options, key=lambda option: _cost([option[1]]))
        found.append(best)
    return found


def _apart(left: Difference | None, right: Difference | None) -> bool:
    """Tell whether two differences share no token, nor the place of two insertions."""
    if left is None or right is None:
        return True
    if left.end > right.start or left.ref_end > right.ref_start:
        return False
    return not left.start == left.end == right.start == right.end


def _widened(
    difference: Difference, words: Sequence[str], target: Sequence[str]
) -> list[Difference]:
    """Return ways to say the difference; a deletion takes a neighbour along, to be copied again."""
    if difference.ref_start != difference.ref_end:
        return list(slides(difference, target))
    start, end, ref_start, ref_end = attrs.astuple(difference)
    options = [difference]
    if start > 0 and ref_start > 0:
        options.append(Difference(start - 1, end, ref_start - 1, ref_end))
    if end < len(words) and ref_end < len(target):
        options.append(Difference(start, end + 1, ref_start, ref_end + 1))
    return options


def _edit(difference: Difference, target: Sequence[str], cover: _Cover) -> _Covered:
    start, end, ref_start, ref_end = attrs.astuple(difference)
    span = target[ref_start:ref_end]
    if not span:
        return None, (_DELETION,)
    pieces = cover.pieces(span)
    missing: list[tuple[str, str]] = []
    if pieces is None:
        known = [word in cover for word in span]
        missing = [
            (word, "before" if any(known[k:]) or not any(known) else "after")
            for k, word in enumerate(span)
            if not known[k]
        ]
        pieces = cover.pieces([word for word in span if word in cover])
    if not missing and pieces is None:
        missing = [("", "order")]
    if not pieces:
        return None, tuple(missing) or (("", "order"),)
    kind: EditKind = "insert" if start == end else "substitute"
    return GoldEdit(kind, start, end, pieces), tuple(missing)


class _Cover:
    """Finds row spans that spell a given span of words."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._words = [row.token.text.casefold() for row in rows]
        self._places: dict[str, list[int]] = {}
        for index, word in enumerate(self._words):
            self._places.setdefault(word, []).append(index)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def pieces(self, span: Sequence[str]) -> tuple[tuple[int, int], ...] | None:
        """Return the fewest pieces in row order, the latest ones of equals; None if impossible."""
        if not span:
            return ()
        # best[k] holds, for span[k:], ways as (pieces, -first row, spans): more pieces only if
        # they start later, because what comes before must stand in front of them.
        best: list[list[tuple[int, int, tuple[tuple[int, int], ...]]]] = [[] for _ in span]
        best.append([(0, -len(self._words), ())])
        for k in range(len(span) - 1, -1, -1):
            ways = [
                (count + 1, -row, ((row, row + size), *rest))
                for row in self._places.get(span[k], ())
                for size in range(1, self._run(row, span, k) + 1)
                for count, first, rest in best[k + size]
                if row + size <= -first
            ]
            best[k] = _pareto(ways)
        return best[0][0][2] if best[0] else None

    def _run(self, row: int, span: Sequence[str], k: int) -> int:
        size = 0
        while (
            k + size < len(span)
            and row + size < len(self._words)
            and self._words[row + size] == span[k + size]
            and self._rows[row + size].segment == self._rows[row].segment
        ):
            size += 1
        return size


def _pareto(
    ways: list[tuple[int, int, tuple[tuple[int, int], ...]]],
) -> list[tuple[int, int, tuple[tuple[int, int], ...]]]:
    kept: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
    for way in sorted(ways, key=lambda w: (w[0], w[1])):
        if not kept or way[1] < kept[-1][1]:
            kept.append(way)
    return kept
