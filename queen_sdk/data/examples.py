"""One training or evaluation example, whatever corpus it comes from."""

from __future__ import annotations

import attrs

from queen_sdk.values import Turn


@attrs.frozen
class Example:
    """A dialogue, its last utterance, and what a person rewrote it to."""

    history: tuple[Turn, ...]
    """The turns before, oldest first."""
    utterance: str = attrs.field(kw_only=True)
    """The utterance, possibly incomplete."""
    reference: str = attrs.field(kw_only=True)
    """The self-contained utterance; equal to `utterance` where nothing is to be done."""
    id: str = attrs.field(kw_only=True)
    """Corpus name and line, for reports: `rewrite:17`."""
