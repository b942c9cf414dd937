from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from queen_sdk.data.corpus import Part
from queen_sdk.data.examples import Example
from queen_sdk.data.followups.frames import HELD_OUT
from queen_sdk.data.followups.generator import generate
from queen_sdk.data.mining import supervise_example
from queen_sdk.data.readers import CORPORA, load
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.rows import ExtraWords

EXTRA_WORDS = {
    "en": ExtraWords(before=("of", "about", "any", "the", "for", "in", "besides"), after=("'s",)),
    "zh": ExtraWords(before=("和", "在"), after=("的", "是", "了")),
}
FEW = 10
PARTS: tuple[Part, ...] = ("train", "eval")


@pytest.fixture(scope="module", params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def examples(language: str) -> list[Example]:
    return load(f"followups-{language}")


@pytest.fixture(scope="module")
def few(language: str) -> list[Example]:
    return generate(language, per_frame=FEW)


def frame_of(example: Example) -> int:
    return int(example.id.split(":")[1].split(".")[0])


def test_corpus_is_large_and_no_dialogue_comes_twice(examples: list[Example]) -> None:
    assert len({(e.history, e.utterance) for e in examples}) == len(examples) >= 4_000
    assert len({e.id for e in examples}) == len(examples)


def test_no_frame_and_no_utterance_dominates(examples: list[Example]) -> None:
    frames = Counter(map(frame_of, examples))
    assert len(frames) >= 70
    assert max(frames.values()) <= 1.2 * min(frames.values())
    said = Counter(e.utterance.casefold().strip("?.!？。！") for e in examples)
    assert said.most_common(1)[0][1] <= len(examples) / 100
    assert len(said) >= len(examples) / 3


def test_small_talk_of_the_evaluation_part_is_not_trained_on(examples: list[Example]) -> None:
    held_out = {"I have no idea.", "I forgot my password.", "我忘记密码了", "怎么注册会员？"}
    said = [e for e in examples if e.utterance in held_out and e.utterance == e.reference]
    assert said
    assert all(frame_of(e) >= HELD_OUT for e in said)


def test_a_third_stays_unchanged(examples: list[Example]) -> None:
    unchanged = sum(e.utterance == e.reference for e in examples)
    assert 0.30 <= unchanged / len(examples) <= 0.36


def test_references_are_made_by_copying(language: str, few: list[Example]) -> None:
    found = [supervise_example(e, EXTRA_WORDS[language]) for e in few]
    assert sum(s.exact for s in found) >= 0.98 * len(found)
    single = [all(len(edit.pieces) == 1 for edit in s.edits) for s in found]
    assert sum(single) >= 0.9 * len(single)  # what decoding prefers


def test_histories_are_short_and_long_and_never_empty(examples: list[Example]) -> None:
    lengths = Counter(len(e.history) for e in examples)
    assert set(lengths) >= {1, 2, 3, 4, 6}
    assert max(lengths) == 6
    assert all(turn.text.strip() for e in examples for turn in e.history)
    assert {turn.role for e in examples for turn in e.history} == {"user", "assistant"}


def test_bots_never_speak_twice_in_a_row(few: list[Example]) -> None:
    for e in few:
        roles = [turn.role for turn in e.history]
        assert ("assistant", "assistant") not in set(pairwise(roles)), e.id


def test_nothing_of_a_template_is_left(examples: list[Example]) -> None:
    for e in examples:
        for text in (e.utterance, e.reference, *(turn.text for turn in e.history)):
            assert not set(text) & set("{}[]|"), e.id
            assert "  " not in text, e.id


def test_some_write_carelessly(examples: list[Example], language: str) -> None:
    marked = sum(e.utterance.endswith(("?", "？")) for e in examples)
    assert 0.2 < marked / len(examples) < 0.7
    if language == "en":
        lower = sum(e.utterance.islower() for e in examples)
        assert 0.3 < lower / len(examples) < 0.6
        assert any(e.utterance.isupper() for e in examples)


def test_same_seed_same_examples(language: str, few: list[Example]) -> None:
    assert generate(language, per_frame=FEW) == few
    assert generate(language, per_frame=FEW, seed=14) != few


def test_fewer_per_frame_are_a_beginning_of_more(
    language: str, few: list[Example], examples: list[Example]
) -> None:
    more = {e.id: e for e in examples}
    assert all(more[e.id] == e for e in few)


def test_evaluation_part_has_frames_of_its_own(language: str, examples: list[Example]) -> None:
    corpus = CORPORA[f"followups-{language}"]
    parts = {part: corpus.select(examples, part) for part in PARTS}
    frames = {part: set(map(frame_of, found)) for part, found in parts.items()}
    assert len(frames["train"]) >= 60
    assert len(frames["eval"]) == 10
    assert max(frames["train"]) < HELD_OUT <= min(frames["eval"])
    assert parts["train"] + parts["eval"] == examples


def test_other_corpora_still_need_a_path() -> None:
    with pytest.raises(InvalidArgumentError, match="task is read from a file: give its path"):
        load("task")
