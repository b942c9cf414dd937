"""The language of a dialogue."""

from __future__ import annotations

import pytest
from handmade import processor_seconds
from hypothesis import given
from strategies import histories, texts

from queen_sdk.language import detect_language

ENGLISH = "Where is the cheap restaurant?"
CHINESE = "北京的天气怎么样"


@pytest.mark.parametrize(
    ("utterance", "language"),
    [
        ("No, he does not care.", "en"),
        ("Call me as soon as possible, as well as him.", "en"),
        ("Do you like La La Land?", "en"),
        ("Ｗｈｅｒｅ ｉｓ ｈｅ？", "en"),
        ("他喜欢吃什么", "zh"),
        ("他喜歡吃什麼，臺灣的天氣呢", "zh"),
        ("iPhone 15 的价格是多少", "zh"),
        ("Samsung Galaxy 的价格呢", "zh"),
        ("What does the character 他 mean in this book?", "en"),
        ("ㄏㄏ 好啊", "zh"),
        ("今日の天気はどうですか", "ja"),
        ("날씨가 어때요", "ko"),
        ("كيف الطقس اليوم؟", "ar"),
        ("какая сегодня погода", "ru"),
        ("τι κάνεις σήμερα", "el"),
        ("מה שלומך היום", "he"),
        ("आज मौसम कैसा है", "hi"),
        ("วันนี้อากาศเป็นอย่างไร", "th"),
        ("Quel temps fait-il à Paris et dans les Alpes ?", "fr"),
        ("Wie ist das Wetter und was kostet es?", "de"),
        ("¿Qué tiempo hace en Madrid y por qué?", "es"),
        ("Quanto costa e dove sono gli altri?", "it"),
        ("Quanto custa e onde você está? Não sei.", "pt"),
        ("Hoe is het weer en wat kost dat?", "nl"),
        ("Thời tiết hôm nay có mưa không, và tôi", "vi"),
        ("আজ আবহাওয়া কেমন", "und"),
        ("დღეს როგორი ამინდია", "und"),
        ("இன்று வானிலை எப்படி", "und"),
        ("ዛሬ የአየር ሁኔታ", "und"),
    ],
)
def test_the_utterance_shows_the_language(utterance: str, language: str) -> None:
    assert detect_language([], utterance) == language


@pytest.mark.parametrize("utterance", ["", " ", "123 456!", "👩‍👩‍👧 👍", "\ud800\x00", "？！"])
def test_a_dialogue_without_letters_is_english(utterance: str) -> None:
    assert detect_language(["...", ""], utterance) == "en"


@pytest.mark.parametrize("utterance", ["？", "👍", "5", "OK"])
@pytest.mark.parametrize(("history", "language"), [(CHINESE, "zh"), (ENGLISH, "en")])
def test_the_history_decides_where_the_utterance_does_not(
    history: str, language: str, utterance: str
) -> None:
    assert detect_language([history], utterance) == language


def test_the_utterance_counts_more_than_its_history() -> None:
    assert detect_language(["hello there friend"], "날씨가 어때요 오늘은") == "ko"
    assert detect_language([CHINESE], "Where does he want to go then?") == "en"


def test_a_stray_kana_is_a_decoration() -> None:
    assert detect_language([], "这个の味道真的很不错啊") == "zh"


@pytest.mark.parametrize(
    "history", [["한국어" * 2_000, f"{CHINESE}……，，" * 200], [CHINESE * 5_000]]
)
def test_only_the_newest_part_of_a_long_history_counts(history: list[str]) -> None:
    assert detect_language(history, "他呢") == "zh"


@given(histories, texts)
def test_any_text_has_a_language(history: list[str], utterance: str) -> None:
    assert detect_language(history, utterance).islower()


def test_long_histories_cost_no_more_than_short_ones() -> None:
    history, utterance = ["他喜欢 abc " * 100_000] * 1_000, "abc 他 " * 100_000
    assert processor_seconds(lambda: detect_language(history, utterance)) < 0.1
