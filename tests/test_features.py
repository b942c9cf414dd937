"""Features: the sequence, its window, and where each token stands in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import histories, sentences
from tiny_bundle import build_tokenizer
from tokenizers import Tokenizer

from queen_sdk.features import FeatureBuilder, Features, PieceEncoder, Window
from queen_sdk.rows import ExtraWords
from queen_sdk.template import COREF, ELLIP, QueryTemplate
from queen_sdk.tokenization import tokenize

TOKENIZER = build_tokenizer()
ENCODER = PieceEncoder(TOKENIZER)
EXTRA_WORDS = ExtraWords(("of",), ("'s",))
NO_QUERY = QueryTemplate(())


def builder(
    *,
    extra_words: ExtraWords = EXTRA_WORDS,
    max_length: int = 256,
    shared_marker: bool = True,
    opening: int = 0,
) -> FeatureBuilder:
    return FeatureBuilder(
        ENCODER,
        extra_words=extra_words,
        max_length=max_length,
        shared_marker=shared_marker,
        opening=opening,
    )


def window_of(
    builder: FeatureBuilder,
    history: Sequence[str],
    utterance: str = "he does",
    query: QueryTemplate = NO_QUERY,
) -> Window:
    turns = [(k, text, 0) for k, text in enumerate(history)]
    window = builder.window(turns, tokenize(utterance), query)
    assert window is not None
    return window


def features_of(
    builder: FeatureBuilder,
    history: Sequence[str],
    utterance: str = "he does",
    query: QueryTemplate = NO_QUERY,
) -> Features:
    window = window_of(builder, history, utterance, query)
    return builder.features(window, tokenize(utterance), query)


def shown(features: Features) -> str:
    return " ".join(TOKENIZER.id_to_token(piece) for piece in features.input_ids)


class TestPieceEncoder:
    """Word pieces of one token."""

    @pytest.mark.parametrize(
        ("text", "pieces"),
        [
            ("Smith", ["smith"]),
            ("is2", ["is", "##2"]),
            ("他", ["他"]),
            ("龘", ["[UNK]"]),
            ("\u0301", ["[UNK]"]),
            ("", ["[UNK]"]),
            ("\ud800", ["?"]),
        ],
    )
    def test_a_token_has_at_least_one_piece(self, text: str, pieces: list[str]) -> None:
        for _ in range(2):
            assert [TOKENIZER.id_to_token(k) for k in ENCODER.pieces(text)] == pieces

    def test_the_memory_of_words_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("queen_sdk.features._CACHED_WORDS", 10)
        encoder = PieceEncoder(TOKENIZER)
        for k in range(100):
            assert encoder.pieces(f"is{k}") == ENCODER.pieces(f"is{k}")
            assert len(encoder._pieces) <= 10
        encoder._pieces.clear()
        encoder.pieces("a" * 100_000)
        assert not encoder._pieces

    @pytest.mark.parametrize("missing", ["[CLS]", "[SEP]", "[UNK]", "[PAD]"])
    def test_a_tokenizer_of_another_kind_is_refused(self, missing: str) -> None:
        other = Tokenizer.from_str(TOKENIZER.to_str().replace(missing, "[GONE]"))
        with pytest.raises(ValueError, match=rf"the tokenizer has no \{missing} token"):
            PieceEncoder(other)

    def test_markers_are_one_or_two(self) -> None:
        assert {ENCODER.marker(mark, shared=True) for mark in (COREF, ELLIP)} == {ENCODER.unk}
        own = [ENCODER.marker(mark, shared=False) for mark in (COREF, ELLIP)]
        assert [TOKENIZER.id_to_token(k) for k in own] == [COREF, ELLIP]


class TestLayout:
    """The sequence and the indices into it."""

    def test_the_sequence_is_query_extra_words_turns_utterance(self) -> None:
        query = QueryTemplate((ELLIP, "he", "does"))
        features = features_of(builder(), ["Smith is2", "no"], query=query)
        assert shown(features) == (
            "[CLS] [UNK] he does [SEP] of [SEP] smith is ##2 [SEP] no [SEP] ' s [SEP] he does [SEP]"
        )
        assert features.history_index == (5, 7, 8, 11, 13)
        assert features.utterance_index == (16, 17, 18)
        assert features.utterance_from == 16
        assert [row.token.text for row in features.rows] == ["of", "Smith", "is2", "no", "'s"]
        assert [token.text for token in features.utterance] == ["he", "does"]

    def test_parts_that_are_empty_leave_no_trace(self) -> None:
        features = features_of(builder(extra_words=ExtraWords()), ["Smith"])
        assert shown(features) == "[CLS] smith [SEP] he does [SEP]"

    def test_own_markers_are_used_if_they_are_not_shared(self) -> None:
        query = QueryTemplate((ELLIP, COREF))
        features = features_of(builder(shared_marker=False), ["no"], query=query)
        assert shown(features).startswith("[CLS] [ELLIP] [COREF] [SEP]")

    @given(histories, sentences)
    def test_indices_point_at_the_first_piece_of_each_token(
        self, history: list[str], utterance: str
    ) -> None:
        made = builder()
        if not tokenize(utterance):
            return
        features = features_of(made, history, utterance)
        ids = features.input_ids
        assert len(features.rows) == len(features.history_index)
        for row, index in zip(features.rows, features.history_index, strict=True):
            pieces = ENCODER.pieces(row.token.text)
            assert ids[index : index + len(pieces)] == pieces
        *words, end = features.utterance_index
        for token, index in zip(features.utterance, words, strict=True):
            pieces = ENCODER.pieces(token.text)
            assert ids[index : index + len(pieces)] == pieces
        assert end == len(ids) - 1
        assert ids[end] == ENCODER.sep


class TestWindow:
    """What fits."""

    def test_everything_is_kept_if_it_fits(self) -> None:
        window = window_of(builder(), ["Smith is", "no"])
        assert [(k, [t.text for t in words]) for k, words in window.turns] == [
            (0, ["Smith", "is"]),
            (1, ["no"]),
        ]
        assert window.dropped == 0

    def test_the_newest_turns_are_kept(self) -> None:
        window = window_of(builder(max_length=32), ["no " * 6] * 20)
        kept = [k for k, _ in window.turns]
        assert kept == list(range(20 - len(kept), 20))
        assert 0 < len(kept) < 20
        assert window.dropped == 20 - len(kept)

    def test_an_older_turn_that_does_not_fit_is_dropped_whole(self) -> None:
        window = window_of(builder(max_length=32), ["Smith", "no " * 40, "yes"])
        assert [k for k, _ in window.turns] == [2]
        assert window.dropped == 2

    def test_a_newest_turn_that_does_not_fit_is_cut_to_its_end(self) -> None:
        window = window_of(builder(max_length=32), ["Smith", "yes " + "no " * 40 + "is"])
        ((index, words),) = window.turns
        assert index == 1
        assert [t.text for t in words[-2:]] == ["no", "is"]
        assert all(t.text == "no" for t in words[:-1])
        assert window.dropped == 2

    def test_a_short_first_turn_stays_in_view(self) -> None:
        history = ["Smith", *["no " * 6] * 20]
        window = window_of(builder(max_length=40, opening=3), history)
        first, *later = [k for k, _ in window.turns]
        assert first == 0
        assert later == list(range(21 - len(later), 21))
        assert later
        assert window.dropped == 20 - len(later)

    def test_a_first_turn_stays_beside_a_newest_one_that_is_cut(self) -> None:
        window = window_of(builder(max_length=40, opening=3), ["Smith", "no", "yes " * 60])
        assert [k for k, _ in window.turns] == [0, 2]
        assert window.dropped == 2

    @pytest.mark.parametrize("first", ["Smith is here now", "\u200b", "Smith " * 500])
    def test_a_first_turn_that_is_long_or_says_nothing_is_dropped(self, first: str) -> None:
        history = [first, *["no " * 6] * 20]
        window = window_of(builder(max_length=40, opening=3), history)
        assert window == window_of(builder(max_length=40), history)

    def test_a_first_turn_that_would_take_most_of_the_room_is_dropped(self) -> None:
        history = ["Smith is here now no yes no no", *["no " * 6] * 3]
        window = window_of(builder(max_length=32, opening=16), history)
        assert [k for k, _ in window.turns] == [1, 2, 3]

    def test_a_single_turn_is_cut_as_ever(self) -> None:
        window = window_of(builder(max_length=32, opening=16), ["no " * 60])
        assert window == window_of(builder(max_length=32), ["no " * 60])

    def test_words_begin_at_the_given_offset(self) -> None:
        window = builder().window([(4, "Anna: no he", 6)], tokenize("he"), NO_QUERY)
        assert window is not None
        assert [(k, [(t.text, t.start) for t in words]) for k, words in window.turns] == [
            (4, [("no", 6), ("he", 9)])
        ]

    def test_blanks_at_the_end_of_a_turn_take_no_room(self) -> None:
        window = window_of(builder(max_length=32), ["Smith is here" + " " * 100_000])
        assert [t.text for _, words in window.turns for t in words] == ["Smith", "is", "here"]
        assert window.dropped == 0

    @pytest.mark.parametrize("utterance", ["he " * 300, "他" * 300, "a1b2c3" * 100 + " he" * 250])
    def test_an_utterance_that_leaves_no_room_has_no_window(self, utterance: str) -> None:
        assert builder().window([(0, "Smith", 0)], tokenize(utterance), NO_QUERY) is None

    @pytest.mark.parametrize(("max_length", "longest"), [(256, 246), (32, 22), (16, 10)])
    def test_a_history_of_a_few_words_always_fits(self, max_length: int, longest: int) -> None:
        made = builder(extra_words=ExtraWords(), max_length=max_length)
        for size, fits in ((longest, True), (longest + 1, False)):
            window = made.window([(0, "Smith is", 0)], tokenize("he " * size), NO_QUERY)
            assert (window is not None) is fits

    def test_a_query_takes_room_too(self) -> None:
        utterance = tokenize("he " * 20)
        turns = [(0, "Smith", 0)]
        query = QueryTemplate(("he",) * 20)
        assert builder(max_length=40).window(turns, utterance, NO_QUERY) is not None
        assert builder(max_length=40).window(turns, utterance, query) is None

    @given(
        st.lists(st.one_of(sentences, st.just("\u200b"), st.just("no " * 30)), max_size=80),
        sentences,
        st.integers(16, 64),
        st.integers(0, 20),
    )
    def test_the_sequence_never_exceeds_its_limit(
        self, history: list[str], utterance: str, max_length: int, opening: int
    ) -> None:
        made = builder(max_length=max_length, opening=opening)
        tokens = tokenize(utterance)
        query = QueryTemplate(tuple(token.text for token in tokens))
        turns = [(k, text, 0) for k, text in enumerate(history)]
        window = made.window(turns, tokens, query)
        if window is not None:
            assert len(made.features(window, tokens, query).input_ids) <= max_length
            kept = [k for k, _ in window.turns]
            later = [k for k in kept if k or not opening]
            assert later == list(range(len(history) - len(later), len(history)))
            assert window.dropped >= len(history) - len(kept)

    def test_many_turns_without_words_stay_in_the_limit(self) -> None:
        features = features_of(builder(), ["Smith", *["\u200b"] * 300, "Anna"])
        assert len(features.input_ids) <= 256

    @given(
        st.sampled_from(["Smith likes it. ", "他喜欢北京。", "don't 3.5 a-b "]), st.integers(0, 50)
    )
    def test_a_cut_turn_still_slices_back(self, unit: str, shift: int) -> None:
        text = "x" * shift + unit * 250
        ((_, words),) = window_of(builder(max_length=64), [text]).turns
        assert words
        assert all(text[t.start : t.end] == t.text for t in words)
        assert set(words) <= set(tokenize(text))


class TestBatch:
    """Padding."""

    def test_rows_of_a_batch_are_padded_to_one_shape(self) -> None:
        made = builder(extra_words=ExtraWords())
        short = features_of(made, ["Smith"], "he")
        long = features_of(made, ["Anna is in there"], "does he care")
        batch = made.batch([short, long])
        assert batch.input_ids.shape == (2, len(long.input_ids))
        size = len(short.input_ids)
        assert batch.input_ids[0, :size].tolist() == list(short.input_ids)
        assert (batch.input_ids[0, size:] == ENCODER.pad).all()
        assert batch.attention_mask.sum(axis=1).tolist() == [size, len(long.input_ids)]
        assert batch.token_type_ids[0].tolist() == [0, 0, 0, 1, 1] + [0] * (
            len(long.input_ids) - size
        )
        assert batch.history_index.tolist() == [[1, 0, 0, 0], [1, 2, 3, 4]]
        assert batch.utterance_index.tolist() == [[3, 4, 0, 0], [6, 7, 8, 9]]

    def test_arrays_go_by_the_names_of_the_graph(self) -> None:
        made = builder()
        inputs = made.batch([features_of(made, ["Smith"])]).as_inputs()
        assert sorted(inputs) == [
            "attention_mask",
            "history_index",
            "input_ids",
            "token_type_ids",
            "utterance_index",
        ]
        assert {array.dtype for array in inputs.values()} == {np.dtype(np.int64)}
