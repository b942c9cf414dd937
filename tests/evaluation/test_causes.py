"""Causes of wrong results."""

from __future__ import annotations

import pytest

from queen_sdk.evaluation.causes import CAUSES, cause_of

HISTORY = "is Anna from Rome".split()


@pytest.mark.parametrize(
    ("prediction", "reference", "cause"),
    [
        ("does Anna sing", "does Anna sing", None),
        ("does she sing", "does Anna sing", "nothing edited"),
        ("does Anna sing", "does she sing", "changed what was complete"),
        ("does Rome sing", "does Anna sing well", "words that nobody said"),
        ("does Anna sing", "does Anna from Rome sing", "too few words"),
        ("does Anna from Rome sing", "does Anna sing", "too many words"),
        ("Anna does sing", "does Anna sing", "right words, wrong place"),
        ("does Rome sing", "does Anna sing", "wrong words"),
        ("does Anna she sing", "does Anna sing", "too many words"),
    ],
)
def test_a_wrong_result_has_one_cause(prediction: str, reference: str, cause: str | None) -> None:
    found = cause_of(prediction.split(), reference.split(), "does she sing".split(), HISTORY)
    assert found == cause
    assert cause is None or cause in CAUSES
