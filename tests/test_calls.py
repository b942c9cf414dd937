"""What a rewriter may be called with, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from handmade import HISTORY, UTTERANCE
from hypothesis import given
from hypothesis import strategies as st
from strategies import dialogues

from queen_sdk import Rewriter
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.tokenization import tokenize


class TestOptions:
    """What can be set per call, and what cannot."""

    def test_a_high_threshold_forbids_every_edit(self, rewriter: Rewriter) -> None:
        assert not rewriter.rewrite(HISTORY, UTTERANCE, threshold=1e300).changed

    def test_a_low_threshold_allows_more(self, rewriter: Rewriter) -> None:
        few = rewriter.rewrite(HISTORY, UTTERANCE).edits
        many = rewriter.rewrite(HISTORY, UTTERANCE, threshold=-2.5).edits
        assert len(many) > len(few)
        assert rewriter.rewrite(HISTORY, UTTERANCE, threshold=-1e300).changed

    @pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "1", True, 10**400])
    def test_a_threshold_is_a_finite_number(self, rewriter: Rewriter, threshold: Any) -> None:
        calls: list[Callable[[], object]] = [
            lambda: rewriter.rewrite(HISTORY, UTTERANCE, threshold=threshold),
            lambda: rewriter.rewrite_batch([], threshold=threshold),
            lambda: rewriter.rewrite_many([], threshold=threshold),
            lambda: rewriter.explain(HISTORY, UTTERANCE, threshold=threshold),
        ]
        for call in calls:
            with pytest.raises(InvalidArgumentError, match="threshold must be a finite number"):
                call()

    @pytest.mark.parametrize("size", [0, -1, True, 1.5, None])
    def test_a_batch_holds_something(self, rewriter: Rewriter, size: Any) -> None:
        for method in (rewriter.rewrite_batch, rewriter.rewrite_many):
            with pytest.raises(InvalidArgumentError, match="batch_size must be a whole number"):
                method([], batch_size=size)

    @pytest.mark.parametrize("threads", [0, -2, True, 1.5, "2"])
    def test_threads_are_checked(self, tiny_bundle_dir: Path, threads: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="threads must be a whole number"):
            Rewriter(tiny_bundle_dir, threads=threads)

    @pytest.mark.parametrize(
        ("history", "utterance"),
        [
            ("Smith", "he"),
            (["Smith", 5], "he"),
            (["Smith", None], "he"),
            ([("narrator", "Smith")], "he"),
            (["Smith"], None),
            (["Smith"], b"he"),
            (None, "he"),
        ],
    )
    def test_dialogues_are_checked(self, rewriter: Rewriter, history: Any, utterance: Any) -> None:
        for method in (rewriter.rewrite, rewriter.explain):
            with pytest.raises(InvalidArgumentError):
                method(history, utterance)

    @pytest.mark.parametrize("dialogue", ["ab", (HISTORY,), (HISTORY, "a", "b"), None, 5, {}])
    def test_a_dialogue_is_a_pair(self, rewriter: Rewriter, dialogue: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="a dialogue must be a pair of history and"):
            rewriter.rewrite_batch([(HISTORY, UTTERANCE), dialogue])


class TestProtection:
    """Protected terms."""

    @pytest.mark.parametrize("protect", [["he"], ["HE"], ["no, he"], ("x", "he does")])
    def test_a_protected_term_is_not_replaced(
        self, rewriter: Rewriter, protect: Sequence[str]
    ) -> None:
        results = [
            rewriter.rewrite(HISTORY, UTTERANCE, protect=protect),
            rewriter.explain(HISTORY, UTTERANCE, protect=protect).result,
            *rewriter.rewrite_batch([(HISTORY, UTTERANCE)], protect=protect),
        ]
        for result in results:
            assert "he does not care." in result.text
            assert all(edit.kind == "insert" for edit in result.edits)

    def test_terms_may_come_from_an_iterator(self, rewriter: Rewriter) -> None:
        batch = [(HISTORY, UTTERANCE)] * 3
        results = list(rewriter.rewrite_many(batch, protect=iter(["he"]), batch_size=1))  # type: ignore[arg-type]
        assert ["he does not care." in result.text for result in results] == [True] * 3

    def test_a_term_may_begin_in_the_tag_of_a_speaker(self, rewriter: Rewriter) -> None:
        utterance = "he北京he:he㐀"
        result = rewriter.rewrite(["he:he"], utterance, protect=[utterance], threshold=-3.0)
        assert utterance in result.text

    @given(data=st.data())
    def test_a_protected_term_is_still_there(self, rewriter: Rewriter, data: st.DataObject) -> None:
        history, utterance = data.draw(dialogues)
        tokens = tokenize(utterance)
        if not tokens:
            return
        first = data.draw(st.integers(0, len(tokens) - 1))
        last = data.draw(st.integers(first, len(tokens) - 1))
        start, end = tokens[first].start, tokens[last].end
        term = utterance[start:end]
        result = rewriter.rewrite(history, utterance, protect=[term], threshold=-3.0)
        assert term in result.text
        for edit in result.edits:
            assert edit.end <= start or edit.start >= end
