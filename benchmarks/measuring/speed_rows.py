"""The rows of the speed comparison: what is run, on which batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
from baselines.run import RunNetwork
from torch import nn

from measuring.contenders import Batch, Batches, in_one_run, load_networks, one_by_one, side_by_side
from queen_sdk.data.examples import Example
from queen_sdk.training.scorer import QueenScorer

LIMIT, RUN, QUEEN = "bare encoder (the limit)", "RUN", "QUEEN"
UNPADDED = ", no padding"
"""Added to the name of an encoder."""

Step = Callable[[Batch], object]
Key = tuple[str, str]
"""Encoder and system."""


@attrs.frozen
class Contender:
    """One row before it is measured."""

    step: Step
    batches: Sequence[Batch]
    """The last one is small, and only for warming up."""
    head_parameters: int | None
    decode: Callable[[Batch], object] | None


def torch_rows(
    name: str, directory: Path, batches: list[Batch], device: str
) -> dict[Key, Contender]:
    """Return the bare encoder, RUN and QUEEN in PyTorch, on padded batches and without padding."""
    return _torch_rows(name, load_networks(directory, device), batches) | _torch_rows(
        name + UNPADDED, load_networks(directory, device, padding=False), batches
    )


def _torch_rows(
    name: str, networks: tuple[nn.Module, RunNetwork, QueenScorer], batches: list[Batch]
) -> dict[Key, Contender]:
    bare, run, queen = networks
    plain = ("input_ids", "attention_mask", "token_type_ids")
    head = sum(p.numel() for p in queen.head_parameters())
    steps: dict[str, tuple[Step, int | None, Callable[[Batch], object] | None]] = {
        LIMIT: (lambda b: bare(**{key: b.run[key] for key in plain}), None, None),
        RUN: (
            lambda b: run(**b.run),
            sum(p.numel() for p in run.head_parameters()),
            lambda b: b.decode_run(),
        ),
        QUEEN: (lambda b: queen(**b.queen), head, lambda b: b.decode_queen()),
    }
    return {
        (name, system): Contender(step, batches, parameters, decode)
        for system, (step, parameters, decode) in steps.items()
    }


def onnx_rows(
    name: str, paths: dict[str, Path], batches: list[Batch], threads: int, device: str
) -> dict[Key, Contender]:
    """Return QUEEN in ONNX Runtime, in every format that the device is made for."""
    rows: dict[str, Step] = {}
    if "float32" in paths:
        rows["QUEEN, ONNX float32"] = in_one_run(paths["float32"], threads, [device])
    if "float16" in paths:
        rows["QUEEN, ONNX float16"] = in_one_run(paths["float16"], threads, [device])
    rows[f"QUEEN, ONNX int8, one by one on {count_threads(threads)}"] = one_by_one(
        paths["int8"], threads
    )
    if threads > 1:
        side = f"QUEEN, ONNX int8, {threads} side by side on one thread each"
        rows[side] = side_by_side(paths["int8"], threads)
    return {
        (name, system): Contender(step, batches, None, lambda b: b.decode_queen())
        for system, step in rows.items()
    }


def with_warm_up(maker: Batches, examples: Sequence[Example], size: int) -> list[Batch]:
    """Return batches of that size, and a small one to warm up with."""
    return [*maker.make(examples, size), *maker.make(examples[:2], 2)]


def count_threads(count: int) -> str:
    """Say how many."""
    return f"{count} thread{'s' * (count > 1)}"
