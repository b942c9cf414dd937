"""What a teacher makes of texts without trees: examples for the embedded parser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from tqdm.auto import tqdm

from queen_sdk.data.readers import load
from queen_sdk.parsing.inputs import ParserInputs, Span
from queen_sdk.training.parsers.examples import NONE, ParserExample
from queen_sdk.training.parsers.teacher import Teacher

_AT_ONCE = 64
_IMPOSSIBLE = -1e4


def dialogue_texts(corpora: Iterable[str], path: str | Path) -> list[str]:
    """Return the utterances and the turns before them of the training parts, each once."""
    found: dict[str, None] = {}
    for name in corpora:
        for example in load(name, path, "train"):
            found.update(dict.fromkeys(turn.text for turn in example.history))
            found[example.utterance] = None
    return list(found)


def annotate(
    teacher: Teacher, texts: Iterable[str], inputs: ParserInputs, *, progress: bool = True
) -> list[ParserExample]:
    """Let a teacher read texts, and return what it finds as examples for the network of `inputs`.

    Texts without a token are left out; the order is that of their lengths.
    """
    read = [(text, tokens) for text in texts if (tokens := teacher.inputs.cut(text))]
    read.sort(key=lambda one: len(one[1]))
    found: list[ParserExample] = []
    with torch.inference_mode():
        for k in tqdm(range(0, len(read), _AT_ONCE), desc="texts read", disable=not progress):
            found += _annotated(teacher, read[k : k + _AT_ONCE], inputs)
    return found


def _annotated(
    teacher: Teacher, batch: Sequence[tuple[str, Sequence[Span]]], inputs: ParserInputs
) -> list[ParserExample]:
    rows = [
        torch.from_numpy(teacher.inputs.encode([text[start:end] for start, end in tokens]))
        for text, tokens in batch
    ]
    lengths = torch.tensor([len(row) for row in rows])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
    network = teacher.network
    hidden = network.hidden(pad_sequence(rows, batch_first=True), lengths)
    structure, roles = network.judge(hidden, mask)
    places = roles.argmax(dim=1)
    arcs = network.arcs(hidden).masked_fill(~mask.unsqueeze(1), _IMPOSSIBLE)
    heads = _heads(arcs, places[:, 0])
    labels = network.relations(hidden).argmax(dim=-1)
    shares = torch.softmax(structure, dim=-1)
    return [
        _example(
            inputs,
            text,
            tokens,
            labels[k].tolist(),
            heads[k].tolist(),
            _seen(int(shares[k].argmax()), places[k, 1:].tolist()),
            tuple(shares[k].tolist()),
        )
        for k, (text, tokens) in enumerate(batch)
    ]


def _example(
    inputs: ParserInputs,
    text: str,
    tokens: Sequence[Span],
    labels: Sequence[int],
    heads: Sequence[int],
    roles: Sequence[int],
    believed: tuple[float, ...],
) -> ParserExample:
    """Say of units what the teacher said of their first tokens; the root's unit is the root."""
    units = inputs.cut(text)
    starts = {start for start, _ in units}
    own = list(accumulate(int(start in starts) for start, _ in tokens))  # numbers from 1 on
    first = [k for k, (start, _) in enumerate(tokens) if start in starts]
    found = [own[heads[k]] - 1 for k in first]
    found = [NONE if head == place else head for place, head in enumerate(found)]
    root = next(k for k in range(len(tokens)) if heads[k] == k)
    found[own[root] - 1] = own[root] - 1
    subject, verb, thing = (NONE if k == NONE else own[k] - 1 for k in roles)
    return ParserExample(
        inputs.encode([text[start:end] for start, end in units]),
        np.array([labels[k] for k in first], dtype=np.int64),
        np.array(found, dtype=np.int64),
        (subject, verb, thing),
        believed,
    )


def _heads(arcs: Tensor, roots: Tensor) -> Tensor:
    """Return the likeliest head of each token; only the root is its own."""
    itself = torch.eye(arcs.shape[1], dtype=torch.bool)
    heads = arcs.masked_fill(itself, _IMPOSSIBLE - 1).argmax(dim=-1)
    return heads.scatter(1, roots.unsqueeze(1), roots.unsqueeze(1))


def _seen(combination: int, places: Sequence[int]) -> tuple[int, int, int]:
    subject, verb, found = (
        place if combination >> k & 1 else NONE for k, place in enumerate(places)
    )
    return subject, verb, found
