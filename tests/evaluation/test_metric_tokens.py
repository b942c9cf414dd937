from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from queen_sdk.errors import InvalidArgumentError, MissingExtraError
from queen_sdk.evaluation import metric_tokens as module
from queen_sdk.evaluation.metric_tokens import metric_tokens


@pytest.fixture
def without_spacy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module._english_tokenizer.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    yield
    module._english_tokenizer.cache_clear()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("史密斯关心吗?", ["史", "密", "斯", "关", "心", "吗", "?"]),
        ("我的iPhone6  坏了", ["我", "的", "iphone6", "坏", "了"]),
        ("2019年 NBA", ["2019", "年", "nba"]),
        ("CAFÉ在哪", ["café", "在", "哪"]),
        (" \t\n", []),
        ("", []),
    ],
)
def test_chinese_is_cut_by_character_with_latin_runs_whole(text: str, tokens: list[str]) -> None:
    assert metric_tokens(text, "zh") == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("No, he doesn't care.", ["no", ",", "he", "does", "n't", "care", "."]),
        ("Smith's  type\nof cuisine?", ["smith", "'s", "type", "of", "cuisine", "?"]),
        ("The U.S. Army at 5 p.m.", ["the", "u.s.", "army", "at", "5", "p.m."]),
        ("  ", []),
    ],
)
def test_english_is_cut_by_spacys_rules(text: str, tokens: list[str]) -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    assert metric_tokens(text, "en") == tokens


@pytest.mark.usefixtures("without_spacy")
def test_english_without_spacy_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r"spaCy.*queen-sdk\[eval\]"):
        metric_tokens("Hello", "en")


@pytest.mark.usefixtures("without_spacy")
def test_chinese_needs_no_spacy() -> None:
    assert metric_tokens("你好", "zh") == ["你", "好"]


def test_other_languages_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'en' or 'zh', got 'fr'"):
        metric_tokens("Bonjour", "fr")
