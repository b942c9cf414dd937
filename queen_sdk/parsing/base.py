"""What the ellipsis template asks of a parser."""

from __future__ import annotations

from typing import Literal, Protocol

import attrs

from queen_sdk.values import Token

EllipsisEnds = Literal["begin", "end", "both"]
"""Where the template marks a possible ellipsis."""


@attrs.frozen
class Structure:
    """What the root clause of an utterance shows, and the head words that show it."""

    subject: bool
    """A subject stands in it."""
    verb: bool
    """A verb stands in it."""
    object: bool
    """An object stands in it."""
    subject_token: Token | None = attrs.field(default=None, kw_only=True)
    """The first word of the subject's head; None if there is none, or the parser cannot say."""
    verb_token: Token | None = attrs.field(default=None, kw_only=True)
    """The same for the verb, or the copula."""
    object_token: Token | None = attrs.field(default=None, kw_only=True)
    """The same for the object."""

    @classmethod
    def shown_by(cls, subject: Token | None, verb: Token | None, found: Token | None) -> Structure:
        """Return the structure that these words show; None for what is missing."""
        return cls(
            subject is not None,
            verb is not None,
            found is not None,
            subject_token=subject,
            verb_token=verb,
            object_token=found,
        )


class Parser(Protocol):
    """Anything that tells the structure of an utterance."""

    def parse(self, utterance: str) -> Structure:
        """Return what the root clause of `utterance` shows."""
        ...


def ellipsis_ends(structure: Structure | None) -> EllipsisEnds:
    """Apply the paper's rule; without a parser (None) both ends are marked."""
    if structure is None:
        return "both"
    if not (structure.subject and structure.verb):
        return "begin"
    return "both" if structure.object else "end"
