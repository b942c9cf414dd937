"""What the embedded parsers see."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from queen_sdk.parsing.inputs import COLUMNS, HASHES, LONGEST, PLACES, SHAPES, ParserInputs
from queen_sdk.tokenization import tokenize

VOCABULARY = ("[UNK]", "the", "好", ",", "喜欢", "电影院", "电影")


def test_known_words_have_their_number_whatever_the_case() -> None:
    inputs = ParserInputs(VOCABULARY)
    assert inputs.encode(tokenize("the THE other"))[:, 0].tolist() == [1, 1, 0]


def test_chinese_marks_are_as_good_as_western_ones() -> None:
    inputs = ParserInputs(VOCABULARY)
    assert np.array_equal(inputs.encode(tokenize("好，")), inputs.encode(tokenize("好,")))


def test_a_character_is_seen_with_its_neighbours() -> None:
    inputs = ParserInputs(VOCABULARY)
    first, second = inputs.encode(tokenize("他好"))[1], inputs.encode(tokenize("好人"))[0]
    assert first[:3].tolist() == second[:3].tolist()
    assert first[3] != second[3]
    assert first[4] != second[4]


def test_chinese_words_are_found_longest_first() -> None:
    found = ParserInputs(VOCABULARY).encode(tokenize("我喜欢电影院"))
    assert found[:, 0].tolist() == [0, 4, 4, 5, 5, 5]
    assert found[:, -1].tolist() == [0, 1, 3, 1, 2, 3]


def test_the_shape_tells_case_digits_marks_and_chinese() -> None:
    texts = "low Up UPPER iPhone 3.5 ! 好"
    shapes = ParserInputs(VOCABULARY).encode(tokenize(texts))[:, -2]
    assert shapes.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_no_token_and_too_many_tokens() -> None:
    inputs = ParserInputs(VOCABULARY)
    assert inputs.encode(()).shape == (0, COLUMNS)
    assert len(inputs.encode(tokenize("a " * (LONGEST + 5)))) == LONGEST


@given(st.text())
def test_every_number_has_a_place_and_memory_changes_nothing(text: str) -> None:
    inputs = ParserInputs(VOCABULARY)
    tokens = tokenize(text)
    found = inputs.encode(tokens)
    words = len(VOCABULARY)
    sizes = np.array([words, words, *HASHES, SHAPES, PLACES])
    assert len(found) == min(len(tokens), LONGEST)
    assert ((found >= 0) & (found < sizes)).all()
    assert np.array_equal(inputs.encode(tokens), found)
