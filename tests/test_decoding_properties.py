"""Decoding: what holds for any scores."""

from __future__ import annotations

import numpy as np
from handmade import copied_texts, rows_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from queen_sdk.decoding import DecodingSettings, decode
from queen_sdk.tokenization import is_mark, tokenize

ROWS = rows_of("John Smith wants food .", "What type of cuisine ?", "Smith likes Anna")
UTTERANCE = tokenize("No , he does not care")
END = len(UTTERANCE)
ZERO = DecodingSettings()
SMALL = st.floats(-3, 3, width=32)


@given(
    hnp.arrays(np.float32, (2, len(ROWS), END + 1), elements=SMALL),
    SMALL,
    st.frozensets(st.integers(0, END - 1)),
)
def test_any_scores_give_consistent_edits(
    scores: np.ndarray[tuple[int, int, int], np.dtype[np.float32]],
    threshold: float,
    protected: frozenset[int],
) -> None:
    decoding = decode(scores, ROWS, UTTERANCE, ZERO.at(threshold), protected)
    done = 0
    texts: list[str] = []
    for edit in decoding.edits:
        assert done <= edit.start <= edit.end <= END
        assert (edit.kind == "insert") == (edit.start == edit.end)
        done = edit.end
        assert edit.pieces
        behind = 0
        for piece in edit.pieces:
            assert behind <= piece.first <= piece.last
            assert ROWS[piece.first].segment == ROWS[piece.last].segment
            behind = piece.last + 1
        if edit.kind == "substitute":
            assert not protected & set(range(edit.start, edit.end))
        else:
            assert not {edit.start - 1, edit.start} <= protected
        pieces = [f" {text.casefold()} " for text in copied_texts(edit, ROWS)]
        assert not any(a in b for k, a in enumerate(pieces) for b in pieces[:k] + pieces[k + 1 :])
        texts.append(" " + " ".join(copied_texts(edit, ROWS)).casefold() + " ")
    assert not any(a in b for k, a in enumerate(texts) for b in texts[:k] + texts[k + 1 :])
    places = [(edit.kind, edit.start) for edit in decoding.edits]
    assert len(set(places)) == len(places)
    if not decoding.edits:
        assert decoding.inside == np.inf


@given(hnp.arrays(np.float32, (2, len(ROWS), END + 1), elements=SMALL))
def test_an_edit_is_made_wherever_the_best_cell_speaks_for_a_change(
    scores: np.ndarray[tuple[int, int, int], np.dtype[np.float32]],
) -> None:
    scores[0, :, END] = -3
    scores[:, [is_mark(row.token.text) for row in ROWS], :] = -3
    if scores[1].max() > 0:
        assert decode(scores, ROWS, UTTERANCE, ZERO).edits
