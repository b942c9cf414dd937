from __future__ import annotations

import random

import pytest

from queen_sdk.data.followups.writing import Filling, Habit, Written, apply_edits, mistype
from queen_sdk.errors import DataError

LISTS = {"city": ("Oslo", "Lima"), "who": ("Ada/she",), "thing": ("a {colour} tent",)}
LISTS |= {"colour": ("orange",)}


@pytest.fixture
def filling() -> Filling:
    return Filling(LISTS, random.Random(1))


def test_slot_means_the_same_everywhere_and_its_second_another(filling: Filling) -> None:
    first, again, second = filling.write("{city} {city} {city2}").split()
    assert first == again
    assert {first, second} == {"Oslo", "Lima"}


def test_slots_have_fields_and_capitals_and_may_hold_slots(filling: Filling) -> None:
    assert filling.write("{who} {who/1} {Who/1}. {Thing}") == "Ada she She. An orange tent"


def test_choices_are_taken(filling: Filling) -> None:
    found = {filling.write("(a|b(c|d)|)") for _ in range(50)}
    assert found == {"a", "bc", "bd", ""}


@pytest.mark.parametrize("template", ["{town}", "{city3}", "{who/2}"])
def test_unknown_slots_are_named(filling: Filling, template: str) -> None:
    with pytest.raises(DataError, match=template[1:4]):
        filling.write(template)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Is [it>the tent] dry?", Written("Is it dry?", "Is the tent dry?", ("the tent",), True)),
        ("Why [>is it so]?", Written("Why?", "Why is it so?", ("is it so",), False)),
        ("那[>北京]七月[呢>热吗]", Written("那七月呢", "那北京七月热吗", ("北京", "热吗"), False)),
        ("Thanks!", Written("Thanks!", "Thanks!", (), True)),
    ],
)
def test_edits_are_applied(text: str, written: Written) -> None:
    assert apply_edits(text) == written


def test_habits_change_case_and_last_marks() -> None:
    assert Habit(lower=True).apply("Is Ada in?") == "is ada in?"
    assert Habit(upper=True, unmarked=True).apply("Is Ada in?") == "IS ADA IN"
    assert Habit(unmarked=True).apply("?") == "?"


def test_only_words_that_stay_are_mistyped() -> None:
    template = "[there>mountain] is another [>chance]"
    for seed in range(20):
        wrong = mistype(template, random.Random(seed))
        assert wrong != template
        assert apply_edits(wrong).copied == ("mountain", "chance")
        assert wrong.startswith("[there>mountain] is ")
    assert mistype("Is it?", random.Random(1)) == "Is it?"
