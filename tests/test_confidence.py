"""Confidence: a probability that grows with how clear the scores were."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queen_sdk.confidence import ConfidenceSettings, clearness, confidence
from queen_sdk.decoding import Decoding, Piece, TokenEdit

EDIT = TokenEdit("insert", 0, 0, (Piece(0, 0, 1.0),), 1.0)
MARGINS = st.floats(allow_nan=False)
WEIGHTS = st.floats(-100, 100)
SIZES = (0, 1, 3)
LOGARITHMS = (0.0, math.log(2), math.log(4))
DEFAULT = ConfidenceSettings()


def edited(inside: float, outside: float, count: int = 1) -> Decoding:
    return Decoding((EDIT,) * count, inside, outside, *SIZES)


def untouched(outside: float) -> Decoding:
    return Decoding((), math.inf, outside, *SIZES)


REPLACED = Decoding(
    (EDIT, TokenEdit("substitute", 0, 1, (Piece(1, 1, 1.0), Piece(3, 5, 1.0)), 1.0)),
    1.5,
    -2.0,
    *SIZES,
)


@pytest.mark.parametrize(
    ("decoding", "expected"),
    [
        (edited(1.5, -2.0), (1.5, 2.0, 0.0, *LOGARITHMS, math.log(2), 1.0)),
        (edited(1.5, 0.5, count=3), (1.5, -0.5, 2.0, *LOGARITHMS, math.log(4), 1.0)),
        (edited(math.inf, -math.inf), (12.0, 12.0, 0.0, *LOGARITHMS, math.log(2), 1.0)),
        (REPLACED, (1.5, 2.0, 1.0, *LOGARITHMS, math.log(6), 0.5)),
        (untouched(-3.0), (3.0, *LOGARITHMS)),
        (untouched(-math.inf), (12.0, *LOGARITHMS)),
    ],
)
def test_clearness_says_how_far_cells_are_from_the_threshold(
    decoding: Decoding, expected: tuple[float, ...]
) -> None:
    assert clearness(decoding) == expected


@pytest.mark.parametrize(
    ("decoding", "logit"),
    [
        (edited(2.0, -4.0, count=2), 1 + 2 * 2 + 3 * 4 - 4 + 8 * LOGARITHMS[1] + 9 * math.log(3)),
        (untouched(-0.5), 5 + 6 * 0.5 - 7 * LOGARITHMS[2]),
    ],
)
def test_each_case_has_its_own_logistic_model(decoding: Decoding, logit: float) -> None:
    settings = ConfidenceSettings(
        edited_bias=1,
        edited_inside=2,
        edited_outside=3,
        edited_count=-4,
        untouched_bias=5,
        untouched_outside=6,
        edited_close=100,  # of none
        edited_rows=8,
        edited_copied=9,
        untouched_words=-7,
    )
    assert ConfidenceSettings.of(settings.edited, settings.untouched) == settings
    assert confidence(decoding, settings) == pytest.approx(1 / (1 + math.exp(-logit)))


@given(
    st.one_of(
        st.builds(edited, MARGINS, MARGINS, st.integers(1, 5)), st.builds(untouched, MARGINS)
    ),
    st.builds(ConfidenceSettings, WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS),
)
def test_a_confidence_is_a_probability(decoding: Decoding, settings: ConfidenceSettings) -> None:
    assert 0 < confidence(decoding, settings) <= 1


@given(MARGINS, MARGINS, MARGINS)
def test_clearer_scores_never_lower_it(inside: float, outside: float, other: float) -> None:
    low, high = sorted((inside, other))
    assert confidence(edited(low, outside), DEFAULT) <= confidence(edited(high, outside), DEFAULT)
    assert confidence(edited(outside, high), DEFAULT) <= confidence(edited(outside, low), DEFAULT)
    assert confidence(untouched(high), DEFAULT) <= confidence(untouched(low), DEFAULT)
