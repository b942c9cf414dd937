"""Treebank sentences as they might be typed."""

from __future__ import annotations

import random

from queen_sdk.data.chatty import chatty, lowered, without_marks
from queen_sdk.data.treebanks import Sentence
from queen_sdk.parsing.rule import Word

SENTENCE = Sentence(
    "He thinks I eat İt, Anna.",
    (
        Word("He", pos="PRON", head=1, label="nsubj", start=0),
        Word("thinks", pos="VERB", head=None, label="root", start=3),
        Word("I", pos="PRON", head=3, label="nsubj", start=10),
        Word("eat", pos="VERB", head=1, label="ccomp", start=12),
        Word("İt", pos="PRON", head=3, label="obj", start=16),
        Word(",", pos="PUNCT", head=6, label="punct", start=18),
        Word("Anna", pos="PROPN", head=1, label="vocative", start=20),
        Word(".", pos="PUNCT", head=1, label="punct", start=24),
    ),
)
MARKS_ONLY = Sentence("!", (Word("!", pos="PUNCT", head=None, label="root"),))


def texts(sentence: Sentence) -> list[str]:
    return [sentence.text[word.token.start : word.token.end] for word in sentence.words]


def test_lower_case_keeps_offsets() -> None:
    found = lowered(SENTENCE)
    assert found.text == "he thinks i eat İt, anna."
    assert texts(found) == [word.text for word in found.words]


def test_marks_are_left_out_and_heads_follow() -> None:
    found = without_marks(SENTENCE)
    assert found.text == "He thinks I eat İt Anna"
    assert [word.head for word in found.words] == [1, None, 3, 1, 3, 1]


def test_a_root_is_never_left_out() -> None:
    assert without_marks(MARKS_ONLY) is MARKS_ONLY


def test_whatever_comes_out_is_a_whole_tree() -> None:
    chance = random.Random(3)
    seen = set()
    for _ in range(300):
        found = chatty(SENTENCE, chance)
        seen.add(found.text)
        assert texts(found) == [word.text for word in found.words]
        assert sum(word.head is None for word in found.words) == 1
        assert all(w.head is None or 0 <= w.head < len(found.words) for w in found.words)
    assert {"I eat İt", "he thinks i eat İt anna", SENTENCE.text} <= seen
