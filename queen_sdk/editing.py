"""Edits on tokens to edits on text: original characters only, joined as the language joins them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from queen_sdk.decoding import Piece, TokenEdit
from queen_sdk.rows import Row, source_of
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Edit, Source, Token

_UNSPACED = re.compile(
    r"[\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U000323af]"
)
_CLITIC = re.compile(r"['’](?:s|ll|re|ve|d|m)(?!\w)", re.IGNORECASE)
_CLOSING = set(".,;:!?)]}%…”»、。，；：！？）】》")
_OPENING = set("([{$£€#@“‘«/（【《")
_STOPS = ".!?…。！？"
_BEHIND_STOP = "\"'”’)]"
_BEFORE_SENTENCE = "\"'“‘([¿¡"
_LOWERED = frozenset(
    (
        "a an the this that these those my your his her its our their some any all both "
        "each every no another other in on at of for from to with without by about and or "
        "but if when while what which who whose where why how is are was were do does did "
        "can could would should there it he she they we you"
    ).split()
)
_ALSO_NAMES = frozenset(
    (
        "art bill bob carol chase dawn dean drew earl faith frank gene grace grant guy hope "
        "iris ivy jack jade jean joy june lance lily mark may miles nick olive pat penny pearl "
        "ray rich rob robin rose ruby rusty sandy skip sue summer violet wade ward will wren"
    ).split()
)
"""Words that may be a person as well: they keep their capital even if they occur without one."""
_PLAIN_WORD = re.compile(r"[a-z]+(?!\w)")
_CONTEXT = 64
"""Characters on each side that show whether two texts fuse."""


def joint(left: str, right: str) -> str:
    """Return what stands between two texts that are put side by side: a space or nothing."""
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return ""
    unspaced = _UNSPACED.match(left[-1]) or _UNSPACED.match(right[0])
    close = unspaced or _leans(right) or left[-1] in _OPENING
    return "" if close and not _fuse(left, right) else " "


def _leans(text: str) -> bool:
    """Tell whether a text stands directly behind what comes before it."""
    return text[0] in _CLOSING or _CLITIC.match(text) is not None


def _fuse(left: str, right: str) -> bool:
    """Tell whether two texts would make one token where they touch."""
    left = left[-_CONTEXT:]
    tokens = tokenize(left + right[:_CONTEXT])
    return any(token.start < len(left) < token.end for token in tokens)


def _apart(left: str, right: str) -> str:
    return " " if _fuse(left, right) else ""


def _starts_sentence(text: str, position: int) -> bool:
    """Tell whether a sentence starts at `position`, in time linear in it."""
    opened = text[:position].rstrip(_BEFORE_SENTENCE)
    end = len(opened)
    while end and (opened[end - 1] in _BEHIND_STOP or opened[end - 1].isspace()):
        end -= 1
    return not end or opened[end - 1] in _STOPS or "\n" in opened[end:]


def realise(
    utterance: str,
    tokens: Sequence[Token],
    edits: Sequence[TokenEdit],
    rows: Sequence[Row],
    turns: Mapping[int, str],
) -> tuple[Edit, ...]:
    """Write out the edits, left to right; `turns` are the texts that rows refer to."""
    copies = _Copies(rows, turns)
    writer = _Writer(utterance, tokens)
    texts = [writer.cased(edit, copies) for edit in edits]
    found: list[Edit] = []
    for k, edit in enumerate(edits):
        touched = k + 1 < len(edits) and edits[k + 1].start == edit.end
        write = writer.insert if edit.kind == "insert" else writer.substitute
        start, end, text = write(edit, texts[k], texts[k + 1] if touched else None)
        sources = tuple(copies.source(piece) for piece in edit.pieces)
        found.append(
            Edit(edit.kind, start=start, end=end, text=text, sources=sources, score=edit.score)
        )
    return tuple(found)


def apply_edits(utterance: str, edits: Sequence[Edit]) -> str:
    """Return the edited utterance; the very same object if there are no edits."""
    text = utterance
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class _Copies:
    """The pieces of a dialogue that can be copied."""

    def __init__(self, rows: Sequence[Row], turns: Mapping[int, str]) -> None:
        self._rows = rows
        self._turns = turns

    def source(self, piece: Piece) -> Source:
        turn = self._rows[piece.first].turn
        text = None if turn is None else self._turns[turn]
        return source_of(self._rows, piece.first, piece.last, text)

    def capital_by_position(self, index: int) -> bool:
        """Tell whether a row is a common word that only its sentence start made capital."""
        word = self._rows[index].token.text
        if not word.istitle() or word == "I" or not self._starts_sentence(index):
            return False
        if len(word) == 1 and self._followed_by_dot(index):  # an initial: A. C. Clarke
            return False
        lowered = word.lower()
        if lowered in _LOWERED:
            return True
        same = [k for k, row in enumerate(self._rows) if row.token.text == word]
        return (
            lowered not in _ALSO_NAMES
            and any(row.token.text == lowered for row in self._rows)
            and all(self._starts_sentence(k) for k in same)
        )

    def _followed_by_dot(self, index: int) -> bool:
        row = self._rows[index]
        return row.turn is not None and self._turns[row.turn].startswith(".", row.token.end)

    def _starts_sentence(self, index: int) -> bool:
        row = self._rows[index]
        if row.turn is None:
            return False
        text = self._turns[row.turn]
        first = index == 0 or self._rows[index - 1].segment != row.segment
        tagged = text[: row.token.start].rstrip().endswith((":", "："))
        return (first and tagged) or _starts_sentence(text, row.token.start)


class _Writer:
    """Writes edits into an utterance from left to right, and sees what it has written."""

    def __init__(self, utterance: str, tokens: Sequence[Token]) -> None:
        self._utterance = utterance
        self._tokens = tokens
        self._written = ""
        self._done = 0

    def cased(self, edit: TokenEdit, copies: _Copies) -> str:
        """Return the pieces of an edit, joined, in the case that its place asks for."""
        anchor = self._tokens[edit.start] if edit.start < len(self._tokens) else None
        position = self._tokens[-1].end if anchor is None else anchor.start
        first = edit.start == 0 or _starts_sentence(self._utterance, position)
        text = ""
        for piece in edit.pieces:
            part = copies.source(piece).text
            if (text or not first) and copies.capital_by_position(piece.first):
                part = part[0].lower() + part[1:]
            text += joint(text, part) + part
        if first and anchor and anchor.text[0].isupper() and _PLAIN_WORD.match(text):
            return text[0].upper() + text[1:]
        return text

    def substitute(self, edit: TokenEdit, text: str, follower: str | None) -> tuple[int, int, str]:
        """Place a substitution; what touched the old text touches the new one.

        `follower` is the text of an edit that begins where this one ends: that one brings the
        space between the two, if there must be one.
        """
        start, end = self._tokens[edit.start].start, self._tokens[edit.end - 1].end
        if self._gap(edit.start).isspace() and _leans(text):
            start = max(self._tokens[edit.start - 1].end, self._done)
        before = self._before(start)
        text = _apart(before, text) + text
        if follower is None or self._gap(edit.end):
            text += _apart(before + text, self._utterance[end:])
        return self._write(start, end, text)

    def insert(self, edit: TokenEdit, text: str, follower: str | None) -> tuple[int, int, str]:
        """Place an insertion; `follower` is the text of a substitution at the same place."""
        position = edit.start
        gap = self._gap(position)
        if position == len(self._tokens) or (gap.isspace() and _leans(text)):
            start = self._tokens[position - 1].end
            return self._write(start, start, joint(self._before(start), text) + text)
        start = self._tokens[position].start
        before = self._before(start)
        behind = self._utterance[start:] if follower is None else follower
        lead = joint(before, text)
        # What stands before counts too: "-" alone leaves "he" whole, "of" and "-" do not.
        tail = joint(before + lead + text, behind)
        if gap.isspace():
            # "care ." is how this user writes: the space stays.
            tail = " " if _leans(behind) else tail
        elif before and before[-1].isalnum() != behind[0].isalnum():
            # A mark that touched its word still does: 'care.', '"it'.
            if before[-1].isalnum():
                tail = _apart(before + lead + text, behind)
            else:
                lead = _apart(before, text)
        return self._write(start, start, lead + text + tail)

    def _gap(self, position: int) -> str:
        """Return what stands between a token and the one before."""
        if not 0 < position < len(self._tokens):
            return ""
        return self._utterance[self._tokens[position - 1].end : self._tokens[position].start]

    def _before(self, start: int) -> str:
        return self._written + self._utterance[self._done : start]

    def _write(self, start: int, end: int, text: str) -> tuple[int, int, str]:
        self._written = self._before(start) + text
        self._done = end
        return start, end, text
