"""What can be copied: the extra words and the history tokens, as rows of the score rectangle.

The rows stand in one order: extra words that usually come before a copied piece, the history from
old to new, extra words that usually come behind. Pieces of one edit are copied in row order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from queen_sdk.values import Source, Token


@attrs.frozen
class ExtraWords:
    """Function words that a model may use although nobody said them."""

    before: tuple[str, ...] = ()
    """Rows in front of the history, such as prepositions."""
    after: tuple[str, ...] = ()
    """Rows behind the history, such as 's."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every declared word."""
        return self.before + self.after


@attrs.frozen
class Row:
    """One copyable token."""

    token: Token
    """The token; offsets are those in its turn, or 0 and the length for an extra word."""
    turn: int | None = attrs.field(kw_only=True)
    """Index of its turn in the history as given; None for an extra word."""
    segment: int = attrs.field(kw_only=True)
    """Rows of one segment stand side by side in one turn; a piece never crosses segments."""


def build_rows(
    turns: Iterable[tuple[int, Sequence[Token]]], extra_words: ExtraWords
) -> tuple[Row, ...]:
    """Line up what can be copied from `turns`, pairs of turn index and tokens, oldest first."""
    rows: list[Row] = []
    segment = 0
    for word in extra_words.before:
        rows.append(_extra_row(word, segment))
        segment += 1
    for index, tokens in turns:
        rows.extend(Row(token, turn=index, segment=segment) for token in tokens)
        segment += 1
    for word in extra_words.after:
        rows.append(_extra_row(word, segment))
        segment += 1
    return tuple(rows)


def _extra_row(word: str, segment: int) -> Row:
    return Row(Token(word, start=0, end=len(word)), turn=None, segment=segment)


def source_of(rows: Sequence[Row], first: int, last: int, turn_text: str | None) -> Source:
    """Return the source that spans rows `first` to `last` (inclusive) of one segment.

    `turn_text` is the text of their turn; None for an extra word.
    """
    start, end = rows[first].token.start, rows[last].token.end
    text = rows[first].token.text if turn_text is None else turn_text[start:end]
    return Source(rows[first].turn, start=start, end=end, text=text)
