"""Why a result is wrong, as far as words tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal, get_args

Cause = Literal[
    "changed what was complete",
    "nothing edited",
    "words that nobody said",
    "too few words",
    "too many words",
    "right words, wrong place",
    "wrong words",
]
"""What is wrong with a result; the first that holds."""

CAUSES: tuple[Cause, ...] = get_args(Cause)


def cause_of(
    prediction: Sequence[str],
    reference: Sequence[str],
    utterance: Sequence[str],
    known: Collection[str],
) -> Cause | None:
    """Return the cause, or None if the result is right; everything in metric tokens.

    `known` are the words that could be copied: a reference with others could not be reached. That
    is looked at only where something was edited, since nothing edited is wrong in any case.
    """
    if prediction == reference:
        return None
    if utterance == reference:
        return "changed what was complete"
    if prediction == utterance:
        return "nothing edited"
    if not {*reference} <= {*known, *utterance}:
        return "words that nobody said"
    ours, theirs = Counter(prediction), Counter(reference)
    if ours == theirs:
        return "right words, wrong place"
    if not ours - theirs:
        return "too few words"
    return "wrong words" if theirs - ours else "too many words"
