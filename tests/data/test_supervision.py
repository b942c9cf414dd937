"""Gold edits: they rebuild the reference, from the right rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from handmade import row_span, rows_of
from hypothesis import example, given
from hypothesis import strategies as st

from queen_sdk.data.supervision import GoldEdit, Supervision, supervise
from queen_sdk.rows import ExtraWords, Row
from queen_sdk.tokenization import tokenize

NO_EXTRA_WORDS = ExtraWords()


def rebuild(utterance: str, rows: Sequence[Row], edits: Sequence[GoldEdit]) -> list[str]:
    """Apply gold edits to tokens, in lower case; fails where two are in each other's way."""
    words = [token.text.casefold() for token in tokenize(utterance)]
    built: list[str] = []
    done = 0
    places = [edit.start for edit in edits if edit.kind == "insert"]
    assert len(set(places)) == len(places), "two insertions at one place"
    for edit in edits:
        assert edit.start >= done, "edits overlap or are out of order"
        assert (edit.start == edit.end) == (edit.kind == "insert")
        built += words[done : edit.start]
        for first, behind in edit.pieces:
            assert first < behind
            assert rows[first].segment == rows[behind - 1].segment
            built += [row.token.text.casefold() for row in rows[first:behind]]
        assert list(edit.pieces) == sorted(edit.pieces), "pieces are not in row order"
        done = edit.end
    return built + words[done:]


def supervised(
    history: Sequence[str], utterance: str, reference: str, extra_words: ExtraWords = NO_EXTRA_WORDS
) -> tuple[Supervision, tuple[Row, ...]]:
    rows = rows_of(*history, extra_words=extra_words)
    return supervise(tokenize(utterance), tokenize(reference), rows), rows


LETTERS = st.sampled_from("abcd")
LINES = st.lists(LETTERS, min_size=1, max_size=8).map(" ".join)


class TestExactness:
    """`exact` says the truth."""

    @given(st.lists(LINES, min_size=1, max_size=3), LINES, LINES)
    @example(["a"], "x a y", "a")
    @example(["a b"], "b a c", "a a a c")
    @example(["c c b d"], "a a a b", "c a d b d b")
    def test_exact_edits_rebuild_any_reference(
        self, history: list[str], utterance: str, reference: str
    ) -> None:
        gold, rows = supervised(history, utterance, reference, ExtraWords(("c",), ("d",)))
        built = rebuild(utterance, rows, gold.edits)
        if gold.exact:
            assert built == reference.split()
        else:
            assert built != reference.split() or not gold.edits

    @given(st.data())
    def test_an_edit_that_was_made_is_found(self, data: st.DataObject) -> None:
        history = data.draw(st.lists(LINES, min_size=1, max_size=3))
        words = data.draw(LINES).split()
        turn = data.draw(st.sampled_from(history)).split()
        first = data.draw(st.integers(0, len(turn) - 1))
        piece = turn[first : data.draw(st.integers(first + 1, len(turn)))]
        start = data.draw(st.integers(0, len(words)))
        end = data.draw(st.sampled_from((start, min(start + 1, len(words)))))
        reference = words[:start] + piece + words[end:]
        gold, rows = supervised(history, " ".join(words), " ".join(reference))
        assert gold.exact
        assert rebuild(" ".join(words), rows, gold.edits) == reference

    @given(st.data())
    def test_several_edits_that_were_made_are_found_if_words_do_not_repeat(
        self, data: st.DataObject
    ) -> None:
        said = [f"h{k}" for k in range(12)]
        words = [f"u{k}" for k in range(data.draw(st.integers(1, 8)))]
        reference: list[str] = []
        done = 0
        while done <= len(words):
            start = data.draw(st.integers(done, len(words)), label="place")
            end = data.draw(st.integers(start, min(start + 2, len(words))), label="replaced")
            first = data.draw(st.integers(0, len(said) - 1))
            piece = said[first : data.draw(st.integers(first + 1, len(said)))]
            reference += words[done:start] + piece + words[end : end + 1]
            done = end + 1
        history = [" ".join(said[:6]), " ".join(said[6:])]
        gold, rows = supervised(history, " ".join(words), " ".join(reference))
        assert gold.exact
        assert rebuild(" ".join(words), rows, gold.edits) == reference


