"""The stages before the network, put together."""

from __future__ import annotations

import time
from typing import Any

import pytest
from handmade import processor_seconds
from hypothesis import given
from hypothesis import strategies as st
from strategies import histories, texts
from tiny_bundle import build_tokenizer

from queen_sdk.dialogue import read_history
from queen_sdk.features import FeatureBuilder, PieceEncoder
from queen_sdk.parsing import Parser, Structure
from queen_sdk.pipeline import Pipeline, Prepared, Skipped
from queen_sdk.rows import ExtraWords
from queen_sdk.template import COREF, ELLIP, TemplateSettings

ENCODER = PieceEncoder(build_tokenizer())


def make_pipeline(
    *, max_length: int = 128, opening: int = 0, parser: Parser | None = None
) -> Pipeline:
    return Pipeline(
        FeatureBuilder(
            ENCODER,
            extra_words=ExtraWords(("of",)),
            max_length=max_length,
            shared_marker=True,
            opening=opening,
        ),
        template=TemplateSettings(),
        collection=("he", "他"),
        parser=parser,
    )


PIPELINE = make_pipeline()


def prepared(history: list[Any], utterance: str, pipeline: Pipeline = PIPELINE) -> Prepared:
    found = pipeline.prepare(read_history(history), utterance)
    assert isinstance(found, Prepared)
    return found


def history_words(found: Prepared) -> list[tuple[int, str]]:
    return [(row.turn, row.token.text) for row in found.features.rows if row.turn is not None]


