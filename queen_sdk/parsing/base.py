"""What the ellipsis template asks of a parser."""

from __future__ import annotations

from typing import Literal, Protocol

import attrs

EllipsisEnds = Literal["begin", "end", "both"]
"""Where the template marks a possible ellipsis."""


@attrs.frozen
class Structure:
    """What the root clause of an utterance shows."""

    subject: bool
    """A subject stands in it."""
    verb: bool
    """A verb stands in it."""
    object: bool
    """An object stands in it."""


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
