"""Tokens: where they are cut, and that their offsets always slice back."""

from __future__ import annotations

import unicodedata

import pytest
from handmade import processor_seconds
from hypothesis import given
from strategies import ODD, texts

from queen_sdk.tokenization import is_mark, token_spans, tokenize


def words(text: str) -> list[str]:
    return [token.text for token in tokenize(text)]


class TestCuts:
    """What is one token and what is several."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("No, he does not care.", ["No", ",", "he", "does", "not", "care", "."]),
            ("Smith's don't we'll I'm", ["Smith", "'s", "don't", "we", "'ll", "I", "'m"]),
            ("Smith’s O’Brien", ["Smith", "’s", "O’Brien"]),
            ("'quoted'", ["'", "quoted", "'"]),
            ("a check-in at 5:30, 10,000 or 3.5", "a check-in at 5:30 , 10,000 or 3.5".split()),
            ("me@example.com user_name A&B", ["me@example.com", "user_name", "A&B"]),
            ("end.Next", ["end", ".", "Next"]),
            ("e.g.", ["e.g", "."]),
            ("(a) [b]", ["(", "a", ")", "[", "b", "]"]),
            ("wait...", ["wait", ".", ".", "."]),
            ("_he_ -x-", ["_", "he", "_", "-", "x", "-"]),
            ("[UNK]", ["[", "UNK", "]"]),
        ],
    )
    def test_english_is_cut_into_words_and_marks(self, text: str, expected: list[str]) -> None:
        assert words(text) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("他喜欢北京。", ["他", "喜", "欢", "北", "京", "。"]),
            (
                "iPhone15的价格是5,999元？",
                ["iPhone15", "的", "价", "格", "是", "5,999", "元", "？"],
            ),
            ("臺灣的天氣", ["臺", "灣", "的", "天", "氣"]),
            ("𠀀㐀〇々", ["𠀀", "㐀", "〇", "々"]),
            ("かなカナ", ["か", "な", "カ", "ナ"]),
            ("葛󠄀城", ["葛󠄀", "城"]),
        ],
    )
    def test_chinese_is_cut_into_characters(self, text: str, expected: list[str]) -> None:
        assert words(text) == expected

    @pytest.mark.parametrize("emoji", ["👍", "👍🏽", "👩‍👩‍👧", "🇩🇪", "#️⃣", "☀️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️‍🔥"])
    @pytest.mark.parametrize("around", ["{}", "a{}b", "他{}她", " {} "])
    def test_an_emoji_stays_whole(self, emoji: str, around: str) -> None:
        assert emoji in words(around.format(emoji))

    @pytest.mark.parametrize("around", ["{}", "a {} b", "他{}她"])
    def test_a_keycap_stays_whole(self, around: str) -> None:
        assert "1️⃣" in words(around.format("1️⃣"))

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("ｆｕｌｌ　ｗｉｄｔｈ！", ["ｆｕｌｌ", "ｗｉｄｔｈ", "！"]),
            ("cafe\u0301 naïve", ["cafe\u0301", "naïve"]),
            ("한국어 مرحبا", ["한국어", "مرحبا"]),
        ],
    )
    def test_other_letters_make_words(self, text: str, expected: list[str]) -> None:
        assert words(text) == expected

    @pytest.mark.parametrize(
        "nothing", ["", " \t\n\u3000", "\ud800\udfff", "\x00\x1f\x7f", "\u200b\u200f\u202e\ufeff"]
    )
    def test_some_characters_belong_to_no_token(self, nothing: str) -> None:
        assert words(nothing) == []
        assert words(f"a{nothing}。{nothing}b") == ["a", "。", "b"]


class TestOffsets:
    """Tokens are slices of the text."""

    @given(texts)
    def test_spans_are_those_of_the_first_tokens(self, text: str) -> None:
        assert token_spans(text, 3) == [(t.start, t.end) for t in tokenize(text)[:3]]

    @given(texts)
    def test_offsets_slice_back(self, text: str) -> None:
        for token in tokenize(text):
            assert text[token.start : token.end] == token.text

    @given(texts)
    def test_tokens_are_ordered_apart_and_never_empty(self, text: str) -> None:
        done = 0
        for token in tokenize(text):
            assert done <= token.start < token.end <= len(text)
            done = token.end

    @given(texts)
    def test_tokens_hold_no_white_space_control_or_surrogate(self, text: str) -> None:
        for token in tokenize(text):
            assert not any(character.isspace() for character in token.text)
            assert not {unicodedata.category(c) for c in token.text} & {"Cc", "Cs"}

    @given(texts)
    def test_no_letter_or_digit_is_lost(self, text: str) -> None:
        covered = {k for token in tokenize(text) for k in range(token.start, token.end)}
        assert all(k in covered for k, character in enumerate(text) if character.isalnum())

    @given(texts)
    def test_a_token_alone_begins_a_token(self, text: str) -> None:
        for token in tokenize(text):
            assert tokenize(token.text)[0].start == 0

    @given(texts, texts)
    def test_a_start_skips_what_is_before_it(self, skipped: str, text: str) -> None:
        offset = len(skipped) + 1
        shifted = [(t.text, t.start - offset) for t in tokenize(f"{skipped} {text}", start=offset)]
        assert shifted == [(t.text, t.start) for t in tokenize(text)]


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a ",
        "他",
        "a-",
        "-",
        "_",
        "a'",
        "'",
        "'s",
        "1,",
        "1:",
        ".",
        "a.",
        "👩\u200d",
        *ODD[:12],
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(count: int) -> float:
        text = "x" + unit * count
        return processor_seconds(lambda: tokenize(text))

    # Linear is 8 times, quadratic 64.
    assert seconds(40_000) < 30 * seconds(5_000) + 0.01


class TestWithoutMarks:
    """Tokens for a model that never saw punctuation."""

    def test_punctuation_belongs_to_no_token_and_offsets_stay(self) -> None:
        text = "不，他“不关心”。OK！"
        tokens = tokenize(text, marks=False)
        assert [token.text for token in tokens] == ["不", "他", "不", "关", "心", "OK"]
        assert all(text[token.start : token.end] == token.text for token in tokens)

    @pytest.mark.parametrize("text", ["'s", "50", "%", "#", "$", "😀", "RTX-4090", "他"])
    def test_what_means_something_is_no_mark(self, text: str) -> None:
        assert not is_mark(text)

    @pytest.mark.parametrize("text", [",", "。", "？", "…", "“", "(", "-", "、"])
    def test_punctuation_is(self, text: str) -> None:
        assert is_mark(text)
