"""Tokens to arrays: word pieces, the window, and where each token stands in the sequence.

The sequence is `[CLS] query [SEP] extra words [SEP] turn [SEP] … [SEP] utterance [SEP]`, with a
second group of extra words behind the last turn. The last `[SEP]` is the END position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from queen_sdk.rows import ExtraWords, Row, build_rows
from queen_sdk.template import COREF, ELLIP, QueryTemplate
from queen_sdk.tokenization import tokenize
from queen_sdk.values import Token

Ints = npt.NDArray[np.int64]

_CACHED_WORDS = 50_000
_SMALLEST_HISTORY = 8
_LONGEST_TOKEN = 32
_OPENING_SHARE = 3
"""A first turn stays only if it takes no more than this part of the room."""


class PieceEncoder:
    """Word pieces of single tokens, remembered."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take a BERT tokenizer: one that knows [CLS], [SEP], [UNK] and [PAD]."""
        self._tokenizer = tokenizer
        self._pieces: dict[str, tuple[int, ...]] = {}
        self.cls = self._id("[CLS]")
        self.sep = self._id("[SEP]")
        self.unk = self._id("[UNK]")
        self.pad = self._id("[PAD]")

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"the tokenizer has no {token} token")
        return int(found)

    def pieces(self, text: str) -> tuple[int, ...]:
        """Return the ids of one token's word pieces, at least one."""
        known = self._pieces.get(text)
        if known is None:
            clean = text.encode("utf-8", "replace").decode("utf-8")
            ids = self._tokenizer.encode(clean, add_special_tokens=False).ids
            known = tuple(ids) or (self.unk,)
            if len(self._pieces) >= _CACHED_WORDS:
                self._pieces.clear()
            if len(text) <= _LONGEST_TOKEN:
                self._pieces[text] = known
        return known

    def marker(self, mark: str, *, shared: bool) -> int:
        """Return the id of `COREF` or `ELLIP`; with `shared`, that of [UNK]."""
        return self.unk if shared else self._id(mark)


@attrs.frozen(eq=False)
class Features:
    """One dialogue, ready for the scorer."""

    input_ids: tuple[int, ...]
    """Word pieces of the whole sequence."""
    utterance_from: int
    """Where the utterance begins in it; from there on the segment is 1."""
    history_index: tuple[int, ...]
    """For each row, the place of its first piece."""
    utterance_index: tuple[int, ...]
    """For each utterance token, the place of its first piece; END last."""
    rows: tuple[Row, ...]
    """What can be copied."""
    utterance: tuple[Token, ...]
    """The tokens of the utterance, without END."""


@attrs.frozen(eq=False)
class EncodedBatch:
    """Several dialogues as the arrays that the graph takes."""

    input_ids: Ints
    attention_mask: Ints
    token_type_ids: Ints
    history_index: Ints
    utterance_index: Ints

    def as_inputs(self) -> dict[str, Ints]:
        """Return the arrays under the names of the graph's inputs."""
        return {
            "input_ids": self.input_ids,
            "attention_mask": self.attention_mask,
            "token_type_ids": self.token_type_ids,
            "history_index": self.history_index,
            "utterance_index": self.utterance_index,
        }


@attrs.frozen
class Window:
    """The turns that fit, oldest first, as pairs of turn index and tokens."""

    turns: tuple[tuple[int, tuple[Token, ...]], ...]
    dropped: int
    """How many turns were left out or cut."""


