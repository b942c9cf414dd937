"""From how clear the scores were to the probability that the result is right."""

from __future__ import annotations

import math

import attrs

from queen_sdk.decoding import Decoding

_FARTHEST = 12.0


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


def clearness(decoding: Decoding) -> tuple[float, ...]:
    """Return the inputs of the logistic model: inside, outside and count, or only outside."""
    outside = _clip(-decoding.outside)
    if not decoding.edits:
        return (outside,)
    return _clip(decoding.inside), outside, float(len(decoding.edits) - 1)


def confidence(decoding: Decoding, settings: ConfidenceSettings) -> float:
    """Return the probability that the decoded result, edited or untouched, is right."""
    values = clearness(decoding)
    if decoding.edits:
        weights = (settings.edited_inside, settings.edited_outside, settings.edited_count)
        logit = settings.edited_bias
    else:
        weights = (settings.untouched_outside,)  # type: ignore[assignment]
        logit = settings.untouched_bias
    logit += sum(weight * value for weight, value in zip(weights, values, strict=True))
    return 1.0 / (1.0 + math.exp(-_clip(logit, 40.0)))


def _clip(value: float, limit: float = _FARTHEST) -> float:
    return min(max(value, -limit), limit)
