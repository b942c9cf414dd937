"""When and how utterances are rewritten, as one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

import attrs

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import CallOptions, at_least_one, positive_seconds
from queen_sdk.values import Turn

Mode = Literal["replace", "retrieval"]
"""Whether the bot is given the rewrite, or only its search is."""


def _mode(_: object, __: object, value: object) -> None:
    if value not in get_args(Mode):
        raise InvalidArgumentError(
            f"mode must be one of {', '.join(get_args(Mode))}, got {value!r}"
        )


def _positive(_: object, attribute: attrs.Attribute[float], value: object) -> None:
    if value is not None:
        positive_seconds(attribute.name, value)


def _whole(_: object, attribute: attrs.Attribute[int], value: object) -> None:
    at_least_one(attribute.name, value)


@attrs.frozen(kw_only=True)
class Policy:
    """When and how utterances are rewritten."""

    enabled: bool = True
    """False passes every utterance on as it is."""
    mode: Mode = attrs.field(default="replace", validator=_mode)
    """`replace` gives the rewrite to the bot; `retrieval` only to its search."""
    timeout: float | None = attrs.field(default=0.5, validator=_positive)
    """Seconds that a call may take, waiting included; None for as long as it takes."""
    max_history: int = attrs.field(default=20, validator=_whole)
    """How many of the newest turns are used."""
    options: CallOptions = attrs.field(factory=CallOptions)
    """Threshold, minimum confidence and protected terms."""

    def with_options(self, extra: CallOptions) -> Policy:
        """Return the policy with what one call asks for: of two minimum confidences the higher."""
        if extra == CallOptions():
            return self
        own = self.options
        options = CallOptions(
            threshold=own.threshold if extra.threshold is None else extra.threshold,
            min_confidence=max(own.min_confidence, extra.min_confidence),
            protect=(*own.protect, *extra.protect),
        )
        return attrs.evolve(self, options=options)


Before: TypeAlias = Callable[[Sequence[Turn], str, Policy], Policy]
"""Sees a call before it is made, and returns the policy for it."""


def checked_policy(policy: object) -> Policy:
    """Return a policy.

    Raises:
        InvalidArgumentError: It is something else.
    """
    if not isinstance(policy, Policy):
        raise InvalidArgumentError(f"policy must be a Policy, got {type(policy).__name__}")
    return policy
