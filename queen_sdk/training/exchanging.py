"""Dialogues said again with other words in the place of those that are copied.

Who has read a dialogue several times knows its rewrite by heart. With other words in it, what is to
be copied must be found again: by where it stands, not by what it says.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

import attrs

from queen_sdk.data.examples import Example
from queen_sdk.data.splitting import corpus_of
from queen_sdk.features import FeatureBuilder
from queen_sdk.pipeline import Pipeline
from queen_sdk.training.preparation import Cells, TrainingExample, prepare
from queen_sdk.training.settings import TrainSettings

_LONGEST = 4
"""Copied pieces of so many words or more are of one kind."""

_Kind = tuple[str, int, int, int]


@attrs.frozen
class _Copied:
    """The longest piece of an example that is copied."""

    words: tuple[str, ...]
    text: str
    kind: _Kind
    """Pieces that may stand for each other: of one corpus, operation, length and place."""


def exchanged(
    examples: Sequence[TrainingExample], settings: TrainSettings, pipeline: Pipeline
) -> list[TrainingExample]:
    """Return the examples, some of them with a piece of another in the place of their own.

    It is put everywhere in the dialogue and in the reference. What could then not be rebuilt any
    more stays as it is.
    """
    chance = random.Random(f"{settings.seed}.exchange")
    copied = [_copied(example) for example in examples]
    pieces: dict[_Kind, list[str]] = {}
    for piece in filter(None, copied):
        pieces.setdefault(piece.kind, []).append(piece.text)
    found: list[TrainingExample] = []
    for example, own in zip(examples, copied, strict=True):
        if own is not None and chance.random() < settings.exchange_share:
            other = chance.choice(pieces[own.kind])
            said = _said_with(other, own, example.example, pipeline.builder)
            found += [one for one in prepare([said], pipeline) if one.rebuildable] or [example]
        else:
            found.append(example)
    return found


def _copied(example: TrainingExample) -> _Copied | None:
    rows = example.features.rows
    said = (cells for cells in example.positive if rows[cells.rows[0]].turn is not None)
    longest = max(said, key=_size, default=None)
    if longest is None:
        return None
    first, behind = longest.rows
    turn = example.example.history[rows[first].turn or 0].text
    text = turn[rows[first].token.start : rows[behind - 1].token.end]
    place = _place(longest, len(example.features.utterance))
    kind = corpus_of(example.example), longest.operation, place, min(_size(longest), _LONGEST)
    return _Copied(tuple(row.token.text.casefold() for row in rows[first:behind]), text, kind)


def _size(cells: Cells) -> int:
    return cells.rows[1] - cells.rows[0]


def _place(cells: Cells, words: int) -> int:
    """Tell the beginning of an utterance, its end, and what is between them apart."""
    return -1 if cells.columns[0] == 0 else int(cells.columns[1] >= words)


def _said_with(other: str, own: _Copied, example: Example, builder: FeatureBuilder) -> Example:
    def said(text: str) -> str:
        return "".join(_parts(text, own.words, other, builder))

    return attrs.evolve(
        example,
        history=tuple(attrs.evolve(turn, text=said(turn.text)) for turn in example.history),
        utterance=said(example.utterance),
        reference=said(example.reference),
    )


def _parts(text: str, words: Sequence[str], other: str, builder: FeatureBuilder) -> Iterator[str]:
    end = 0
    for start, behind in _places(text, words, builder):
        yield text[end:start]
        yield other
        end = behind
    yield text[end:]


def _places(text: str, words: Sequence[str], builder: FeatureBuilder) -> Iterable[tuple[int, int]]:
    """Return where the words stand side by side in a text, from left to right."""
    tokens = builder.tokens(text, 0)
    folded = tuple(token.text.casefold() for token in tokens)
    size, k = len(words), 0
    while k + size <= len(tokens):
        if folded[k : k + size] == words:
            yield tokens[k].start, tokens[k + size - 1].end
            k += size
        else:
            k += 1
