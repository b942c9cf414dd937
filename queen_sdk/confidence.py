"""From how clear the scores were to the probability that the result is right."""

from __future__ import annotations

import math

import attrs

from queen_sdk.decoding import Decoding

_FARTHEST = 12.0
_SIZES = ("close", "rows", "words")
_EDITED = tuple(
    f"edited_{name}"
    for name in ("bias", "inside", "outside", "count", *_SIZES, "copied", "inserted")
)
_UNTOUCHED = tuple(f"untouched_{name}" for name in ("bias", "outside", *_SIZES))


@attrs.frozen
class ConfidenceSettings:
    """Two small logistic models, fitted on held-out training data; part of the manifest."""

    edited_bias: float = 0.0
    """For results with edits: the constant."""
    edited_inside: float = 0.5
    """Weight of the lowest copied cell's margin."""
    edited_outside: float = 0.5
    """Weight of how far the highest other cell stays below the threshold."""
    edited_count: float = 0.0
    """Weight of the number of edits beyond the first."""
    untouched_bias: float = 0.0
    """For results without edits: the constant."""
    untouched_outside: float = 0.5
    """Weight of how far the highest cell stays below the threshold."""
    edited_close: float = 0.0
    """Weight of how many cells beat the threshold or nearly do (the logarithm, as below)."""
    edited_rows: float = 0.0
    """Weight of how many words could have been copied."""
    edited_words: float = 0.0
    """Weight of how many words the utterance has."""
    edited_copied: float = 0.0
    """Weight of how many words were copied."""
    edited_inserted: float = 0.0
    """Weight of what share of the edits are insertions."""
    untouched_close: float = 0.0
    untouched_rows: float = 0.0
    untouched_words: float = 0.0

    @property
    def edited(self) -> tuple[float, ...]:
        """The constant and the weights of `clearness` for results with edits."""
        return tuple(getattr(self, name) for name in _EDITED)

    @property
    def untouched(self) -> tuple[float, ...]:
        """The same for results without edits."""
        return tuple(getattr(self, name) for name in _UNTOUCHED)

    @classmethod
    def of(cls, edited: tuple[float, ...], untouched: tuple[float, ...]) -> ConfidenceSettings:
        """Return the settings with these constants and weights."""
        named = (*zip(_EDITED, edited, strict=True), *zip(_UNTOUCHED, untouched, strict=True))
        return cls(**dict(named))


def clearness(decoding: Decoding) -> tuple[float, ...]:
    """Return the inputs of the logistic model; without edits, what tells of them is missing."""
    sizes = tuple(math.log1p(getattr(decoding, name)) for name in _SIZES)
    outside = _clip(-decoding.outside)
    edits = decoding.edits
    if not edits:
        return (outside, *sizes)
    copied = sum(piece.last - piece.first + 1 for edit in edits for piece in edit.pieces)
    inserted = sum(edit.kind == "insert" for edit in edits) / len(edits)
    inside = _clip(decoding.inside)
    return (inside, outside, float(len(edits) - 1), *sizes, math.log1p(copied), inserted)


def confidence(decoding: Decoding, settings: ConfidenceSettings) -> float:
    """Return the probability that the decoded result, edited or untouched, is right."""
    constant, *weights = settings.edited if decoding.edits else settings.untouched
    values = clearness(decoding)
    logit = constant + sum(w * value for w, value in zip(weights, values, strict=True))
    return 1.0 / (1.0 + math.exp(-_clip(logit, 40.0)))


def _clip(value: float, limit: float = _FARTHEST) -> float:
    return min(max(value, -limit), limit)
