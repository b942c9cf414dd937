"""Examples as RUN sees them: no query, one class for every pixel, and from classes back to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from baselines.run import INSERT, NOT_A_PIXEL, NOTHING, REPLACE
from queen_sdk.data.examples import Example
from queen_sdk.data.supervision import supervise
from queen_sdk.decoding import Piece, TokenEdit
from queen_sdk.editing import apply_edits, realise
from queen_sdk.features import FeatureBuilder, Features
from queen_sdk.pipeline import Pipeline, Prepared
from queen_sdk.rows import Row
from queen_sdk.training.batches import as_tensors
from queen_sdk.training.preparation import Cells

Classes = npt.NDArray[np.int64]
"""History tokens × utterance tokens and END."""
Blob = tuple[int, slice, slice]
"""Class, rows and columns of a connected component."""


@attrs.frozen(eq=False)
class RunExample:
    """One example with the pixels that are not nothing."""

    example: Example
    features: Features
    cells: tuple[Cells, ...] = ()


def prepare_run(examples: Iterable[Example], pipeline: Pipeline) -> list[RunExample]:
    """Encode and supervise; left out are the same examples as in QUEEN's own preparation."""
    found = []
    for example in examples:
        prepared = pipeline.prepare(example.history, example.utterance)
        if isinstance(prepared, Prepared):
            cells = gold_cells(example, prepared.features, pipeline.builder)
            if cells is not None:
                found.append(RunExample(example, prepared.features, cells))
    return found


def gold_cells(
    example: Example, features: Features, builder: FeatureBuilder
) -> tuple[Cells, ...] | None:
    """Return the cells of the gold edits; None if nothing of the reference can be rebuilt."""
    gold = supervise(features.utterance, builder.tokens(example.reference, 0), features.rows)
    if not (gold.edits or gold.exact):
        return None
    return tuple(
        Cells(
            0 if edit.kind == "substitute" else 1,
            piece,
            (edit.start, max(edit.end, edit.start + 1)),
        )
        for edit in gold.edits
        for piece in edit.pieces
    )


def run_inputs(features: Sequence[Features], builder: FeatureBuilder) -> dict[str, Tensor]:
    """Return the arguments of the network."""
    inputs = as_tensors(builder.batch(features))
    starts = [_token_starts(f) for f in features]
    longest = max(map(len, starts))
    token_index = np.zeros((len(features), longest), dtype=np.int64)
    places = {}
    for name in ("history_index", "utterance_index"):
        places[name] = np.full(inputs[name].shape, longest, dtype=np.int64)
    for k, (f, tokens) in enumerate(zip(features, starts, strict=True)):
        token_index[k, : len(tokens)] = tokens
        for name, rows in places.items():
            rows[k, : len(getattr(f, name))] = np.searchsorted(tokens, getattr(f, name))
    arrays = {"token_index": token_index, **places}
    inputs.update({name: torch.from_numpy(array) for name, array in arrays.items()})
    inputs["token_count"] = torch.tensor([len(tokens) for tokens in starts])
    return inputs


def _token_starts(features: Features) -> list[int]:
    """Return the first piece of every token; the separators of the turns are tokens too."""
    separator = features.input_ids[features.utterance_index[-1]]
    separators = (k for k, piece in enumerate(features.input_ids) if piece == separator)
    return sorted({*features.history_index, *features.utterance_index, *separators})


def gold_classes(examples: Sequence[RunExample], shape: Sequence[int]) -> Tensor:
    """Paint the classes of a batch; `shape` is height and width of its pictures."""
    classes = np.full((len(examples), *shape), NOT_A_PIXEL, dtype=np.int64)
    for k, example in enumerate(examples):
        features = example.features
        classes[k, : len(features.history_index), : len(features.utterance_index)] = NOTHING
        for cells in example.cells:
            classes[k, slice(*cells.rows), slice(*cells.columns)] = (REPLACE, INSERT)[
                cells.operation
            ]
    return torch.from_numpy(classes)


def blobs(classes: Classes) -> list[Blob]:
    """Return the connected components of equal class (side by side, not corner to corner)."""
    left = {(int(r), int(c)) for r, c in zip(*np.nonzero(classes), strict=True)}
    found = []
    while left:
        first = left.pop()
        kind, waiting, cells = classes[first], [first], [first]
        while waiting:
            row, column = waiting.pop()
            around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
            for cell in around:
                if cell in left and classes[cell] == kind:
                    left.remove(cell)
                    waiting.append(cell)
                    cells.append(cell)
        rows, columns = zip(*cells, strict=True)
        found.append(
            (int(kind), slice(min(rows), max(rows) + 1), slice(min(columns), max(columns) + 1))
        )
    return found


def decode_run(scores: npt.NDArray[np.float32], features: Features) -> list[TokenEdit]:
    """Turn the class scores of one picture into edits, left to right.

    Of replacements that overlap, the larger rectangle stays; rectangles at the same place are
    copied one after the other.
    """
    height, width = len(features.history_index), len(features.utterance_index)
    classes: Classes = scores[:, :height, :width].argmax(axis=0)
    places: dict[tuple[int, int, int], list[Piece]] = {}
    for kind, rows, columns in sorted(blobs(classes), key=_area, reverse=True):
        start, end = columns.start, columns.start
        if kind == REPLACE:
            end = min(columns.stop, width - 1)
        if (kind == REPLACE and start == end) or _clashes(kind, start, end, places):
            continue
        places.setdefault((start, end, kind), []).extend(_pieces(rows, features.rows))
    return [
        TokenEdit(
            "substitute" if kind == REPLACE else "insert",
            start,
            end,
            tuple(sorted(pieces, key=lambda piece: piece.first)),
            0.0,
        )
        for (start, end, kind), pieces in sorted(places.items())
    ]


def _area(blob: Blob) -> int:
    _, rows, columns = blob
    return (rows.stop - rows.start) * (columns.stop - columns.start)


def _clashes(kind: int, start: int, end: int, places: Iterable[tuple[int, int, int]]) -> bool:
    for first, behind, other in places:
        if (first, behind, other) == (start, end, kind):
            continue
        if first < end and start < behind:
            return True
    return False


def _pieces(rows: slice, known: Sequence[Row]) -> Iterable[Piece]:
    """Cut a rectangle's rows where a turn ends."""
    first = rows.start
    for row in range(rows.start, rows.stop):
        if row + 1 == rows.stop or known[row + 1].segment != known[row].segment:
            yield Piece(first, row, 0.0)
            first = row + 1


def rewritten_by_run(example: Example, features: Features, edits: Sequence[TokenEdit]) -> str:
    """Return the text that the edits make."""
    turns = {k: turn.text for k, turn in enumerate(example.history)}
    found = realise(example.utterance, features.utterance, edits, features.rows, turns)
    return apply_edits(example.utterance, found)