class FeatureBuilder:
    """Builds the features of a model: its word pieces, extra words, window and markers."""

    def __init__(
        self,
        encoder: PieceEncoder,
        *,
        extra_words: ExtraWords,
        max_length: int,
        shared_marker: bool,
        marks: bool = True,
        opening: int = 0,
    ) -> None:
        """Take the model's settings; `max_length` counts word pieces of the whole sequence.

        A first turn of up to `opening` word pieces stays when others are dropped.
        """
        self._encoder = encoder
        self._extra_words = extra_words
        self.max_length = max_length
        self._with_marks = marks
        self._opening = opening
        self._markers = {
            mark: encoder.marker(mark, shared=shared_marker) for mark in (COREF, ELLIP)
        }
        self._before = [encoder.pieces(word) for word in extra_words.before]
        self._after = [encoder.pieces(word) for word in extra_words.after]
        self._extra_length = sum(
            sum(map(len, words)) + 1 for words in (self._before, self._after) if words
        )

    def tokens(self, text: str, start: int) -> tuple[Token, ...]:
        """Cut `text` into the tokens that the model sees, from offset `start` on."""
        return tokenize(text, start=start, marks=self._with_marks)

    def window(
        self,
        turns: Sequence[tuple[int, str, int]],
        utterance: Sequence[Token],
        query: QueryTemplate,
    ) -> Window | None:
        """Choose the newest turns that fit; None if the utterance leaves no room for any.

        `turns` are turn index, text, and the offset its words begin at, oldest first. A newest
        turn that is too long alone is cut to its end. A short first turn, which often names what
        the dialogue is about, stays if the model was trained so.
        """
        room = self.max_length - self._fixed_length(utterance, query)
        if room < min(_SMALLEST_HISTORY, self.max_length // 4):
            return None
        newest = self._newest(turns, room)
        if not newest.dropped or len(turns) == 1:
            return newest
        index, text, offset = turns[0]
        # A text with more characters than this has too many word pieces or an absurd word.
        short = self._opening > 0 and len(text) - offset <= self._opening * _LONGEST_TOKEN
        first = self.tokens(text, offset) if short else ()
        size = 1 + self._size(first)
        if not first or size > min(1 + self._opening, room // _OPENING_SHARE):
            return newest
        later = self._newest(turns[1:], room - size)
        return Window(((index, first), *later.turns), later.dropped)

    def _newest(self, turns: Sequence[tuple[int, str, int]], room: int) -> Window:
        kept: list[tuple[int, tuple[Token, ...]]] = []
        for index, text, offset in reversed(turns):
            if room < 1:
                break
            tail = max(offset, len(text.rstrip()) - room * _LONGEST_TOKEN)
            tokens = self.tokens(text, tail)
            if tail > offset and not text[tail].isspace():
                tokens = tokens[1:]  # half a word, perhaps
            fitting = self._fitting(tokens, room - 1)
            if (fitting < len(tokens) or tail > offset) and kept:
                break
            kept.append((index, tokens[len(tokens) - fitting :]))
            room -= 1 + self._size(kept[-1][1])
            if fitting < len(tokens) or tail > offset:
                return Window(tuple(kept), len(turns))
        return Window(tuple(reversed(kept)), len(turns) - len(kept))

    def _fixed_length(self, utterance: Sequence[Token], query: QueryTemplate) -> int:
        pieces = self._encoder.pieces
        length = 2 + self._extra_length + self._size(utterance)
        if query.items:
            length += 1 + sum(
                1 if item in self._markers else len(pieces(item)) for item in query.items
            )
        return length

    def _size(self, tokens: Iterable[Token]) -> int:
        return sum(len(self._encoder.pieces(token.text)) for token in tokens)

    def _fitting(self, tokens: Sequence[Token], room: int) -> int:
        fitting = 0
        for token in reversed(tokens):
            room -= len(self._encoder.pieces(token.text))
            if room < 0:
                break
            fitting += 1
        return fitting

    def features(
        self, window: Window, utterance: Sequence[Token], query: QueryTemplate
    ) -> Features:
        """Lay out one dialogue as a sequence."""
        pieces = self._encoder.pieces
        sep = self._encoder.sep
        ids = [self._encoder.cls]
        history_index: list[int] = []

        def append(words: Iterable[tuple[int, ...]], index: list[int]) -> None:
            for word in words:
                index.append(len(ids))
                ids.extend(word)

        if query.items:
            markers = self._markers
            for item in query.items:
                if item in markers:
                    ids.append(markers[item])
                else:
                    ids.extend(pieces(item))
            ids.append(sep)
        if self._before:
            append(self._before, history_index)
            ids.append(sep)
        for _, tokens in window.turns:
            append((pieces(token.text) for token in tokens), history_index)
            ids.append(sep)
        if self._after:
            append(self._after, history_index)
            ids.append(sep)
        utterance_from = len(ids)
        utterance_index: list[int] = []
        append((pieces(token.text) for token in utterance), utterance_index)
        utterance_index.append(len(ids))
        ids.append(sep)
        return Features(
            input_ids=tuple(ids),
            utterance_from=utterance_from,
            history_index=tuple(history_index),
            utterance_index=tuple(utterance_index),
            rows=build_rows(window.turns, self._extra_words),
            utterance=tuple(utterance),
        )

    def batch(self, features: Sequence[Features]) -> EncodedBatch:
        """Pad several dialogues to one shape; padded indices point at place 0."""
        count = len(features)
        length = max(len(f.input_ids) for f in features)
        input_ids = np.full((count, length), self._encoder.pad, dtype=np.int64)
        attention_mask = np.zeros((count, length), dtype=np.int64)
        token_type_ids = np.zeros((count, length), dtype=np.int64)
        history = np.zeros((count, max(len(f.history_index) for f in features)), dtype=np.int64)
        utterance = np.zeros((count, max(len(f.utterance_index) for f in features)), dtype=np.int64)
        for k, f in enumerate(features):
            size = len(f.input_ids)
            input_ids[k, :size] = f.input_ids
            attention_mask[k, :size] = 1
            token_type_ids[k, f.utterance_from : size] = 1
            history[k, : len(f.history_index)] = f.history_index
            utterance[k, : len(f.utterance_index)] = f.utterance_index
        return EncodedBatch(input_ids, attention_mask, token_type_ids, history, utterance)
