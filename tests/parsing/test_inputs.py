"""What the embedded parsers see."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from queen_sdk.parsing.embedded import MODELS, VOCABULARY_FILE
from queen_sdk.parsing.inputs import COLUMNS, HASHES, LONGEST, PLACES, SHAPES, Ids, ParserInputs
from queen_sdk.tokenization import tokenize

VOCABULARY = ("[UNK]", "the", "好", ",", "喜欢", "电影院", "电影")


def read(inputs: ParserInputs, text: str) -> tuple[list[str], Ids]:
    units = [text[start:end] for start, end in inputs.cut(text)]
    return units, inputs.encode(units)


def test_known_words_have_their_number_whatever_the_case() -> None:
    _, rows = read(ParserInputs(VOCABULARY), "the THE other")
    assert rows[:, 0].tolist() == [1, 1, 0]


def test_chinese_marks_are_as_good_as_western_ones() -> None:
    inputs = ParserInputs(VOCABULARY)
    assert np.array_equal(inputs.encode(["好", "，"]), inputs.encode(["好", ","]))


def test_a_character_is_seen_with_its_neighbours() -> None:
    inputs = ParserInputs(VOCABULARY)
    first, second = inputs.encode(["他", "好"])[1], inputs.encode(["好", "人"])[0]
    assert first[:3].tolist() == second[:3].tolist()
    assert first[3] != second[3]
    assert first[4] != second[4]


def test_chinese_words_are_one_unit_longest_first() -> None:
    units, rows = read(ParserInputs(VOCABULARY), "我喜欢电影院，好电影")
    assert units == ["我", "喜欢", "电影院", "，", "好", "电影"]
    assert rows[:, 0].tolist() == [0, 4, 5, 3, 2, 6]
    assert rows[:, -1].tolist() == [0, 1, 2, 0, 0, 1]


def test_a_word_is_seen_whole_and_by_its_ends() -> None:
    inputs = ParserInputs((*VOCABULARY, "好看", "看"))
    alone, before_it, behind_it = (
        inputs.encode(units)[place]
        for units, place in ((["好看"], 0), (["看", "好看"], 1), (["好看", "看"], 0))
    )
    assert alone[1] == inputs.encode(["好"])[0][1]
    assert alone[2] == inputs.encode(["看"])[0][2]
    assert alone.tolist() == behind_it.tolist()
    assert before_it[4] != alone[4]
    assert inputs.encode(["人", "好看"])[1][3] == alone[3] != inputs.encode(["喜欢"])[0][3]
    assert inputs.encode(["喜欢", "人"])[1][4] == inputs.encode(["欢", "人"])[1][4]


def test_what_stands_apart_is_no_word() -> None:
    inputs = ParserInputs((*VOCABULARY, "한국"))
    assert inputs.cut("喜 欢") == [(0, 1), (2, 3)]
    assert inputs.cut("喜\u200b欢") == [(0, 1), (2, 3)]
    assert inputs.cut("喜欢\ufe00") == [(0, 1), (1, 3)]
    assert inputs.cut("한국어") == [(0, 3)]


def test_no_word_goes_beyond_the_last_token_that_is_looked_at() -> None:
    text = "好" * (LONGEST - 1) + "喜欢"
    assert ParserInputs(VOCABULARY).cut(text)[-1] == (LONGEST - 1, LONGEST)


def test_without_chinese_words_the_units_are_the_tokens() -> None:
    """So it is for the English parser, whatever the text."""
    words = (MODELS / "en" / VOCABULARY_FILE).read_text(encoding="utf-8").split("\n")
    for text in ("No, he doesn't care.", "我喜欢电影院", "iPhone 3.5寸 👍🏽"):
        expected = [(token.start, token.end) for token in tokenize(text)]
        assert ParserInputs(words).cut(text) == expected


def test_the_shape_tells_case_digits_marks_and_chinese() -> None:
    _, rows = read(ParserInputs(VOCABULARY), "low Up UPPER iPhone 3.5 ! 好")
    assert rows[:, -2].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_no_token_and_too_many_tokens() -> None:
    inputs = ParserInputs(VOCABULARY)
    assert inputs.encode(()).shape == (0, COLUMNS)
    assert len(inputs.cut("a " * (LONGEST + 5))) == LONGEST


@given(st.text() | st.text("喜欢电影院好，the 한"))
def test_every_number_has_a_place_and_memory_changes_nothing(text: str) -> None:
    inputs = ParserInputs(VOCABULARY)
    units, found = read(inputs, text)
    words = len(VOCABULARY)
    sizes = np.array([words, words, *HASHES, SHAPES, PLACES])
    assert "".join(units) == "".join(token.text for token in tokenize(text)[:LONGEST])
    assert len(found) == len(units)
    assert ((found >= 0) & (found < sizes)).all()
    assert np.array_equal(inputs.encode(units), found)