class RecordingParser:
    """Notes what it is asked, and finds a subject and a verb everywhere."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def parse(self, utterance: str) -> Structure:
        self.asked.append(utterance)
        time.sleep(0.02)
        return Structure(subject=True, verb=True, object=False)


class TestPrepare:
    """A dialogue that can be scored."""

    def test_rows_and_query_come_from_the_dialogue(self) -> None:
        found = prepared(["Smith is here", "no"], "Does he care?")
        assert history_words(found) == [(0, "Smith"), (0, "is"), (0, "here"), (1, "no")]
        assert found.query.items == ("Does", COREF, "care", "?")
        assert [t.text for t in found.features.utterance] == ["Does", "he", "care", "?"]
        assert found.dropped_turns == 0

    def test_the_opening_of_a_very_long_dialogue_stays_in_view(self) -> None:
        history = ["Smith", *["no yes"] * 5_000]
        found = prepared(history, "he", make_pipeline(max_length=64, opening=8))
        first, (second, _), *_, last = history_words(found)
        assert (first, last) == ((0, "Smith"), (5_000, "yes"))
        assert 4_950 < second == found.dropped_turns + 1

    def test_turns_that_are_not_read_keep_their_number(self) -> None:
        history = [("system", "Be kind"), ("user", "Smith"), " ", ("tool", "x"), ("bot", "no")]
        assert history_words(prepared(history, "he")) == [(1, "Smith"), (4, "no")]

    def test_a_copy_of_the_utterance_is_left_out(self) -> None:
        assert history_words(prepared(["Smith", "he does"], "he does")) == [(0, "Smith")]

    def test_speaker_tags_are_no_words(self) -> None:
        found = prepared(["Anna: Smith is", "用户：他", "Anna: no"], "Anna: does he")
        assert history_words(found) == [(0, "Smith"), (0, "is"), (1, "他"), (2, "no")]
        assert [(t.text, t.start) for t in found.features.utterance] == [("does", 6), ("he", 11)]
        assert found.query.items == ("does", COREF)

    def test_gold_spans_replace_those_of_the_collection(self) -> None:
        found = PIPELINE.prepare(read_history(["Smith"]), "he does", coreference=[(1, 2)])
        assert isinstance(found, Prepared)
        assert found.query.items == ("he", COREF)

    def test_no_gold_span_is_not_the_same_as_none_given(self) -> None:
        found = PIPELINE.prepare(read_history(["Smith"]), "he does", coreference=[])
        assert isinstance(found, Prepared)
        assert found.query.items == (ELLIP, "he", "does", ELLIP)

    def test_the_parser_is_asked_only_for_an_ellipsis(self) -> None:
        parser = RecordingParser()
        pipeline = make_pipeline(parser=parser)
        with_reference = prepared(["Smith"], "he does", pipeline)
        assert (parser.asked, with_reference.timings.parse) == ([], 0.0)
        without = prepared(["Smith"], " Does not care", pipeline)
        assert parser.asked == [" Does not care"]
        assert without.query.items == ("Does", "not", "care", ELLIP)
        assert without.timings.parse >= 20
        assert without.timings.template < without.timings.parse


class TestSkipping:
    """Dialogues that there is nothing to ask about."""

    @pytest.mark.parametrize(
        "history", [[], [" "], [("system", "Smith")], ["he does"], ["\u200b"], ["\ud800", "\x00"]]
    )
    def test_no_word_was_said_before(self, history: list[Any]) -> None:
        assert PIPELINE.prepare(read_history(history), "he does") == Skipped("no_history")

    @pytest.mark.parametrize(
        "utterance", ["", " ", "\x00", "\u200f\ud800", "?!", "……", "👍🏽 😂", "$"]
    )
    def test_the_utterance_has_no_word(self, utterance: str) -> None:
        assert PIPELINE.prepare(read_history(["Smith"]), utterance) == Skipped("empty_utterance")

    @pytest.mark.parametrize("utterance", ["666", "5️⃣", "他🙏", "é?"])
    def test_a_letter_or_digit_is_a_word(self, utterance: str) -> None:
        assert isinstance(PIPELINE.prepare(read_history(["Smith"]), utterance), Prepared)

    def test_the_utterance_fills_the_window(self) -> None:
        found = PIPELINE.prepare(read_history(["Smith", ("tool", "x"), "no"]), "he " * 200)
        assert found == Skipped("utterance_too_long", 2)


class TestLongHistories:
    """What does not fit is dropped, counted, and costs little."""

    def test_the_newest_of_many_turns_are_read(self) -> None:
        found = prepared([f"turn {k} Smith" for k in range(1_000)], "he does")
        kept = sorted({turn for turn, _ in history_words(found)})
        assert kept == list(range(1_000 - len(kept), 1_000))
        assert found.dropped_turns == 1_000 - len(kept)
        assert len(found.features.input_ids) <= 128

    def test_only_spoken_turns_are_counted_as_dropped(self) -> None:
        history = [("tool", "x"), ("user", "no " * 20)] * 100
        found = prepared(history, "he does")
        kept = {turn for turn, _ in history_words(found)}
        assert found.dropped_turns == 100 - len(kept)

    @pytest.mark.parametrize("unit", ["Smith is here. ", "史密斯喜欢北京。", "x", " ", "👩‍👩‍👧"])
    def test_one_long_turn_is_cut_to_its_end(self, unit: str) -> None:
        text = (unit * 100_000)[:100_000] + " Smith"
        found = prepared(["no", text], "he does")
        words = history_words(found)
        assert words[-1] == (1, "Smith")
        assert {turn for turn, _ in words} == {1}
        assert found.dropped_turns == 2
        assert len(found.features.input_ids) <= 128

    @given(
        st.lists(st.one_of(texts, st.just("Smith " * 60), st.just("\u200b")), max_size=200), texts
    )
    def test_the_window_holds_for_any_dialogue(self, history: list[str], utterance: str) -> None:
        found = PIPELINE.prepare(read_history(history), utterance)
        if isinstance(found, Prepared):
            assert len(found.features.input_ids) <= 128
            kept = {turn for turn, _ in history_words(found)}
            assert 0 <= found.dropped_turns <= len(history)
            assert len(kept) + found.dropped_turns <= len(history) + 1

    @pytest.mark.parametrize(
        "make_history",
        [
            lambda n: ["Smith is here."] * n,
            lambda n: [f"Speaker {k}: Smith is here." for k in range(n)],
            lambda n: ["\u200b"] * n,
            lambda n: ["Smith " * (25 * n)],
            lambda n: ["\n" * (50 * n) + "Smith"],
            lambda n: ['"' * (50 * n) + " Smith"],
        ],
    )
    def test_time_is_not_quadratic(self, make_history: Any) -> None:
        def seconds(size: int) -> float:
            turns = read_history(make_history(size))
            return processor_seconds(lambda: PIPELINE.prepare(turns, "he does"))

        # Linear is 8 times, quadratic 64.
        assert seconds(4_000) < 30 * seconds(500) + 0.02


@given(histories, texts)
def test_any_dialogue_is_prepared_or_skipped(history: list[str], utterance: str) -> None:
    found = PIPELINE.prepare(read_history(history), utterance)
    if isinstance(found, Prepared):
        features = found.features
        assert all(utterance[t.start : t.end] == t.text for t in features.utterance)
        for row in features.rows:
            if row.turn is not None:
                assert history[row.turn][row.token.start : row.token.end] == row.token.text
    else:
        assert found.reason in ("no_history", "empty_utterance", "utterance_too_long")
