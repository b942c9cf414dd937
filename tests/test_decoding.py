"""Decoding: whole spans, nothing twice, nothing protected touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from handmade import Cell, copied_texts, rows_of, scores_of

from queen_sdk.decoding import Decoding, DecodingSettings, decode
from queen_sdk.rows import Row
from queen_sdk.tokenization import tokenize

HISTORY = ("John Smith wants food .", "What type of cuisine ?", "Smith likes Anna")
ROWS = rows_of(*HISTORY)
SMITH, LATER_SMITH = (k for k, row in enumerate(ROWS) if row.token.text == "Smith")
_, OF = (k for k, row in enumerate(ROWS) if row.token.text == "of")
UTTERANCE = tokenize("No , he does not care")
END = len(UTTERANCE)
ZERO = DecodingSettings()


def decoded(
    cells: dict[Cell, float],
    *,
    settings: DecodingSettings = ZERO,
    protected: frozenset[int] = frozenset(),
    rows: Sequence[Row] = ROWS,
) -> Decoding:
    return decode(scores_of(rows, END + 1, cells), rows, UTTERANCE, settings, protected)


def shown(decoding: Decoding, rows: Sequence[Row] = ROWS) -> list[tuple[str, int, int, str]]:
    return [(e.kind, e.start, e.end, " | ".join(copied_texts(e, rows))) for e in decoding.edits]


class TestSpans:
    """What is copied."""

    def test_nothing_is_edited_below_the_threshold(self) -> None:
        decoding = decoded({("substitute", "Anna", 2): -0.25})
        assert decoding == Decoding((), np.inf, -0.25, 1, len(ROWS), END)

    def test_a_cell_at_the_threshold_does_not_speak(self) -> None:
        assert decoded({("substitute", "Anna", 2): 0.0}).edits == ()

    def test_one_cell_is_one_edit(self) -> None:
        decoding = decoded({("substitute", "Anna", 2): 1.5})
        assert shown(decoding) == [("substitute", 2, 3, "Anna")]
        assert decoding.edits[0].score == 1.5

    def test_a_weak_word_inside_a_span_is_copied_along(self) -> None:
        cells: dict[Cell, float] = {
            ("insert", "type", END): 2.0,
            ("insert", OF, END): -0.5,
            ("insert", "cuisine", END): 1.0,
        }
        assert shown(decoded(cells)) == [("insert", END, END, "type of cuisine")]

    def test_a_word_that_costs_more_than_it_brings_is_not(self) -> None:
        cells: dict[Cell, float] = {
            ("insert", "type", END): 2.0,
            ("insert", OF, END): -1.5,
            ("insert", "cuisine", END): 1.0,
        }
        assert shown(decoded(cells)) == [("insert", END, END, "type")]

    def test_a_span_does_not_cross_turns(self) -> None:
        rows = rows_of("we like food", "Smith wins")
        cells: dict[Cell, float] = {("insert", "food", 1): 4.0, ("insert", "Smith", 1): 4.0}
        assert shown(decoded(cells, rows=rows), rows) == [("insert", 1, 1, "food | Smith")]

    def test_pieces_of_one_edit_come_in_row_order(self) -> None:
        cells: dict[Cell, float] = {
            ("insert", "Anna", END): 3.0,
            ("insert", "about", END): 1.0,
            ("insert", "'s", END): 2.0,
        }
        assert shown(decoded(cells)) == [("insert", END, END, "about | Anna | 's")]

    @pytest.mark.parametrize(
        ("margin", "slack", "text"),
        [
            (-0.2, 0.25, "type of"),
            (-0.3, 0.25, "type"),
            (-0.2, 0.0, "type"),
            (-0.9, 1.0, "type of"),
        ],
    )
    def test_a_span_reaches_as_far_as_its_slack(
        self, margin: float, slack: float, text: str
    ) -> None:
        cells: dict[Cell, float] = {("insert", "type", END): 1.0, ("insert", OF, END): margin}
        decoding = decoded(cells, settings=DecodingSettings(span_slack=slack))
        assert shown(decoding) == [("insert", END, END, text)]

    @pytest.mark.parametrize(
        ("best", "margin", "text"),
        [(8.0, 3.4, "type"), (8.0, 3.6, "type of"), (1.0, -0.1, "type"), (1.0, 0.1, "type of"),
         (0.2, -0.3, "type of"), (0.2, -0.5, "type")],
    )  # fmt: skip
    def test_the_clearer_a_span_is_the_more_is_asked_of_its_ends(
        self, best: float, margin: float, text: str
    ) -> None:
        cells: dict[Cell, float] = {("insert", "type", END): best, ("insert", OF, END): margin}
        decoding = decoded(cells, settings=DecodingSettings(span_slack=0.5, span_share=0.5))
        assert shown(decoding) == [("insert", END, END, text)]

    @pytest.mark.parametrize(
        ("cells", "text"),
        [
            ({("insert", "food", 2): 5.0, ("insert", "Anna", 2): 3.1}, "food | Anna"),
            ({("insert", "food", 2): 5.0, ("insert", "Anna", 2): 2.9}, "food"),
            ({("insert", "food", 2): 1.0, ("insert", "Anna", 2): 2.9}, "Anna"),
            (
                {("insert", "food", 2): 9.0, ("insert", 13, 2): 4.0, ("insert", "Anna", 2): 1.0},
                "food",
            ),
            ({("insert", "food", 2): 1.0, ("insert", "about", 2): 0.1}, "about | food"),
            ({("insert", "food", 2): 0.1, ("insert", "about", 2): 1.0}, "about | food"),
        ],
    )
    def test_a_further_piece_must_speak_up(self, cells: dict[Cell, float], text: str) -> None:
        assert shown(decoded(cells)) == [("insert", 2, 2, text)]

    def test_one_turn_gives_one_piece_only(self) -> None:
        cells: dict[Cell, float] = {("insert", "John", 2): 1.0, ("insert", "food", 2): 2.0}
        assert shown(decoded(cells)) == [("insert", 2, 2, "food")]


class TestMarks:
    """Punctuation."""

    def test_a_mark_alone_is_never_copied(self) -> None:
        assert decoded({("insert", ".", END): 9.0}).edits == ()

    def test_a_mark_neither_begins_nor_ends_a_piece(self) -> None:
        cells: dict[Cell, float] = {("insert", word, END): 5.0 for word in ("food", ".")}
        assert shown(decoded(cells)) == [("insert", END, END, "food")]

    def test_a_mark_inside_a_piece_is_copied_along(self) -> None:
        rows = rows_of("cheap , good food")
        cells: dict[Cell, float] = {("insert", word, END): 5.0 for word in ("cheap", ",", "good")}
        assert shown(decoded(cells, rows=rows), rows) == [("insert", END, END, "cheap , good")]


class TestFurtherPieces:
    """A second piece of the history at one place."""

    @pytest.fixture
    def cells(self) -> dict[Cell, float]:
        return {("insert", "food", END): 6.0, ("insert", "cuisine", END): 2.0}

    def test_a_much_weaker_one_is_left_out(self, cells: dict[Cell, float]) -> None:
        assert shown(decoded(cells)) == [("insert", END, END, "food")]

    def test_how_weak_is_a_setting(self, cells: dict[Cell, float]) -> None:
        decoding = decoded(cells, settings=DecodingSettings(further_piece=1.0))
        assert shown(decoding) == [("insert", END, END, "food | cuisine")]


class TestPlaces:
    """Where it goes."""

    @pytest.mark.parametrize("column", range(END + 1))
    def test_something_can_be_inserted_everywhere(self, column: int) -> None:
        found = shown(decoded({("insert", "Anna", column): 1.0}))
        assert found == [("insert", column, column, "Anna")]

    def test_the_end_cannot_be_replaced(self) -> None:
        assert decoded({("substitute", "Anna", END): 9.0}) == Decoding(
            (), np.inf, -5.0, 0, len(ROWS), END
        )

    def test_neighbours_that_copy_the_same_are_replaced_as_one(self) -> None:
        cells: dict[Cell, float] = {
            ("substitute", "John", 3): 1.0,
            ("substitute", "Smith", 3): 2.0,
            ("substitute", "John", 4): 0.5,
            ("substitute", "Smith", 4): 1.0,
        }
        assert shown(decoded(cells)) == [("substitute", 3, 5, "John Smith")]

    def test_neighbours_that_copy_different_words_stay_two_edits(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 1.0, ("substitute", "food", 3): 1.0}
        assert shown(decoded(cells)) == [("substitute", 2, 3, "Anna"), ("substitute", 3, 4, "food")]

    def test_tokens_apart_are_not_replaced_as_one(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 2.0, ("substitute", "Anna", 4): 1.0}
        assert shown(decoded(cells)) == [("substitute", 2, 3, "Anna")]

    def test_edits_come_from_left_to_right(self) -> None:
        cells: dict[Cell, float] = {
            ("insert", "food", END): 9.0,
            ("substitute", "Anna", 2): 1.0,
            ("insert", "John", 0): 5.0,
        }
        assert [edit.start for edit in decoded(cells).edits] == [0, 2, END]

    def test_an_insertion_may_stand_before_a_substitution(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 2.0, ("insert", "food", 2): 1.0}
        assert shown(decoded(cells)) == [("insert", 2, 2, "food"), ("substitute", 2, 3, "Anna")]

    @pytest.mark.parametrize(("strength", "kept"), [(9.0, "insert"), (0.1, "substitute")])
    def test_an_insertion_inside_a_substitution_competes_with_it(
        self, strength: float, kept: str
    ) -> None:
        cells: dict[Cell, float] = {
            ("substitute", "Anna", 2): 1.0,
            ("substitute", "Anna", 3): 1.0,
            ("insert", "food", 3): strength,
        }
        assert [edit.kind for edit in decoded(cells).edits] == [kept]


class TestNothingTwice:
    """The same text is never copied twice."""

    def test_equal_pieces_are_copied_once(self) -> None:
        cells: dict[Cell, float] = {
            ("substitute", SMITH, 2): 1.0,
            ("substitute", LATER_SMITH, 2): 2.0,
        }
        decoding = decoded(cells)
        assert shown(decoding) == [("substitute", 2, 3, "Smith")]
        assert decoding.edits[0].pieces[0].first == LATER_SMITH

    @pytest.mark.parametrize(("strength", "kept"), [(9.0, "Smith"), (3.5, "John Smith")])
    def test_of_a_piece_and_a_part_of_it_the_stronger_is_kept(
        self, strength: float, kept: str
    ) -> None:
        cells: dict[Cell, float] = {
            ("substitute", "John", 2): 2.0,
            ("substitute", SMITH, 2): 2.0,
            ("substitute", LATER_SMITH, 2): strength,
        }
        assert shown(decoded(cells)) == [("substitute", 2, 3, kept)]

    @pytest.mark.parametrize(("other", "kept"), [(0.5, (2, 2)), (5.0, (END, END))])
    def test_of_two_places_for_one_text_the_better_is_kept(
        self, other: float, kept: tuple[int, int]
    ) -> None:
        cells: dict[Cell, float] = {("insert", "Anna", 2): 1.0, ("insert", "Anna", END): other}
        assert [(e.start, e.end) for e in decoded(cells).edits] == [kept]

    def test_of_two_places_part_of_a_text_counts_as_the_text(self) -> None:
        cells: dict[Cell, float] = {
            ("substitute", "John", 2): 1.0,
            ("substitute", SMITH, 2): 1.0,
            ("insert", LATER_SMITH, END): 1.5,
        }
        assert shown(decoded(cells)) == [("substitute", 2, 3, "John Smith")]

    @pytest.mark.parametrize("text", ["he", "He", "HE"])
    def test_a_word_is_not_replaced_by_itself(self, text: str) -> None:
        rows = rows_of(f"then {text} said")
        decoding = decoded({("substitute", text, 2): 4.0}, rows=rows)
        assert decoding.edits == ()
        assert decoding.outside == 4.0


class TestProtection:
    """Protected tokens."""

    def test_a_protected_token_is_not_replaced(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 9.0, ("substitute", "food", 4): 1.0}
        found = shown(decoded(cells, protected=frozenset({2})))
        assert found == [("substitute", 4, 5, "food")]

    def test_a_substitution_stops_at_a_protected_token(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", k): 1.0 + k for k in (2, 3, 4)}
        found = decoded(cells, protected=frozenset({3})).edits
        assert [(e.start, e.end) for e in found] == [(4, 5)]

    @pytest.mark.parametrize(("column", "allowed"), [(2, True), (3, False), (4, True)])
    def test_nothing_is_inserted_inside_a_protected_term(self, column: int, allowed: bool) -> None:
        found = decoded({("insert", "Anna", column): 9.0}, protected=frozenset({2, 3}))
        assert bool(found.edits) is allowed

    def test_everything_may_be_protected(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", k): 9.0 for k in range(END)}
        found = decoded(cells, protected=frozenset(range(END)))
        assert found.edits == ()


class TestThresholds:
    """Thresholds of the model and of a call."""

    @pytest.mark.parametrize(
        ("settings", "kinds"),
        [
            (DecodingSettings(), ["substitute", "insert"]),
            (DecodingSettings(substitute_threshold=1.5), ["insert"]),
            (DecodingSettings(insert_threshold=1.5), ["substitute"]),
            (DecodingSettings().at(0.5), ["substitute", "insert"]),
            (DecodingSettings().at(1.5), []),
            (DecodingSettings(substitute_threshold=9.0).at(None), ["insert"]),
            (DecodingSettings(substitute_threshold=9.0).at(0), ["substitute", "insert"]),
        ],
    )
    def test_each_operation_has_its_own(self, settings: DecodingSettings, kinds: list[str]) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 1.0, ("insert", "food", END): 1.0}
        assert [edit.kind for edit in decoded(cells, settings=settings).edits] == kinds

    @pytest.mark.parametrize("threshold", [1e30, 1e39, 1e308])
    def test_a_threshold_out_of_reach_forbids_everything(self, threshold: float) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 1e6}
        assert decoded(cells, settings=ZERO.at(threshold)).edits == ()

    @pytest.mark.parametrize("threshold", [-1e3, -1e30, -1e39, -1e308])
    def test_a_threshold_below_everything_still_decodes(self, threshold: float) -> None:
        decoding = decoded({("substitute", "Anna", 2): 1.0}, settings=ZERO.at(threshold))
        assert decoding.edits
        assert all(np.isfinite([e.score, e.weight]).all() for e in decoding.edits)

    @pytest.mark.parametrize(
        ("rise", "words", "edited"),
        [
            (0.0, 128, True),
            (1.5, 32, True),
            (1.4, 48, True),
            (1.9, 48, False),
            (0.9, 999, True),
            (1.1, 64, False),
        ],
    )
    def test_both_rise_with_the_history_until_it_is_long(
        self, rise: float, words: int, edited: bool
    ) -> None:
        rows = rows_of(" ".join(["word"] * (words - 1)), "Anna")
        settings = DecodingSettings(history_rise=rise)
        for cell in (("substitute", "Anna", 2), ("insert", "Anna", END)):
            found = decoded({cell: 1.0}, settings=settings, rows=rows)
            assert bool(found.edits) == edited

    def test_that_of_a_call_holds_for_every_history(self) -> None:
        assert DecodingSettings(history_rise=2.0).at(0.5).thresholds(1000) == (0.5, 0.5)


class TestClearness:
    """How sure the scores were."""

    def test_inside_is_the_weakest_copied_cell(self) -> None:
        cells: dict[Cell, float] = {
            ("substitute", "John", 2): 3.0,
            ("substitute", SMITH, 2): 1.0,
            ("insert", "food", END): 2.0,
        }
        decoding = decoded(cells, settings=ZERO.at(0.25))
        assert decoding.inside == 0.75
        assert decoding.outside == -5.25

    def test_outside_is_the_strongest_cell_that_was_not_copied(self) -> None:
        cells: dict[Cell, float] = {("substitute", "Anna", 2): 3.0, ("insert", "food", 1): -0.5}
        assert decoded(cells).outside == -0.5

    def test_another_place_of_a_copied_word_does_not_count(self) -> None:
        cells: dict[Cell, float] = {
            ("substitute", SMITH, 2): 3.0,
            ("substitute", LATER_SMITH, 2): 2.0,
        }
        assert decoded(cells).outside == -5.0


def test_scores_are_left_as_they_are() -> None:
    scores = scores_of(ROWS, END + 1, {("substitute", "Anna", 2): 3.0})
    before = scores.copy()
    decode(scores, ROWS, UTTERANCE, DecodingSettings(0.5, 0.5), frozenset({1, 2}))
    np.testing.assert_array_equal(scores, before)


def test_a_rectangle_without_rows_has_no_edits() -> None:
    scores = np.zeros((2, 0, END + 1), dtype=np.float32)
    assert decode(scores, (), UTTERANCE, ZERO).edits == ()
