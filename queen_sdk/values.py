"""The values that travel between the stages: frozen, small, comparable."""

from __future__ import annotations

from typing import Any, Literal

import attrs

Role = Literal["user", "assistant", "system", "tool"]
"""Who said a turn. Only user and assistant turns are read as dialogue."""

EditKind = Literal["substitute", "insert"]
"""What an edit does: replace utterance text, or insert before a position of it."""

SkipReason = Literal[
    "no_history",
    "empty_utterance",
    "unsupported_language",
    "utterance_too_long",
    "already_complete",
    "low_confidence",
    "disabled",
    "timeout",
    "queue_full",
    "circuit_open",
    "error",
]
"""Why a result is the very utterance that came in; the last five come from the middleware."""


@attrs.frozen
class Turn:
    """One turn of a dialogue."""

    text: str
    """What was said, exactly as it came."""
    role: Role = attrs.field(default="user", kw_only=True)
    """Who said it."""


@attrs.frozen
class Token:
    """A word, a Chinese character, a punctuation mark or an emoji, with its place."""

    text: str
    """The characters, exactly as they stand in the original."""
    start: int = attrs.field(kw_only=True)
    """Offset of the first code point in the original string."""
    end: int = attrs.field(kw_only=True)
    """Offset behind the last code point."""


@attrs.frozen
class Source:
    """Where copied text comes from."""

    turn: int | None
    """Index into the history as it was given; None for an extra word of the model."""
    start: int = attrs.field(kw_only=True)
    """Offset of the first code point in that turn (0 for an extra word)."""
    end: int = attrs.field(kw_only=True)
    """Offset behind the last code point."""
    text: str = attrs.field(kw_only=True)
    """The copied characters, as they stand there."""


@attrs.frozen
class Edit:
    """One change: `original[start:end]` becomes `text`."""

    kind: EditKind
    """Substitution, or insertion (then `start == end`)."""
    start: int = attrs.field(kw_only=True)
    """Offset in the original utterance."""
    end: int = attrs.field(kw_only=True)
    """Offset behind the replaced text."""
    text: str = attrs.field(kw_only=True)
    """What stands there afterwards, spaces around it included."""
    sources: tuple[Source, ...] = attrs.field(kw_only=True)
    """The pieces of the dialogue it was copied from, in order."""
    score: float = attrs.field(kw_only=True)
    """Mean score of the copied tokens; above the threshold, higher is surer."""

    def __str__(self) -> str:
        """Say in one line what was done, from where, how surely."""
        places = ", ".join(
            f"turn {s.turn} [{s.start}:{s.end}]" if s.turn is not None else f"extra word {s.text!r}"
            for s in self.sources
        )
        where = f"[{self.start}:{self.end}]" if self.kind == "substitute" else f"at {self.start}"
        return f"{self.kind} {where} {self.text.strip()!r} from {places} (score {self.score:.2f})"


@attrs.frozen
class Timings:
    """Milliseconds spent in each stage of one call."""

    tokenize: float = attrs.field(default=0.0, kw_only=True)
    """Reading the dialogue and cutting it into tokens."""
    template: float = attrs.field(default=0.0, kw_only=True)
    """Building the query, without the parser's share."""
    parse: float = attrs.field(default=0.0, kw_only=True)
    """The dependency parser, where it was needed."""
    encode: float = attrs.field(default=0.0, kw_only=True)
    """Word pieces, window and arrays."""
    run: float = attrs.field(default=0.0, kw_only=True)
    """The scorer; in a batch, this row's share."""
    decode: float = attrs.field(default=0.0, kw_only=True)
    """From scores to edits."""
    edit: float = attrs.field(default=0.0, kw_only=True)
    """From edits to text."""

    @property
    def total(self) -> float:
        """All stages together."""
        return float(sum(attrs.astuple(self)))


@attrs.frozen
class RewriteResult:
    """What came of one utterance."""

    text: str
    """The self-contained utterance; the very same string object if nothing was edited."""
    original: str = attrs.field(kw_only=True)
    """The utterance as it came in."""
    edits: tuple[Edit, ...] = attrs.field(default=(), kw_only=True)
    """The edits, left to right, in offsets of `original`."""
    confidence: float | None = attrs.field(default=None, kw_only=True)
    """Probability that `text` is right; None if the model was not asked."""
    skip_reason: SkipReason | None = attrs.field(default=None, kw_only=True)
    """Why nothing was edited; None if something was."""
    dropped_turns: int = attrs.field(default=0, kw_only=True)
    """How many turns were left out, or cut, to fit the model's window."""
    language: str | None = attrs.field(default=None, kw_only=True)
    """Language found for the dialogue, or that of the bundle that was asked for."""
    model: str | None = attrs.field(default=None, kw_only=True)
    """Name and version of the bundle that was asked; None if none was."""
    unrecorded: bool = attrs.field(default=False, kw_only=True)
    """Whether the turn is missing from its session, because the store failed; send it again."""
    timings: Timings = attrs.field(factory=Timings, kw_only=True, eq=False)
    """Where the time went. Not part of equality."""

    @property
    def changed(self) -> bool:
        """Whether anything was edited."""
        return bool(self.edits)

    def to_dict(self) -> dict[str, Any]:
        """Return every field under its own name, as JSON can hold it."""
        fields: dict[str, Any] = attrs.asdict(self)
        fields["changed"] = self.changed
        fields["timings"]["total"] = self.timings.total
        return fields
