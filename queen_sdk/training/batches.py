"""Batches of examples of like length, as tensors."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial

import attrs
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from queen_sdk.features import EncodedBatch, FeatureBuilder, Features
from queen_sdk.training.preparation import Cells, TrainingExample
from queen_sdk.training.scorer import PLANES

_POOL = 50
"""So many batches are sorted by length together: less padding, still mixed."""


@attrs.frozen(eq=False)
class Batch:
    """Inputs of the scorer and masks over its scores."""

    inputs: dict[str, Tensor]
    positive: Tensor
    valid: Tensor
    ends: Tensor
    """Where what is copied begins and ends, in the shape of `positive`."""
    lessons: Tensor | None = None
    """What a teacher scores, all planes; nan where it has nothing to say."""

    def to(self, device: torch.device, non_blocking: bool = False) -> Batch:
        """Return the same on another device; accelerate asks for it."""
        move = partial(torch.Tensor.to, device=device, non_blocking=non_blocking)
        return Batch(
            {name: move(tensor) for name, tensor in self.inputs.items()},
            move(self.positive),
            move(self.valid),
            move(self.ends),
            None if self.lessons is None else move(self.lessons),
        )


class ExampleDataset(Dataset[tuple[Features, TrainingExample]]):
    """Training examples; each access chooses between gold and served marks."""

    def __init__(
        self, examples: Sequence[TrainingExample], *, gold_share: float, seed: int
    ) -> None:
        """Take the examples and the share of them that gets gold marks, anew in every epoch."""
        self.examples = examples
        self._gold_share = gold_share
        self._seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.examples)

    def __getitem__(self, index: int) -> tuple[Features, TrainingExample]:
        """Return the example and the features that it shows this epoch."""
        example = self.examples[index]
        chance = random.Random(f"{self._seed}.{self.epoch}.{index}").random()
        return example.gold_features if chance < self._gold_share else example.features, example


class LengthSampler(Sampler[list[int]]):
    """Batches of indices, shuffled anew in every epoch, of like length inside."""

    def __init__(self, lengths: Sequence[int], *, batch_size: int, seed: int) -> None:
        """Take the length of every example."""
        self._lengths = lengths
        # Both are what accelerate asks for when it shares batches out among processes.
        self.batch_size = batch_size
        self.drop_last = False
        self._seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        """Return the number of batches."""
        return -(-len(self._lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches of this epoch."""
        chance = random.Random(f"{self._seed}.{self.epoch}")
        order = list(range(len(self._lengths)))
        chance.shuffle(order)
        size = self.batch_size
        batches: list[list[int]] = []
        for start in range(0, len(order), size * _POOL):
            pool = sorted(order[start : start + size * _POOL], key=self._lengths.__getitem__)
            batches.extend(pool[k : k + size] for k in range(0, len(pool), size))
        chance.shuffle(batches)
        yield from batches


def as_tensors(batch: EncodedBatch) -> dict[str, Tensor]:
    """Return the arrays of a batch as tensors, under the names of the scorer's arguments."""
    return {name: torch.from_numpy(array) for name, array in batch.as_inputs().items()}


def collate(items: Sequence[tuple[Features, TrainingExample]], builder: FeatureBuilder) -> Batch:
    """Pad the features and paint the masks."""
    features = [f for f, _ in items]
    batch = builder.batch(features)
    shape = (len(items), 2, batch.history_index.shape[1], batch.utterance_index.shape[1])
    positive = np.zeros(shape, dtype=bool)
    valid = np.zeros(shape, dtype=bool)
    ends = np.zeros(shape, dtype=bool)
    for k, (f, example) in enumerate(items):
        if not example.labelled:
            continue
        valid[k, 0, : len(f.history_index), : len(f.utterance_index) - 1] = True
        valid[k, 1, : len(f.history_index), : len(f.utterance_index)] = True
        _paint(valid[k], example.ignored, False)
        _paint(positive[k], example.positive, True)
        _paint(valid[k], example.positive, True)
        for cells in example.positive:
            columns = slice(*cells.columns)
            ends[k, 0, cells.rows[0], columns] = ends[k, 1, cells.rows[1] - 1, columns] = True
    lessons = None
    if any(example.lesson is not None for _, example in items):
        painted = np.full((shape[0], PLANES, *shape[2:]), np.nan, dtype=np.float32)
        for k, (_, example) in enumerate(items):
            if example.lesson is not None:
                _, rows, columns = example.lesson.shape
                painted[k, :, :rows, :columns] = example.lesson
        lessons = torch.from_numpy(painted)
    return Batch(
        as_tensors(batch),
        torch.from_numpy(positive),
        torch.from_numpy(valid),
        torch.from_numpy(ends),
        lessons,
    )


def _paint(mask: npt.NDArray[np.bool_], blocks: Sequence[Cells], value: bool) -> None:
    for cells in blocks:
        mask[cells.operation, slice(*cells.rows), slice(*cells.columns)] = value
