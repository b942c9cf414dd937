from typing import Any

import pytest

from queen_sdk.bundle.free_form import figure, origins, part


@pytest.mark.parametrize("entry", [None, "text", 3, [], {}, {"a": 1}, {"a": "text"}])
def test_what_is_no_mapping_is_an_empty_part(entry: object) -> None:
    assert part(entry, "a") == {}


def test_a_part_is_what_stands_under_its_name() -> None:
    assert part({"a": {"b": 1}}, "a") == {"b": 1}


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ({"x": 1.5}, 1.5),
        ({"x": 0}, 0),
        ({"x": True}, None),
        ({"x": "1"}, None),
        ({}, None),
        (7, None),
    ],
)
def test_only_numbers_are_figures(entry: object, value: float | None) -> None:
    assert figure(entry, "x") == value


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (None, []),
        ({}, []),
        ("my data", ["my data"]),
        ({"name": "TASK", "licence": "MIT"}, ["TASK (licence: MIT)"]),
        (
            [{"name": "a"}, {"licence": "MIT"}],
            ["a (licence: not stated)", "unnamed (licence: MIT)"],
        ),
    ],
)
def test_origins_come_with_their_licences(entry: Any, said: list[str]) -> None:
    assert origins(entry) == said
