"""Alignments: what differs is named, what is common is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queen_sdk.data.alignment import Difference, alignments, slides

LINES = st.lists(st.sampled_from("abc"), max_size=8)


def rebuilt(
    utterance: Sequence[str], reference: Sequence[str], differences: Sequence[Difference]
) -> list[str]:
    built: list[str] = []
    done = 0
    for difference in differences:
        built += utterance[done : difference.start]
        built += reference[difference.ref_start : difference.ref_end]
        done = difference.end
    return built + list(utterance[done:])


@pytest.mark.parametrize(
    ("utterance", "reference", "expected"),
    [
        ("he is", "smith is", [(0, 1, 0, 1)]),
        ("he is ok", "john smith is ok", [(0, 1, 0, 2)]),
        ("is ok", "smith is ok", [(0, 0, 0, 1)]),
        ("he is", "he is here now", [(2, 2, 2, 4)]),
        ("well he is", "he is", [(0, 1, 0, 0)]),
        ("a b", "a b", []),
        ("he saw her", "smith saw anna", [(0, 1, 0, 1), (2, 3, 2, 3)]),
        ("", "a", [(0, 0, 0, 1)]),
        ("a", "", [(0, 1, 0, 0)]),
    ],
)
def test_clear_cases_have_one_alignment(
    utterance: str, reference: str, expected: list[tuple[int, int, int, int]]
) -> None:
    for differences in alignments(utterance.split(), reference.split()):
        assert differences == [Difference(*numbers) for numbers in expected]


@given(LINES, LINES)
def test_every_alignment_leads_to_the_reference(utterance: list[str], reference: list[str]) -> None:
    found = list(alignments(utterance, reference))
    assert len(found) == 3
    for differences in found:
        assert rebuilt(utterance, reference, differences) == reference


@given(LINES, LINES)
def test_differences_stand_apart(utterance: list[str], reference: list[str]) -> None:
    for differences in alignments(utterance, reference):
        for left, right in pairwise(differences):
            assert left.end < right.start
            assert left.ref_end < right.ref_start


@given(LINES, LINES)
def test_a_common_subsequence_is_the_longest(utterance: list[str], reference: list[str]) -> None:
    first, mirrored, blocks = (
        len(utterance) - sum(d.end - d.start for d in differences)
        for differences in alignments(utterance, reference)
    )
    assert first == mirrored >= blocks


@pytest.mark.parametrize(
    ("difference", "reference", "starts"),
    [
        (Difference(1, 1, 1, 3), "a b a c", {0, 1}),
        (Difference(0, 0, 0, 2), "a b a c", {0, 1}),
        (Difference(1, 1, 1, 2), "a a", {0, 1}),
        (Difference(1, 1, 1, 2), "a b c", {1}),
        (Difference(1, 2, 1, 2), "a a a", {1}),
    ],
)
def test_an_insertion_slides_along_equal_words(
    difference: Difference, reference: str, starts: set[int]
) -> None:
    assert {option.start for option in slides(difference, reference.split())} == starts


@given(LINES, st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.data())
def test_every_slide_inserts_the_same(
    utterance: list[str], inserted: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(utterance)))
    reference = utterance[:place] + inserted + utterance[place:]
    start = Difference(place, place, place, place + len(inserted))
    options = list(slides(start, reference))
    assert options[0] == start
    for option in options:
        assert rebuilt(utterance, reference, [option]) == reference
    assert len(set(options)) == len(options)
