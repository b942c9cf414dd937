from __future__ import annotations

import re

from queen_sdk.data.titles import stand_in_headings, stand_in_title

ANSWERS = ["He joined Green River in 1984, and later Mother Love Bone with Stone Gossard."]


def test_title_is_the_capitalised_text_that_rewrites_insert_most_often() -> None:
    turns = [
        ("Where was he born?", "Where was Jeff Ament born?"),
        ("And the band?", "And the band Green River?"),
        ("Did he paint?", "Did Jeff Ament paint?"),
    ]
    assert stand_in_title(turns) == "Jeff Ament"


def test_title_loses_the_genitive_and_marks() -> None:
    assert stand_in_title([("his wife?", "Jeff Ament's wife?")]) == "Jeff Ament"


def test_title_loses_a_preposition_in_front() -> None:
    turns = [("did he wrestle?", "did he wrestle with Matt Hardy?")]
    assert stand_in_title(turns) == "Matt Hardy"


def test_first_word_of_a_question_is_no_title() -> None:
    assert stand_in_title([("and then?", "What happened then?")]) == ""


def test_what_is_not_capitalised_is_no_title() -> None:
    assert stand_in_title([("Who is it?", "Who is the man?")]) == ""


def test_without_title_the_name_that_answers_have_most_often_is_one() -> None:
    answers = [*ANSWERS, "It was with Stone Gossard again."]
    assert stand_in_headings("", answers, seed="a")[0] == "Stone Gossard"


def test_without_any_name_there_is_no_heading() -> None:
    assert stand_in_headings("", ["Nobody knows."], seed="a") == ()


def test_headings_are_the_same_for_the_same_seed() -> None:
    first, second = (stand_in_headings("Jeff Ament", ANSWERS, seed="Who?") for _ in range(2))
    assert first == second


def test_headings_vary_and_start_with_the_title() -> None:
    found = [stand_in_headings("Jeff Ament", ANSWERS, seed=str(k)) for k in range(300)]
    assert all(one[0].startswith("Jeff Ament") for one in found)
    assert {len(one) for one in found} == {1, 2}
    sections = {one[1] for one in found if len(one) == 2}
    assert any(re.search(r"\d{4}-\d{4}", section) for section in sections)
    assert any("Green River" in section for section in sections)
    assert any(re.fullmatch(r"Jeff Ament \(\w+\)", one[0]) for one in found)
