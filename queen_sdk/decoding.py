"""Scores to edits on tokens: whole spans, one per turn, and nothing copied twice.

A pure function of the score rectangle, so that it can be replaced: anything with the signature of
`decode` can be given to `Rewriter(decoder=…)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from queen_sdk.rows import Row
from queen_sdk.tokenization import is_mark
from queen_sdk.values import EditKind, Token

Scores = npt.NDArray[np.float32]
"""Planes × rows × utterance tokens and END: plane 0 substitutes, 1 inserts before; 2 and 3, which a
model need not have, say where what is copied begins and ends."""

_HIGHEST = 1e30
"""No score comes near, and sums of it stay finite."""
_LITTLE = 1e-6
_CLOSE = 2.0
"""A cell that stays below the threshold by less nearly beats it."""
_USUAL_ROWS, _MANY_ROWS = 32, 64
"""Histories of more words raise the thresholds, if the settings say so; from the second number on
they rise no further, since long conversations have their follow-ups too."""
_OPERATIONS: tuple[EditKind, EditKind] = ("substitute", "insert")


@attrs.frozen
class DecodingSettings:
    """The thresholds of a model; part of its manifest."""

    substitute_threshold: float = 0.0
    """A cell speaks for substitution above this score."""
    insert_threshold: float = 0.0
    """A cell speaks for insertion above this score."""
    span_slack: float = 0.25
    """A span may reach over cells that stay below the threshold by less than this."""
    span_share: float = 0.0
    """By this share of what the best cell of a span is above the threshold, more is asked of the
    others."""
    further_piece: float = 3.0
    """A second piece of the history at one place must beat the threshold by this on average."""

    ends_share: float = 0.0
    """How much it counts where the model sees the ends of a span, beside the scores inside it."""
    history_rise: float = 0.0
    """By how much both thresholds are higher where the history has 64 words or more, function words
    among them, than where it has 32 or fewer: the more there is to copy, the likelier one word
    scores high by chance."""

    def at(self, threshold: float | None) -> DecodingSettings:
        """Return these settings with one threshold for both operations, if one is given.

        That one holds for histories of every length.
        """
        if threshold is None:
            return self
        return attrs.evolve(
            self, substitute_threshold=threshold, insert_threshold=threshold, history_rise=0.0
        )

    def thresholds(self, rows: int) -> tuple[float, float]:
        """Return the thresholds of both operations for a history of so many words."""
        counted = min(max(rows, _USUAL_ROWS), _MANY_ROWS)
        rise = self.history_rise * math.log2(counted / _USUAL_ROWS)
        return self.substitute_threshold + rise, self.insert_threshold + rise


@attrs.frozen
class Piece:
    """A span of rows that is copied."""

    first: int
    """First row."""
    last: int
    """Last row, inclusive."""
    weight: float
    """Sum of scores above the threshold, or the highest of them if that is more."""


@attrs.frozen
class TokenEdit:
    """An edit in token and row indices."""

    kind: EditKind
    start: int
    """First replaced token, or the one that is inserted before."""
    end: int
    """Behind the last replaced token; equal to `start` for an insertion."""
    pieces: tuple[Piece, ...]
    """What is copied, in row order."""
    score: float
    """Mean score of the copied cells."""

    @property
    def weight(self) -> float:
        """How strongly the scores speak for it."""
        return sum(piece.weight for piece in self.pieces)


@attrs.frozen
class Decoding:
    """The edits of one utterance, and how clear the scores were."""

    edits: tuple[TokenEdit, ...]
    """From left to right."""
    inside: float
    """Lowest score above the threshold among the copied cells; infinite without edits."""
    outside: float
    """Highest score above the threshold (usually negative) among all other cells."""
    close: int = 0
    """Cells that beat the threshold or nearly do."""
    rows: int = 0
    """Words of the history that could have been copied."""
    words: int = 0
    """Words of the utterance."""


Decoder: TypeAlias = Callable[
    [Scores, Sequence[Row], Sequence[Token], DecodingSettings, frozenset[int]], Decoding
]


def decode(
    scores: Scores,
    rows: Sequence[Row],
    utterance: Sequence[Token],
    settings: DecodingSettings,
    protected: frozenset[int] = frozenset(),
) -> Decoding:
    """Choose the edits of one utterance.

    `protected` are utterance tokens that must not be replaced; the place between two of them takes
    no insertion. -1 and the number of tokens stand for what is before the first, behind the last.
    """
    limited = np.clip(settings.thresholds(len(rows)), -_HIGHEST, _HIGHEST).astype(np.float32)
    margins = scores[:2] - limited[:, None, None]
    margins[0, :, len(utterance) :] = -np.inf
    for column in protected - {-1}:
        margins[0, :, column] = -np.inf
        if column - 1 in protected:
            margins[1, :, column] = -np.inf
    words = [row.token.text.casefold() for row in rows]
    size = int(np.count_nonzero(margins > -_CLOSE)), len(rows), len(utterance)
    if not (margins > 0).any():
        return Decoding((), np.inf, float(margins.max(initial=-np.inf)), *size)
    pieces = _Pieces(rows, words, settings, _ends(scores, settings.ends_share))
    found = [*_substitutions(margins[0], pieces), *_insertions(margins[1], pieces)]
    edits = [
        TokenEdit(kind, start, end, copied, _mean_score(scores, kind, start, end, copied))
        for kind, start, end, copied in found
        if copied
    ]
    kept = _consistent([e for e in edits if not _changes_nothing(e, words, utterance)], words)
    return Decoding(tuple(kept), *_clearness(margins, kept, words), *size)


def _ends(scores: Scores, share: float) -> Scores:
    """Return what it costs to begin and to end at each row: nothing, if the model does not say."""
    planes = scores[2:4]
    if not share or not planes.size:
        return np.zeros((2, *scores.shape[1:]), dtype=np.float32)
    above = planes - planes.max(axis=1, keepdims=True)
    costs: Scores = share * (above - np.log(np.exp(above).sum(axis=1, keepdims=True)))
    return costs


_Found = tuple[EditKind, int, int, tuple[Piece, ...]]


def _insertions(margins: Scores, pieces: _Pieces) -> Iterator[_Found]:
    for column in _speaking(margins):
        yield "insert", column, column, pieces.best(margins, column, column + 1)


def _substitutions(margins: Scores, pieces: _Pieces) -> Iterator[_Found]:
    """Yield substitutions; neighbouring tokens that copy the same rows are replaced as one."""
    group: list[int] = []
    copied: set[int] = set()
    for column in [*_speaking(margins), -1]:
        found = pieces.best(margins, column, column + 1) if column >= 0 else ()
        touched = {row for piece in found for row in range(piece.first, piece.last + 1)}
        if group and not (column == group[-1] + 1 and touched & copied):
            joint = pieces.best(margins, group[0], group[-1] + 1)
            if joint:
                yield "substitute", group[0], group[-1] + 1, joint
            else:  # they have only a weak row in common: each stands for itself
                for alone in group:
                    yield "substitute", alone, alone + 1, pieces.best(margins, alone, alone + 1)
            group, copied = [], set()
        group.append(column)
        copied |= touched


def _speaking(margins: Scores) -> list[int]:
    return [int(column) for column in np.flatnonzero((margins > 0).any(axis=0))]


class _Pieces:
    """Chooses what is copied to one place."""

    def __init__(
        self, rows: Sequence[Row], words: Sequence[str], settings: DecodingSettings, ends: Scores
    ) -> None:
        self._rows, self._words = rows, words
        self._marks = np.fromiter((is_mark(word) for word in words), dtype=bool, count=len(words))
        self._ends = ends
        self._slack, self._share = settings.span_slack, settings.span_share
        self._further = settings.further_piece

    def best(self, margins: Scores, column: int, behind: int) -> tuple[Piece, ...]:
        """Return the best span of each segment that speaks for those columns, in row order.

        None of them repeats another.
        """
        joint = margins[:, column:behind].mean(axis=1)
        ends = self._ends[:, :, column:behind].mean(axis=2)
        candidates: dict[int, Piece] = {}
        for row in np.flatnonzero((joint > 0) & ~self._marks).tolist():
            segment = self._rows[row].segment
            if segment not in candidates:
                first, last = self._segment(row)
                within = slice(first, last + 1)
                candidates[segment] = self._best_span(joint[within], ends[:, within], first)
        kept: list[Piece] = []
        for piece in sorted(candidates.values(), key=lambda p: -p.weight):
            if not self._repeats(piece, kept) and not self._weak(piece, kept):
                kept.append(piece)
        return tuple(sorted(kept, key=lambda p: p.first))

    def _segment(self, row: int) -> tuple[int, int]:
        segment, first, last = self._rows[row].segment, row, row
        while first > 0 and self._rows[first - 1].segment == segment:
            first -= 1
        while last + 1 < len(self._rows) and self._rows[last + 1].segment == segment:
            last += 1
        return first, last

    def _best_span(self, segment: Scores, ends: Scores, first: int) -> Piece:
        """Return the best span of a segment: cells are measured by the threshold and its peak."""
        marks = self._marks[first : first + len(segment)]
        peak = float(segment[~marks].max())
        # A mark may stand inside a piece, but neither speaks for one nor begins or ends it.
        ends = np.where(marks, -_HIGHEST, ends)
        for slack in (self._slack - self._share * peak, 0.0):
            raised = np.where(marks, np.minimum(segment + slack, -_LITTLE), segment + slack)
            start, end = _largest_sum(raised, ends)
            span = segment[start : end + 1][~marks[start : end + 1]]
            if span.max(initial=-np.inf) > 0:  # else near misses outweigh the cell that speaks
                break
        weight = max(float(span.sum()), float(span.max()))
        return Piece(first + start, first + end, weight)

    def _repeats(self, piece: Piece, kept: Sequence[Piece]) -> bool:
        """Tell whether a stronger piece says the same, or more, or a part of it."""
        text = _text(piece, self._words)
        others = [_text(other, self._words) for other in kept]
        return any(_within(text, other) or _within(other, text) for other in others)

    def _weak(self, piece: Piece, kept: Sequence[Piece]) -> bool:
        """Tell whether a further piece of the history speaks too low to stand beside the first."""
        if self._rows[piece.first].turn is None:
            return False
        further = any(self._rows[other.first].turn is not None for other in kept)
        return further and piece.weight < self._further * (piece.last - piece.first + 1)


def _largest_sum(values: Scores, ends: Scores) -> tuple[int, int]:
    """Return first and last index of the contiguous span of largest sum, its two ends included."""
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    before = sums[:-1] - ends[0]
    last = int(np.argmax(sums[1:] + ends[1] - np.minimum.accumulate(before)))
    return int(np.argmin(before[: last + 1])), last


def _text(piece: Piece, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[piece.first : piece.last + 1])


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    return any(whole[k : k + size] == part for k in range(len(whole) - size + 1))


def _mean_score(
    scores: Scores, kind: EditKind, start: int, end: int, pieces: Sequence[Piece]
) -> float:
    operation = _OPERATIONS.index(kind)
    columns = slice(start, max(end, start + 1))
    cells = [scores[operation, p.first : p.last + 1, columns].ravel() for p in pieces]
    return float(np.concatenate(cells).mean())


def _changes_nothing(edit: TokenEdit, words: Sequence[str], utterance: Sequence[Token]) -> bool:
    copied = [word for piece in edit.pieces for word in _text(piece, words)]
    return copied == [token.text.casefold() for token in utterance[edit.start : edit.end]]


def _consistent(edits: Sequence[TokenEdit], words: Sequence[str]) -> list[TokenEdit]:
    """Keep the strongest edits that neither overlap nor copy what another one copies."""
    kept: list[TokenEdit] = []
    for edit in sorted(edits, key=lambda e: -e.weight):
        if not any(_collide(edit, other, words) for other in kept):
            kept.append(edit)
    return sorted(kept, key=lambda e: (e.start, e.end))


def _collide(a: TokenEdit, b: TokenEdit, words: Sequence[str]) -> bool:
    if a.start < b.end and b.start < a.end:
        return True
    if a.start == b.start and a.kind == b.kind:
        return True
    first = [word for piece in a.pieces for word in _text(piece, words)]
    second = [word for piece in b.pieces for word in _text(piece, words)]
    return _within(first, second) or _within(second, first)


def _clearness(
    margins: Scores, edits: Sequence[TokenEdit], words: Sequence[str]
) -> tuple[float, float]:
    inside = np.inf
    rest = margins.copy()
    for edit in edits:
        operation = _OPERATIONS.index(edit.kind)
        columns = slice(edit.start, max(edit.end, edit.start + 1))
        copied = {word for piece in edit.pieces for word in _text(piece, words)}
        for piece in edit.pieces:
            cells = margins[operation, piece.first : piece.last + 1, columns]
            inside = min(inside, float(cells.min()))
        same = [k for k, word in enumerate(words) if word in copied]
        rest[operation, same, columns] = -np.inf
    return inside, float(rest.max(initial=-np.inf))
