from __future__ import annotations

import pytest

from queen_sdk.data.examples import Example
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.baselines import copy, pronoun_substitution
from queen_sdk.values import Turn


def example(utterance: str, *history: str) -> Example:
    return Example(tuple(map(Turn, history)), utterance=utterance, reference="", id="test:1")


def test_copy_returns_the_utterance_itself() -> None:
    utterance = "He  does not care. "
    assert copy(example(utterance, "Smith")) is utterance


@pytest.mark.parametrize(
    ("history", "utterance", "rewritten"),
    [
        (["Did Frank Zappa tour?", "Yes, with a band."], "Was he ill?", "Was Frank Zappa ill?"),
        (["I met Ann.", "I know Bob Ray's dog."], "Call him!", "Call Bob Ray!"),
        (["Who wrote the Lord of the Rings?"], "Is it long?", "Is Lord of the Rings long?"),
        (["is there a cheap restaurant?"], "where is it", "where is a cheap restaurant"),
        (["Ann sang."], "What was his band's name?", "What was Ann's band's name?"),
        (["Ann sang."], "Is it hers?", "Is Ann Ann's?"),
        (["Ann sang."], "Did her song help her to win her?", "Did Ann's song help Ann to win Ann?"),
        (["Ann sang."], "It's good", "Ann's good"),
        (["Ann sang."], "Did that item work there?", "Did that item work there?"),
    ],
)
def test_english_pronouns_become_the_last_name_or_noun(
    history: list[str], utterance: str, rewritten: str
) -> None:
    assert pronoun_substitution(example(utterance, *history), "en") == rewritten


@pytest.mark.parametrize(
    ("history", "utterance", "rewritten"),
    [
        (["你认识贝多芬吗", "很厉害的音乐家"], "他怎么样", "贝多芬怎么样"),
        (["我不知道赵雷是谁啊", "赵雷的歌词都写得挺好"], "放首他的歌听听", "放首赵雷的歌听听"),
        (["你喜欢黑猫警长吗"], "他们是谁", "黑猫警长是谁"),
        (["你认识贝多芬吗"], "其他人呢", "其他人呢"),
        (["你认识贝多芬吗"], "这是什么", "这是什么"),
    ],
)
def test_chinese_pronouns_become_a_piece_of_the_history(
    history: list[str], utterance: str, rewritten: str
) -> None:
    assert pronoun_substitution(example(utterance, *history), "zh") == rewritten


@pytest.mark.parametrize(
    ("language", "utterance", "history"),
    [("en", "Is it?", []), ("en", "Is it?", ["yes"]), ("zh", "他呢", []), ("zh", "他呢", ["Bach"])],
)
def test_without_a_candidate_nothing_is_replaced(
    language: str, utterance: str, history: list[str]
) -> None:
    assert pronoun_substitution(example(utterance, *history), language) == utterance


def test_other_languages_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'en' or 'zh', got 'fr'"):
        pronoun_substitution(example("Il dort."), "fr")
