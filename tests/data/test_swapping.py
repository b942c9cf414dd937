"""Other words in the same places of the tree."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from queen_sdk.data.swapping import Swapper
from queen_sdk.data.treebanks import Sentence
from queen_sdk.evaluation.parsing import gold_ends
from queen_sdk.parsing.rule import Word


def sentence(*words: tuple[str, str, int | None, str], space: str = " ") -> Sentence:
    made: list[Word] = []
    place = 0
    for text, pos, head, label in words:
        made.append(Word(text, pos=pos, head=head, label=label, start=place))
        place += len(text) + len(space)
    return Sentence(space.join(word.text for word in made), tuple(made))


def clause(subject: str, verb: str, thing: str | None = None, space: str = " ") -> Sentence:
    words = [(subject, "NOUN", 1, "nsubj"), (verb, "VERB", None, "root")]
    more = [] if thing is None else [(thing, "NOUN", 1, "obj")]
    return sentence(*words, *more, space=space)


BANK = [
    clause("cats", "sleep"),
    clause("dogs", "run"),
    clause("cows", "eat", "grass"),
    clause("children", "see", "films"),
    clause("猫", "睡觉", space=""),
    clause("孩子", "喜欢", "电影", space=""),
    clause("老师", "是", "朋友", space=""),
]


@given(st.sampled_from(BANK), st.integers())
def test_the_tree_stays_and_its_words_are_where_it_says(tree: Sentence, seed: int) -> None:
    swapped = Swapper(BANK).swap(tree, random.Random(seed))
    assert gold_ends(swapped) == gold_ends(tree)
    for word, before in zip(swapped.words, tree.words, strict=True):
        assert swapped.text[word.start : word.start + len(word.text)] == word.text
        assert (word.pos, word.head, word.label) == (before.pos, before.head, before.label)
        assert word.text.isascii() == before.text.isascii()


def test_words_stay_among_their_kind() -> None:
    swapper, chance = Swapper(BANK), random.Random(3)
    seen = {swapper.swap(BANK[0], chance).text for _ in range(200)}
    assert {"cats sleep", "dogs sleep", "cats run"} <= seen
    verbs = {text.split()[1] for text in seen}
    assert verbs == {"sleep", "run"}


def test_a_copula_stays_and_takes_no_place() -> None:
    swapper, chance = Swapper(BANK), random.Random(3)
    assert all(swapper.swap(BANK[6], chance).words[1].text == "是" for _ in range(50))
    assert all(swapper.swap(BANK[5], chance).words[1].text == "喜欢" for _ in range(50))