class TestCover:
    """Which rows an edit copies."""

    @pytest.mark.parametrize(
        ("history", "utterance", "reference", "edits"),
        [
            (["smith is here"], "he cares", "smith cares", [("substitute", 0, 1, "smith")]),
            (["the type of food"], "he cares", "he cares the type", [("insert", 2, 2, "the type")]),
            (["a b", "c d"], "x", "b c x", [("insert", 0, 0, "b|c")]),
            (["a b", "c d"], "he x", "a d x", [("substitute", 0, 1, "a|d")]),
            (["smith"], "that one is", "smith is", [("substitute", 0, 2, "smith")]),
            (["北京天气"], "怎么样", "北京怎么样", [("insert", 0, 0, "北 京")]),
            (["Smith"], "He cares", "smith cares", [("substitute", 0, 1, "Smith")]),
            (
                ["smith likes food"],
                "he wants",
                "smith wants food",
                [("substitute", 0, 1, "smith"), ("insert", 2, 2, "food")],
            ),
        ],
    )
    def test_edits_copy_from_the_history(
        self,
        history: list[str],
        utterance: str,
        reference: str,
        edits: list[tuple[str, int, int, str]],
    ) -> None:
        gold, rows = supervised(history, utterance, reference)
        assert gold.exact
        assert [
            (
                edit.kind,
                edit.start,
                edit.end,
                "|".join(" ".join(r.token.text for r in rows[a:b]) for a, b in edit.pieces),
            )
            for edit in gold.edits
        ] == edits

    def test_the_last_occurrence_is_copied(self) -> None:
        gold, rows = supervised(["smith a", "smith b", "c"], "he", "smith")
        (edit,) = gold.edits
        assert [rows[first].turn for first, _ in edit.pieces] == [1]

    def test_one_piece_is_better_than_several_later_ones(self) -> None:
        gold, rows = supervised(["a b c", "a x b x c"], "he", "a b c")
        (edit,) = gold.edits
        assert edit.pieces == ((0, 3),)
        assert rows[0].turn == 0

    def test_pieces_follow_the_order_of_the_rows(self) -> None:
        gold, rows = supervised(["b a", "a", "b"], "he", "a b")
        (edit,) = gold.edits
        assert [rows[first].turn for first, _ in edit.pieces] == [1, 2]

    def test_words_that_only_stand_in_the_wrong_order_are_not_covered(self) -> None:
        gold, _ = supervised(["b", "a"], "he x", "b a b x")
        assert not gold.exact
        assert gold.missing == (("", "order"),)

    def test_a_piece_does_not_cross_turns(self) -> None:
        gold, _ = supervised(["a", "b"], "he", "a b")
        (edit,) = gold.edits
        assert edit.pieces == ((0, 1), (1, 2))

    def test_extra_words_fill_what_nobody_said(self) -> None:
        extra = ExtraWords(("of",), ("'s",))
        gold, rows = supervised(["smith", "food"], "his", "smith's", extra)
        (edit,) = gold.edits
        assert edit.pieces == (row_span_behind(rows, "smith"), row_span_behind(rows, "'s"))
        gold, rows = supervised(["smith", "food"], "it", "of smith", extra)
        assert gold.exact

    def test_a_sliding_insertion_takes_the_place_that_can_be_covered(self) -> None:
        # "a b a c" is both a [b a] c and [a b] a c; only "a b" was said.
        gold, rows = supervised(["a b"], "a c", "a b a c")
        assert gold.exact
        (edit,) = gold.edits
        assert (edit.start, edit.pieces) == (0, (row_span_behind(rows, "a b"),))

    def test_a_deletion_copies_a_neighbour_again(self) -> None:
        gold, rows = supervised(["smith"], "well smith cares", "smith cares")
        assert gold.edits == (GoldEdit("substitute", 0, 2, (row_span_behind(rows, "smith"),)),)
        assert gold.exact

    def test_a_deletion_without_a_copyable_neighbour_is_missing(self) -> None:
        gold, _ = supervised(["x"], "well smith cares", "smith cares")
        assert gold == Supervision((), (("", "deletion"),))

    @pytest.mark.parametrize(
        ("reference", "missing"),
        [
            ("of smith is", [("of", "before")]),
            ("smith 's is", [("'s", "after")]),
            ("of smith 's is", [("of", "before"), ("'s", "after")]),
            ("no one is", [("no", "before"), ("one", "before")]),
            ("smith and anna is", [("and", "before")]),
        ],
    )
    def test_words_found_nowhere_are_told_with_their_place(
        self, reference: str, missing: list[tuple[str, str]]
    ) -> None:
        gold, _ = supervised(["smith", "anna"], "he is", reference)
        assert not gold.exact
        assert list(gold.missing) == missing

    def test_the_rest_of_a_span_is_still_taught(self) -> None:
        gold, rows = supervised(["smith"], "he is", "of smith is")
        assert gold.edits == (GoldEdit("substitute", 0, 1, (row_span_behind(rows, "smith"),)),)

    @pytest.mark.parametrize("reference", ["he is", "He IS", "he  is"])
    def test_an_utterance_that_is_its_reference_teaches_nothing(self, reference: str) -> None:
        assert supervised(["smith"], "he is", reference)[0] == Supervision((), ())


def row_span_behind(rows: Sequence[Row], words: str) -> tuple[int, int]:
    first, last = row_span(rows, words)
    return first, last + 1
