"""Decoding where the model sees the ends of what is copied."""

from __future__ import annotations

import numpy as np
import pytest
from handmade import Cell, copied_texts, row_span, rows_of, scores_of

from queen_sdk.decoding import DecodingSettings, decode
from queen_sdk.tokenization import tokenize

ROWS = rows_of("John Smith wants food .", "What type of cuisine ?", "Smith likes Anna")
UTTERANCE = tokenize("No , he does not care")
END = len(UTTERANCE)


def copied_with(share: float, begin: str, end: str) -> list[str]:
    cells: dict[Cell, float] = {
        ("insert", "John", END): 0.4,
        ("insert", "Smith", END): 3.0,
        ("insert", "wants", END): 0.2,
    }
    scores = scores_of(ROWS, END + 1, cells)
    ends = np.full_like(scores, -3.0)
    for plane, word in enumerate((begin, end)):
        ends[plane, row_span(ROWS, word)[0], END] = 3.0
    settings = DecodingSettings(ends_share=share)
    found = decode(np.concatenate((scores, ends)), ROWS, UTTERANCE, settings)
    return [text for edit in found.edits for text in copied_texts(edit, ROWS)]


@pytest.mark.parametrize(
    ("share", "begin", "end", "copied"),
    [
        (0.0, "Smith", "Smith", "John Smith wants"),
        (0.01, "Smith", "Smith", "John Smith wants"),
        (1.0, "Smith", "Smith", "Smith"),
        (1.0, "John", "Smith", "John Smith"),
        (1.0, "Smith", "wants", "Smith wants"),
        (1.0, "John", ".", "John Smith wants"),
    ],
)
def test_they_move_the_ends_of_a_span(share: float, begin: str, end: str, copied: str) -> None:
    assert copied_with(share, begin, end) == [copied]


def test_they_do_not_decide_whether_something_is_copied() -> None:
    scores = scores_of(ROWS, END + 1, {})
    ends = np.full_like(scores, 9.0)
    settings = DecodingSettings(ends_share=9.0)
    assert decode(np.concatenate((scores, ends)), ROWS, UTTERANCE, settings).edits == ()


def test_a_model_need_not_say() -> None:
    cells: dict[Cell, float] = {("substitute", "Anna", 2): 1.0}
    scores = scores_of(ROWS, END + 1, cells)
    silent = decode(scores, ROWS, UTTERANCE, DecodingSettings(ends_share=2.0))
    assert silent == decode(scores, ROWS, UTTERANCE, DecodingSettings())
