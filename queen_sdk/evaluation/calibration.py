"""Whether a confidence means what it says: reliability, and what a minimum confidence gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from queen_sdk.errors import missing_extra

MINIMA = (0.5, 0.7, 0.9)
"""The minimum confidences that are shown."""
_BINS = 10


@attrs.frozen
class Judged:
    """One result: what it claimed, and whether it, or the utterance left alone, was right."""

    confidence: float
    right: bool
    """Whether the result equals the reference."""
    right_untouched: bool
    """Whether the utterance as it came does."""


@attrs.frozen
class Bin:
    """The results of about one confidence."""

    confidence: float
    """Their mean confidence."""
    right: float
    """The share of them that is right."""
    count: int


@attrs.frozen
class AtMinimum:
    """What `min_confidence` does to a corpus."""

    minimum: float
    coverage: float
    """Percent of the results that reach it."""
    exact_match_covered: float | None
    """Percent of those that are right; None if none reaches it."""
    exact_match: float
    """Percent of all that are right, the others passed on as they came."""


@attrs.frozen
class Calibration:
    """How far claimed and true shares lie apart."""

    bins: tuple[Bin, ...]
    ece: float
    """Expected calibration error in percent: the mean distance, weighted by the bins' counts."""
    minima: tuple[AtMinimum, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return attrs.asdict(self)


def calibrate(results: Sequence[Judged]) -> Calibration | None:
    """Compare confidences with what came true; None if there are none."""
    if not results:
        return None
    claimed = np.array([result.confidence for result in results])
    right = np.array([result.right for result in results])
    places = np.minimum((claimed * _BINS).astype(int), _BINS - 1)
    bins = tuple(
        Bin(float(claimed[chosen].mean()), float(right[chosen].mean()), int(chosen.sum()))
        for chosen in (places == k for k in range(_BINS))
        if chosen.any()
    )
    ece = sum(b.count * abs(b.confidence - b.right) for b in bins) / len(results)
    return Calibration(bins, 100 * ece, tuple(_at(minimum, results) for minimum in MINIMA))


def _at(minimum: float, results: Sequence[Judged]) -> AtMinimum:
    covered = [result.right for result in results if result.confidence >= minimum]
    passed_on = [result.right_untouched for result in results if result.confidence < minimum]
    share = 100 * sum(covered) / len(covered) if covered else None
    total = sum(covered) + sum(passed_on)
    size = len(results)
    return AtMinimum(minimum, 100 * len(covered) / size, share, 100 * total / size)


def draw_reliability(calibration: Calibration, title: str, path: Path) -> None:
    """Draw claimed against true shares, and how many results stand behind each.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib", "bench") from error
    figure = Figure(figsize=(5, 5.5), layout="constrained")
    curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    claimed = [b.confidence for b in calibration.bins]
    curve.plot((0, 1), (0, 1), linestyle="--", color="grey", label="as claimed")
    curve.plot(claimed, [b.right for b in calibration.bins], marker="o", label="measured")
    curve.set(ylabel="share that is right", title=f"{title}: ECE {calibration.ece:.1f} %")
    curve.legend()
    counts.bar(claimed, [b.count for b in calibration.bins], width=0.06)
    counts.set(xlabel="confidence", ylabel="results", xlim=(0, 1.02))
    figure.savefig(path, dpi=120)
