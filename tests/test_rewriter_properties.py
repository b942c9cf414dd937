"""What holds for every dialogue: random ones, and long ones."""

from __future__ import annotations

import re
from typing import Any

import attrs
import pytest
from handmade import HISTORY, UTTERANCE, processor_seconds, undo, words
from hypothesis import given
from hypothesis import strategies as st
from strategies import dialogues, histories, texts

from queen_sdk import Rewriter, RewriteResult

thresholds = st.sampled_from((None, -1.0, -3.0))
"""The lower, the more is copied."""


class TestProperties:
    """What holds for any dialogue."""

    @given(history=histories, utterance=texts, threshold=thresholds)
    def test_any_text_is_rewritten_or_returned(
        self, rewriter: Rewriter, history: list[str], utterance: str, threshold: float | None
    ) -> None:
        result = rewriter.rewrite(history, utterance, threshold=threshold)
        assert result.original is utterance
        assert result.changed == (result.skip_reason is None)

    @given(dialogue=dialogues, threshold=thresholds)
    def test_no_edit_returns_the_same_object(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        result = rewriter.rewrite(*dialogue, threshold=threshold)
        assert (result.text is dialogue[1]) == (not result.edits)
        assert result.edits or result.skip_reason

    @given(dialogue=dialogues, threshold=thresholds)
    def test_edits_undone_give_the_original(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        result = rewriter.rewrite(*dialogue, threshold=threshold)
        assert undo(result.text, result.edits, dialogue[1]) == dialogue[1]

    @given(dialogue=dialogues, threshold=thresholds)
    def test_sources_slice_back_to_their_text(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        history, _ = dialogue
        for edit in rewriter.rewrite(*dialogue, threshold=threshold).edits:
            assert edit.sources
            for source in edit.sources:
                if source.turn is None:
                    assert source.text in ("of", "about", "的", "'s")
                else:
                    assert history[source.turn][source.start : source.end] == source.text

    @given(dialogue=dialogues, threshold=thresholds)
    def test_nothing_outside_the_dialogue_appears(
        self, rewriter: Rewriter, dialogue: tuple[list[str], str], threshold: float | None
    ) -> None:
        history, utterance = dialogue
        result = rewriter.rewrite(history, utterance, threshold=threshold)
        allowed = words(utterance) | {"of", "about", "的", "s"}
        for text in history:
            allowed |= words(text)
        assert words(result.text) <= allowed

    @given(
        batch=st.lists(st.one_of(dialogues, st.tuples(histories, texts)), max_size=6),
        size=st.integers(1, 4),
    )
    def test_batch_equals_single(
        self, rewriter: Rewriter, batch: list[tuple[list[str], str]], size: int
    ) -> None:
        alone = [rewriter.rewrite(*dialogue) for dialogue in batch]
        for together in (
            rewriter.rewrite_batch(batch, batch_size=size),
            list(rewriter.rewrite_many(iter(batch), batch_size=size)),
        ):
            for one, other in zip(alone, together, strict=True):
                assert_same(one, other)


def assert_same(one: RewriteResult, other: RewriteResult) -> None:
    """Check that two results differ by rounding at most."""
    assert one.confidence == pytest.approx(other.confidence, abs=1e-5)
    assert [e.score for e in one.edits] == pytest.approx([e.score for e in other.edits], abs=1e-5)
    unscored = [
        attrs.evolve(r, confidence=None, edits=tuple(attrs.evolve(e, score=0.0) for e in r.edits))
        for r in (one, other)
    ]
    assert unscored[0] == unscored[1]


class TestLongDialogues:
    """Histories beyond the window."""

    @pytest.mark.parametrize(
        ("history", "dropped"),
        [
            ([*["no yes what"] * 998, *HISTORY], range(900, 1_000)),
            (["no " * 33_333, HISTORY[0]], range(1, 2)),
            (["Anna", "no " * 33_333 + HISTORY[0]], range(2, 3)),
            (["没有" * 50_000 + "史密斯"], range(1, 2)),
            (["no" + "\n" * 100_000 + "Smith"], range(1, 2)),
            (["Smith" + " " * 100_000], range(1)),
            (["Smith", *["\u200b"] * 100], range(1)),
        ],
    )
    def test_the_newest_part_is_read_in_good_time(
        self, rewriter: Rewriter, history: list[str], dropped: range
    ) -> None:
        assert processor_seconds(lambda: rewriter.rewrite(history, UTTERANCE)) < 1
        result = rewriter.rewrite(history, UTTERANCE)
        assert re.search("(Smith|史密斯) does not care", result.text)
        assert result.dropped_turns in dropped

    @pytest.mark.parametrize(
        "make_dialogue",
        [
            lambda n: ([HISTORY[0]] * n, UTTERANCE),
            lambda n: (["Smith is here. " * n], UTTERANCE),
            lambda n: (["\n" * (20 * n) + 'x The Smith"'], UTTERANCE),
            lambda n: (HISTORY, "x" + "\n" * (20 * n) + "Y he"),
            lambda n: (HISTORY, '"' * 50 + "x" * (20 * n) + " he"),
        ],
    )
    def test_time_is_not_quadratic(self, rewriter: Rewriter, make_dialogue: Any) -> None:
        def seconds(size: int) -> float:
            history, utterance = make_dialogue(size)
            return processor_seconds(lambda: rewriter.rewrite(history, utterance, threshold=-20.0))

        # Linear is 8 times, quadratic 64.
        assert seconds(4_000) < 30 * seconds(500) + 0.05
