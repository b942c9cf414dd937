"""Rows: the order of what can be copied, and where it comes from."""

from __future__ import annotations

from handmade import row_span, rows_of
from hypothesis import given
from strategies import histories

from queen_sdk.rows import ExtraWords, build_rows, source_of
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Source

EXTRA = ExtraWords(("of", "about"), ("'s",))


def test_extra_words_stand_on_both_sides_of_the_history() -> None:
    rows = rows_of("Smith is", "here", extra_words=EXTRA)
    assert [row.token.text for row in rows] == ["of", "about", "Smith", "is", "here", "'s"]
    assert [row.turn for row in rows] == [None, None, 0, 0, 1, None]
    assert EXTRA.all == ("of", "about", "'s")


def test_only_tokens_of_one_turn_share_a_segment() -> None:
    rows = rows_of("Smith is", "", "here now", extra_words=EXTRA)
    segments = [row.segment for row in rows]
    assert segments == sorted(segments)
    groups = [[r.token.text for r in rows if r.segment == s] for s in sorted(set(segments))]
    assert groups == [["of"], ["about"], ["Smith", "is"], ["here", "now"], ["'s"]]


def test_turns_keep_their_index_in_the_history() -> None:
    rows = build_rows([(3, tokenize("Smith")), (7, tokenize("is here"))], ExtraWords())
    assert [row.turn for row in rows] == [3, 7, 7]


def test_a_source_spans_the_text_between_its_tokens() -> None:
    text = "So  Smith \n's dog"
    rows = rows_of("x", text)
    source = source_of(rows, *row_span(rows, "Smith 's dog"), text)
    assert source == Source(1, start=4, end=len(text), text="Smith \n's dog")


def test_the_source_of_an_extra_word_has_no_turn() -> None:
    rows = rows_of("x")
    assert source_of(rows, 0, 0, None) == Source(None, start=0, end=2, text="of")


@given(histories)
def test_every_span_of_a_turn_slices_back(history: list[str]) -> None:
    rows = rows_of(*history)
    for first, row in enumerate(rows):
        if row.turn is None:
            continue
        for last in range(first, min(first + 4, len(rows))):
            if rows[last].segment == row.segment:
                source = source_of(rows, first, last, history[row.turn])
                assert source.turn == row.turn
                assert history[row.turn][source.start : source.end] == source.text
                assert source.text.startswith(row.token.text)
                assert source.text.endswith(rows[last].token.text)
