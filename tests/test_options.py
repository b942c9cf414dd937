"""Options of a call: good ones pass as they are, bad ones say what came and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import CallOptions, at_least_one

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize("value", [None, 0, -3, 0.1, -1e300])
def test_any_finite_threshold_is_taken(value: float | None) -> None:
    assert CallOptions(threshold=value).threshold == value


@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY, 10**400, True, "0.1", 1j, [0.1]])
def test_other_thresholds_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^threshold must be a finite number, got "):
        CallOptions(threshold=value)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1, 1.0])
def test_a_confidence_is_a_probability(value: float) -> None:
    assert CallOptions(min_confidence=value).min_confidence == value


@pytest.mark.parametrize("value", [-0.01, 1.01, NAN, INFINITY, -1, True, "1", None])
def test_other_confidences_are_refused(value: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"^min_confidence must be between 0 and 1, got "
    ):
        CallOptions(min_confidence=value)


@pytest.mark.parametrize("terms", [("A-1", "B"), ["A-1", "B"], iter(["A-1", "B"])])
def test_protected_terms_become_a_tuple(terms: Any) -> None:
    assert CallOptions(protect=terms).protect == ("A-1", "B")


@pytest.mark.parametrize("terms", ["A-1", b"A-1", None, 7])
def test_terms_that_are_no_list_are_refused(terms: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^protect must be a sequence of terms, got "):
        CallOptions(protect=terms)


@pytest.mark.parametrize("term", ["", " \t", 5, None, b"A-1", ["A-1"]])
def test_terms_that_are_no_text_are_refused(term: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^protect must hold non-empty strings, got "):
        CallOptions(protect=["fine", term])


@pytest.mark.parametrize("value", [1, 32, 10**9])
def test_positive_whole_numbers_pass(value: int) -> None:
    assert at_least_one("batch_size", value) == value


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "2", None, NAN])
def test_other_numbers_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^batch_size must be a whole number of at"):
        at_least_one("batch_size", value)
