"""What a caller may set per call, checked in one place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import attrs

from queen_sdk.errors import InvalidArgumentError


def _finite(_: object, attribute: attrs.Attribute[float | None], value: object) -> None:
    if value is None:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not abs(value) <= sys.float_info.max:  # type: ignore[arg-type]
        raise InvalidArgumentError(f"{attribute.name} must be a finite number, got {value!r:.80}")


def _share(_: object, attribute: attrs.Attribute[float], value: object) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0.0 <= value <= 1.0:  # type: ignore[operator]
        raise InvalidArgumentError(f"{attribute.name} must be between 0 and 1, got {value!r}")


def _terms(protect: Sequence[str]) -> tuple[str, ...]:
    if isinstance(protect, (str, bytes)) or not isinstance(protect, Iterable):
        raise InvalidArgumentError(
            f"protect must be a sequence of terms, got {protect!r}; put a single term into a list"
        )
    terms = tuple(protect)
    for term in terms:
        if not isinstance(term, str) or not term.strip():
            raise InvalidArgumentError(f"protect must hold non-empty strings, got {term!r}")
    return terms


@attrs.frozen(kw_only=True)
class CallOptions:
    """The settings of one call."""

    threshold: float | None = attrs.field(default=None, validator=_finite)
    """Score above which a cell speaks for an edit; None for the model's own."""
    min_confidence: float = attrs.field(default=0.0, validator=_share)
    """Below this confidence the utterance is passed on as it is."""
    protect: tuple[str, ...] = attrs.field(default=(), converter=_terms)
    """Terms of the utterance that are never replaced or split."""


def at_least_one(name: str, value: object) -> int:
    """Return a positive whole number.

    Raises:
        InvalidArgumentError: `value` is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgumentError(f"{name} must be a whole number of at least 1, got {value!r}")
    return value


def positive_seconds(name: str, value: object) -> float:
    """Return a positive, finite number of seconds.

    Raises:
        InvalidArgumentError: `value` is anything else.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value <= sys.float_info.max:  # type: ignore[operator]
        raise InvalidArgumentError(f"{name} must be a positive number of seconds, got {value!r}")
    return float(value)  # type: ignore[arg-type]
