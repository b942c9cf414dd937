"""What many tests do by hand: small rows, edits and scores, undoing an edit, taking the time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from queen_sdk.decoding import Piece, TokenEdit
from queen_sdk.features import EncodedBatch
from queen_sdk.rows import ExtraWords, Row, build_rows
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Edit, EditKind

EXTRA_WORDS = ExtraWords(("of", "about"), ("'s",))

HISTORY = [
    "Smith needs to find an expensive restaurant nearby.",
    "Does Smith care about the type of cuisine?",
]
UTTERANCE = "No, he does not care."
REWRITTEN = "No, Smith does not care."
"""What the tiny bundle makes of it."""

Cell = tuple[EditKind, str | int, int]
"""Operation, row (by its text or index), column."""


def rows_of(*history: str, extra_words: ExtraWords = EXTRA_WORDS) -> tuple[Row, ...]:
    """Return the rows of a history."""
    return build_rows(((k, tokenize(text)) for k, text in enumerate(history)), extra_words)


def row_span(rows: Sequence[Row], words: str) -> tuple[int, int]:
    """Return the first rows, first and last, that spell `words`, tokens parted by single spaces."""
    texts = [row.token.text for row in rows]
    wanted = words.split(" ")
    for first in range(len(texts) - len(wanted) + 1):
        if texts[first : first + len(wanted)] == wanted:
            return first, first + len(wanted) - 1
    raise ValueError(f"{words!r} is not among {texts}")


def token_edit(
    rows: Sequence[Row], kind: EditKind, start: int, end: int, *pieces: str, score: float = 1.0
) -> TokenEdit:
    """Return an edit that copies the first occurrence of each piece."""
    spans = (row_span(rows, words) for words in pieces)
    return TokenEdit(kind, start, end, tuple(Piece(*span, 1.0) for span in spans), score)


def scores_of(
    rows: Sequence[Row],
    columns: int,
    cells: Mapping[Cell, float],
    *,
    rest: float = -5.0,
) -> npt.NDArray[np.float32]:
    """Return a score rectangle with END as last of `columns`; all but the given cells is `rest`."""
    scores = np.full((2, len(rows), columns), rest, dtype=np.float32)
    for (kind, row, column), score in cells.items():
        index = row if isinstance(row, int) else row_span(rows, row)[0]
        scores[0 if kind == "substitute" else 1, index, column] = score
    return scores


def undo(text: str, edits: Sequence[Edit], original: str) -> str:
    """Take edits back, from left to right; fails where `text` does not show one of them."""
    kept: list[str] = []
    done = place = 0
    for edit in edits:
        assert done <= edit.start <= edit.end <= len(original), "out of order"
        place += edit.start - done
        assert text[place : place + len(edit.text)] == edit.text
        kept += [text[place - (edit.start - done) : place], original[edit.start : edit.end]]
        place += len(edit.text)
        done = edit.end
    return "".join([*kept, text[place:]])


def processor_seconds(work: Callable[[], object]) -> float:
    """Return how long this thread is busy with `work`, best of three; other load does not count."""
    best = float("inf")
    for _ in range(3):
        started = time.thread_time()
        work()
        best = min(best, time.thread_time() - started)
    return best


def words(text: str) -> set[str]:
    """Return the words of a text in lower case; a token such as don't counts as its parts."""
    found: set[str] = set()
    for token in tokenize(text):
        found.update(re.split(r"[\W_]+", token.text.casefold()))
    return found - {""}


def copied_texts(edit: TokenEdit, rows: Sequence[Row]) -> list[str]:
    """Return what each piece of an edit copies."""
    return [" ".join(r.token.text for r in rows[p.first : p.last + 1]) for p in edit.pieces]


def make_batch(lengths: Sequence[int], *, seed: int = 0) -> EncodedBatch:
    """Return dialogues of those lengths: random words, every place a row, the last third columns.

    A dialogue is the same whatever its batch.
    """
    arrays = [np.zeros((len(lengths), max(lengths)), dtype=np.int64) for _ in range(4)]
    ids, mask, segments, history = arrays
    utterance = np.zeros((len(lengths), max(lengths) // 3), dtype=np.int64)
    for k, length in enumerate(lengths):
        random = np.random.default_rng((seed, length))
        ids[k, :length] = random.integers(5, 120, length)
        mask[k, :length] = 1
        columns = length // 3
        segments[k, length - columns : length] = 1
        history[k, :length] = np.arange(length)
        utterance[k, :columns] = np.arange(length - columns, length)
    return EncodedBatch(ids, mask, segments, history, utterance)
