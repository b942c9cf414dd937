"""The values: frozen, comparable, printable, and ready for JSON."""

from __future__ import annotations

import json

import attrs
import pytest

from queen_sdk.values import Edit, RewriteResult, Source, Timings, Token, Turn

SOURCE = Source(1, start=5, end=10, text="Smith")
WORD = Source(None, start=0, end=2, text="of")
SUBSTITUTE = Edit("substitute", start=4, end=6, text="Smith", sources=(SOURCE,), score=2.5)
INSERT = Edit("insert", start=9, end=9, text=" of Smith", sources=(WORD, SOURCE), score=0.126)
RESULT = RewriteResult("a", original="b", edits=(SUBSTITUTE, INSERT), confidence=0.5, language="en")


@pytest.mark.parametrize(
    "value", [Turn("a"), Token("a", start=0, end=1), SOURCE, INSERT, Timings(), RESULT]
)
def test_values_are_frozen(value: attrs.AttrsInstance) -> None:
    field = attrs.fields(type(value))[0].name
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(value, field, "b")


@pytest.mark.parametrize("kind", [Turn, Token, Source, Edit, Timings, RewriteResult])
def test_fields_behind_the_first_need_their_name(kind: type[attrs.AttrsInstance]) -> None:
    positional = [field.name for field in attrs.fields(kind) if not field.kw_only]
    assert positional == [field.name for field in attrs.fields(kind)][: len(positional)]
    assert len(positional) <= 1


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (SUBSTITUTE, "substitute [4:6] 'Smith' from turn 1 [5:10] (score 2.50)"),
        (INSERT, "insert at 9 'of Smith' from extra word 'of', turn 1 [5:10] (score 0.13)"),
    ],
)
def test_an_edit_tells_its_story_in_one_line(edit: Edit, shown: str) -> None:
    assert str(edit) == shown


def test_a_result_changed_if_it_has_edits() -> None:
    assert RESULT.changed
    assert not RewriteResult("a", original="a").changed


def test_timings_are_no_part_of_equality() -> None:
    slow = attrs.evolve(RESULT, timings=Timings(run=100.0))
    assert slow == RESULT
    assert slow.timings != RESULT.timings
    assert attrs.evolve(RESULT, confidence=0.4) != RESULT


def test_total_is_the_sum_of_all_stages() -> None:
    stages = {field.name: 2.0**k for k, field in enumerate(attrs.fields(Timings))}
    assert Timings(**stages).total == 2.0 ** len(stages) - 1


def test_to_dict_has_every_field_under_its_name() -> None:
    shown = json.loads(json.dumps(RESULT.to_dict()))
    assert shown.keys() == {*attrs.fields_dict(RewriteResult), "changed"}
    assert shown["edits"][1] == {
        "kind": "insert",
        "start": 9,
        "end": 9,
        "text": " of Smith",
        "sources": [
            {"turn": None, "start": 0, "end": 2, "text": "of"},
            {"turn": 1, "start": 5, "end": 10, "text": "Smith"},
        ],
        "score": 0.126,
    }
    assert shown["changed"] is True
    assert shown["timings"].keys() == {*attrs.fields_dict(Timings), "total"}


@pytest.mark.parametrize("text", ["Smith", "他", "\ud800", "\x00\u200f", "👩‍👩‍👧"])
def test_to_dict_goes_through_json(text: str) -> None:
    edit = attrs.evolve(SUBSTITUTE, text=text)
    result = RewriteResult(text, original=text, edits=(edit,))
    shown = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (shown["text"], shown["original"], shown["edits"][0]["text"]) == (text, text, text)
