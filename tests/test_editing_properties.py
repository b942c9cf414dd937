"""Editing: what holds for any dialogue and any edits, and that long texts take no longer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from handmade import processor_seconds, row_span, rows_of, undo
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import sentences, texts

from queen_sdk.decoding import Piece, TokenEdit
from queen_sdk.editing import apply_edits, realise
from queen_sdk.rows import ExtraWords, Row
from queen_sdk.tokenization import tokenize
from queen_sdk.values import EditKind


def drawn_rows(history: Sequence[str]) -> tuple[Row, ...]:
    return rows_of(*history, extra_words=ExtraWords(("of", "about")))


@st.composite
def edited_dialogues(draw: st.DrawFn) -> tuple[list[str], str, list[TokenEdit]]:
    """Draw a dialogue and edits that a decoder might make of it."""
    history = draw(st.lists(st.one_of(sentences, texts), min_size=1, max_size=3))
    utterance = draw(st.one_of(sentences, texts))
    rows = drawn_rows(history)
    tokens = tokenize(utterance)
    assume(tokens)
    edits: list[TokenEdit] = []
    position = draw(st.integers(0, len(tokens)))
    inserted_at = -1
    while position <= len(tokens) and len(edits) < 4:
        first = draw(st.integers(0, len(rows) - 1))
        last = first
        while last + 1 < len(rows) and rows[last + 1].segment == rows[first].segment:
            last += 1
        pieces = [Piece(first, draw(st.integers(first, last)), 1.0)]
        if draw(st.booleans()):
            word = draw(st.integers(0, 1))
            pieces.insert(0, Piece(word, word, 1.0))
        insert = position == len(tokens) or (draw(st.booleans()) and inserted_at != position)
        size = 0 if insert else draw(st.integers(1, min(3, len(tokens) - position)))
        kind: EditKind = "insert" if insert else "substitute"
        edits.append(TokenEdit(kind, position, position + size, tuple(pieces), 1.0))
        inserted_at = position if insert else -1
        if insert and position == len(tokens):
            break
        position += size + draw(st.integers(0, 2)) + (insert and draw(st.booleans()))
        if position == inserted_at and position == len(tokens):
            break
    return history, utterance, edits


class TestProperties:
    """What holds for any dialogue and any edits."""

    @given(edited_dialogues())
    def test_edits_undone_give_the_original(
        self, drawn: tuple[list[str], str, list[TokenEdit]]
    ) -> None:
        history, utterance, edits = drawn
        found = realise(
            utterance, tokenize(utterance), edits, drawn_rows(history), dict(enumerate(history))
        )
        assert undo(apply_edits(utterance, found), found, utterance) == utterance

    @given(edited_dialogues())
    def test_only_copied_characters_and_spaces_are_new(
        self, drawn: tuple[list[str], str, list[TokenEdit]]
    ) -> None:
        history, utterance, edits = drawn
        found = realise(
            utterance, tokenize(utterance), edits, drawn_rows(history), dict(enumerate(history))
        )
        for edit in found:
            copied = "".join(source.text for source in edit.sources)
            new, old = (text.replace(" ", "").casefold() for text in (edit.text, copied))
            assert new == old
            for source in edit.sources:
                if source.turn is not None:
                    assert history[source.turn][source.start : source.end] == source.text

    @given(edited_dialogues())
    def test_tokens_that_were_not_edited_stay_tokens(
        self, drawn: tuple[list[str], str, list[TokenEdit]]
    ) -> None:
        history, utterance, edits = drawn
        # "Tom's车" is cut by context; a stray variation selector clings to what comes before.
        assume(not set("'’\ufe0e\ufe0f") & set(utterance + "".join(history)))
        rows = drawn_rows(history)
        tokens = tokenize(utterance)
        found = realise(utterance, tokens, edits, rows, dict(enumerate(history)))
        expected: list[str] = []
        done = 0
        for edit in edits:
            expected += [token.text for token in tokens[done : edit.start]]
            for piece in edit.pieces:
                expected += [row.token.text for row in rows[piece.first : piece.last + 1]]
            done = edit.end
        expected += [token.text for token in tokens[done:]]
        words = [token.text.casefold() for token in tokenize(apply_edits(utterance, found))]
        assert words == [text.casefold() for text in expected]


@pytest.mark.parametrize("run", ["\n", '"', '\n"', ". ", " ", "'s", "a."])
def test_time_does_not_grow_with_the_square_of_the_text(run: str) -> None:
    def seconds(count: int) -> float:
        text = "x" + run * count + "y The end"
        rows = rows_of(text)
        _, last = row_span(rows, "The end")
        edits = [TokenEdit("substitute", 0, 1, (Piece(last - 1, last, 1.0),), 1.0)]
        edits.append(TokenEdit("insert", 1, 1, (Piece(last - 1, last, 1.0),), 1.0))
        utterance = "x" + "\n" * count + "y he"
        tokens = tokenize(utterance)
        return processor_seconds(lambda: realise(utterance, tokens, edits, rows, {0: text}))

    # Linear is 8 times, quadratic 64.
    assert seconds(40_000) < 30 * seconds(5_000) + 0.02
