"""The rule from structure to ellipsis marks."""

from __future__ import annotations

import pytest

from queen_sdk.parsing import EllipsisEnds, Structure, ellipsis_ends


@pytest.mark.parametrize(
    ("subject", "verb", "has_object", "ends"),
    [
        (True, True, False, "end"),
        (True, True, True, "both"),
        (False, True, False, "begin"),
        (False, True, True, "begin"),
        (True, False, False, "begin"),
        (True, False, True, "begin"),
        (False, False, False, "begin"),
        (False, False, True, "begin"),
    ],
)
def test_ends_follow_the_structure(
    subject: bool, verb: bool, has_object: bool, ends: EllipsisEnds
) -> None:
    assert ellipsis_ends(Structure(subject, verb, has_object)) == ends


def test_both_ends_are_marked_without_a_parser() -> None:
    assert ellipsis_ends(None) == "both"
