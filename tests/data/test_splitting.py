"""Holding out dialogues."""

from __future__ import annotations

from queen_sdk.data.examples import Example
from queen_sdk.data.splitting import carve, dialogues_of
from queen_sdk.values import Turn


def dialogues(corpus: str, count: int) -> list[Example]:
    return [
        Example((Turn("hello"),), utterance="a", reference="b", id=f"{corpus}:{k}.{turn}")
        for k in range(count)
        for turn in range(3)
    ]


def test_whole_dialogues_are_held_out() -> None:
    training, held_out = carve(dialogues("task", 100), 0.1, seed=13)
    sides = [{e.id.rsplit(".")[0] for e in side} for side in (training, held_out)]
    assert [len(side) for side in sides] == [90, 10]
    assert not sides[0] & sides[1]


def test_other_corpora_do_not_change_what_is_held_out() -> None:
    task, qrecc = dialogues("task", 50), dialogues("qrecc", 80)
    alone = carve(task, 0.1, seed=13)[1]
    together = carve(qrecc + task, 0.1, seed=13)[1]
    assert [e for e in together if e.id.startswith("task")] == alone
    assert len(together) > len(alone)
    assert carve(task, 0.1, seed=14)[1] != alone


def test_a_smaller_share_holds_out_some_of_the_same() -> None:
    task = dialogues("task", 50)
    less, more = (carve(task, share, seed=13)[1] for share in (0.1, 0.2))
    assert all(example in more for example in less)


def test_what_was_held_out_before_is_held_out_again() -> None:
    task, qrecc = dialogues("task", 50), dialogues("qrecc", 50)
    before = dialogues_of(carve(task, 0.1, seed=1)[1])
    assert list(before) == ["task"]
    assert len(before["task"].split()) == 5
    training, held_out = carve(task + qrecc, 0.2, seed=2, before=before)
    assert dialogues_of(held_out)["task"] == before["task"]
    assert len(dialogues_of(held_out)["qrecc"].split()) == 10
    assert len(training) == 300 - 3 * 15
