"""The bundles that come with the package: there, small, checked, and as good as they say."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from queen_sdk import Rewriter
from queen_sdk.bundle import embedded_bundles, load_bundle, read_card
from queen_sdk.bundle.card import card_text
from queen_sdk.bundle.files import sha256_of
from queen_sdk.data.readers import load
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.evaluation.metrics import exact_match
from queen_sdk.tokenization import tokenize

DIALOGUES = {
    "zh": [
        (["周杰伦的新专辑你听了吗", "听了，里面有几首歌特别好听"], "他还出过哪些专辑"),
        (["史密斯需要在附近找一家昂贵的餐馆。", "史密斯关心菜肴的类型吗？"], "不，他不关心。"),
        (["我想吃火锅", "附近有一家海底捞"], "它几点关门"),
        (["你有女朋友吗", "没有啊"], "为什么没有"),
        (["周杰倫的新專輯你聽了嗎", "聽了，很好聽"], "他還出過哪些專輯"),
    ],
    "en": [
        (["I want Korean food.", "Little Seoul serves Korean food."], "What is the address?"),
        (
            ["Do you sell the RTX-4090?", "Yes, the RTX-4090 is $1,599."],
            "Does it come with a case?",
        ),
        (["Where is the Golden Wok?", "At 191 Histon Road."], "Thank you, goodbye."),
    ],
}
EVALUATED = {"zh": ("rewrite", 62.0), "en": ("task", 68.0)}


@pytest.fixture(params=sorted(DIALOGUES))
def language(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def rewriter(language: str) -> Iterator[Rewriter]:
    with Rewriter(language) as opened:
        yield opened


def test_both_are_there() -> None:
    assert set(embedded_bundles()) >= set(DIALOGUES)


def test_a_bundle_is_small_enough_to_ship(language: str) -> None:
    bundle = load_bundle(language)
    assert sum((bundle.directory / name).stat().st_size for name in bundle.manifest.files) < 40e6


def test_the_manifest_holds_the_checks_of_the_export(language: str) -> None:
    checks = load_bundle(language).manifest.scores["export"]
    assert checks["examples"] >= 200
    assert checks["float32"]["max_difference"] < 1e-4
    assert checks["float32"]["batch_difference"] < 1e-4


def test_the_manifest_says_how_it_was_made(language: str) -> None:
    training = load_bundle(language).manifest.training
    assert training["encoder"]["licence"]
    assert all(origin["licence"] for origin in training["data"])
    assert "carved from the training part" in training["protocol"]
    parser = load_bundle(language).manifest.parser
    assert ("by the parser" if parser else "both ends") in training["ellipsis"]


def test_the_card_is_that_of_this_version_and_filled_in(language: str) -> None:
    bundle = load_bundle(language)
    text = read_card(bundle)
    assert card_text(bundle.manifest, text) == text
    assert bundle.manifest.files["CARD.md"] == sha256_of(bundle.directory / "CARD.md")
    assert "o be filled in" not in text
    for section in ("## Known failures", "## What it must not be used for"):
        assert text.count(section) == 1


def test_a_batch_gives_exactly_what_single_calls_give(rewriter: Rewriter, language: str) -> None:
    dialogues = DIALOGUES[language]
    assert rewriter.rewrite_batch(dialogues) == [rewriter.rewrite(*d) for d in dialogues]


def test_every_word_comes_from_the_dialogue(rewriter: Rewriter, language: str) -> None:
    declared = {word.casefold() for word in load_bundle(language).manifest.extra_words.all}
    for history, utterance in DIALOGUES[language]:
        said = {t.text.casefold() for text in (*history, utterance) for t in tokenize(text)}
        text = rewriter.rewrite(history, utterance).text
        assert {t.text.casefold() for t in tokenize(text)} <= said | declared


def test_traditional_characters_stay_traditional() -> None:
    with Rewriter() as rewriter:
        result = rewriter.rewrite(["劉德華多大了", "他今年六十多歲"], "他演過什麼電影")
    assert result.text == "劉德華演過什麼電影"


def test_an_exact_match_is_as_the_manifest_says(rewriter: Rewriter, language: str) -> None:
    data = os.environ.get("QUEEN_DATA")
    if not data:
        pytest.skip("QUEEN_DATA does not point to the corpora")
    if language == "en":
        pytest.importorskip("spacy", reason="English metric tokens need spaCy")
    corpus, least = EVALUATED[language]
    examples = load(corpus, data, "eval")
    found = rewriter.rewrite_many((e.history, e.utterance) for e in examples)
    measured = exact_match(
        [metric_tokens(result.text, language) for result in found],
        [metric_tokens(example.reference, language) for example in examples],
    )
    recorded = load_bundle(language).manifest.scores["evaluation"][corpus]["exact_match"]
    assert measured == pytest.approx(recorded, abs=0.3)
    assert measured >= least
