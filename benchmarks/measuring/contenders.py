"""The networks of the speed comparison, on one encoder, and the batches that they are given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import attrs
import numpy as np
import torch
from baselines.run import EXTRA_WORDS, RunNetwork
from baselines.run_examples import RunExample, decode_run, gold_cells, gold_classes, run_inputs
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoConfig, BertModel

from measuring.unpadded import UnpaddedBert
from queen_sdk.bundle import load_bundle
from queen_sdk.data.examples import Example
from queen_sdk.decoding import decode
from queen_sdk.features import EncodedBatch, FeatureBuilder, Features, PieceEncoder
from queen_sdk.parsing.registry import load_parser
from queen_sdk.pipeline import Pipeline, Prepared
from queen_sdk.rows import ExtraWords
from queen_sdk.runtime import Scorer
from queen_sdk.training.batches import as_tensors
from queen_sdk.training.graphs import export_float16, export_float32, export_int8
from queen_sdk.training.scorer import QueenConfig, QueenScorer

_CALIBRATION = 8
_SURE = 5.0
"""A score that leaves no doubt."""


@attrs.frozen(eq=False)
class Batch:
    """The same dialogues for every network, all arrays made."""

    run: dict[str, Tensor]
    queen: dict[str, Tensor]
    arrays: EncodedBatch
    """What `queen` holds, for ONNX Runtime."""
    singles: tuple[EncodedBatch, ...]
    """The same, one dialogue each, without padding."""
    decode_run: Callable[[], object]
    """Decodes RUN's gold classes: untrained heads would give noise to decode."""
    decode_queen: Callable[[], object]


def load_networks(
    directory: Path, device: str, *, padding: bool = True
) -> tuple[nn.Module, RunNetwork, QueenScorer]:
    """Return an encoder, and RUN and QUEEN on top of that very encoder, in evaluation mode.

    Without `padding` the encoder works on the word pieces alone.
    """
    encoder = BertModel.from_pretrained(directory, add_pooling_layer=False)
    encoder = encoder if padding else UnpaddedBert(encoder)
    run = RunNetwork(encoder)
    queen = QueenScorer(_queen_config(directory))
    queen.bert = encoder
    return encoder.to(device).eval(), run.to(device).eval(), queen.to(device).eval()


def _queen_config(directory: Path) -> QueenConfig:
    fields = AutoConfig.from_pretrained(directory).to_dict()
    fields.pop("model_type", None)
    return QueenConfig(**fields)


class Batches:
    """Makes batches for one encoder: QUEEN's queries are those of the embedded bundle."""

    def __init__(self, tokenizer: Path, device: str, *, embedded: bool = False) -> None:
        """Take the encoder's tokenizer, and the device that torch's arrays go to.

        RUN and QUEEN copy the same extra words; for the `embedded` bundle QUEEN has its own.
        """
        bundle = load_bundle("zh")
        manifest = bundle.manifest
        pieces = PieceEncoder(Tokenizer.from_file(str(tokenizer)))
        parser = manifest.parser and load_parser(manifest.parser, bundle.directory)
        self._device = device
        self._decoding = manifest.decoding

        def pipeline(words: ExtraWords, *, query: bool) -> Pipeline:
            builder = FeatureBuilder(
                pieces,
                extra_words=words,
                max_length=manifest.max_length,
                shared_marker=True,
                marks=manifest.template.marks,
                opening=manifest.template.opening,
            )
            template = attrs.evolve(manifest.template, query=query)
            return Pipeline(
                builder, template=template, collection=manifest.collection, parser=parser
            )

        words = ExtraWords(before=EXTRA_WORDS["zh"])
        self._run = pipeline(words, query=False)
        self._queen = pipeline(manifest.extra_words if embedded else words, query=True)

    def make(self, examples: Sequence[Example], size: int) -> list[Batch]:
        """Cut examples into batches, in their order; those with nothing to score are left out."""
        kept = [(e, self._features(e, self._run), self._features(e, self._queen)) for e in examples]
        whole = [(e, run, queen) for e, run, queen in kept if run and queen]
        return [self._batch(whole[k : k + size]) for k in range(0, len(whole), size)]

    def _features(self, example: Example, pipeline: Pipeline) -> Features | None:
        prepared = pipeline.prepare(example.history, example.utterance)
        return prepared.features if isinstance(prepared, Prepared) else None

    def _batch(self, rows: Sequence[tuple[Example, Features, Features]]) -> Batch:
        builder = self._queen.builder
        arrays = builder.batch([queen for _, _, queen in rows])
        return Batch(
            self._on_device(run_inputs([run for _, run, _ in rows], self._run.builder)),
            self._on_device(as_tensors(arrays)),
            arrays,
            tuple(builder.batch([queen]) for _, _, queen in rows),
            self._run_decoder(rows),
            self._queen_decoder(rows),
        )

    def _on_device(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: tensor if name == "token_count" else tensor.to(self._device)
            for name, tensor in inputs.items()
        }

    def _run_decoder(
        self, rows: Sequence[tuple[Example, Features, Features]]
    ) -> Callable[[], object]:
        pictures = []
        for example, features, _ in rows:
            cells = gold_cells(example, features, self._run.builder) or ()
            shape = (len(features.history_index), len(features.utterance_index))
            classes = gold_classes([RunExample(example, features, cells)], shape)
            one_hot = torch.nn.functional.one_hot(classes[0], 3).permute(2, 0, 1)
            pictures.append((one_hot.float().numpy(), features))
        return lambda: [decode_run(scores, features) for scores, features in pictures]

    def _queen_decoder(
        self, rows: Sequence[tuple[Example, Features, Features]]
    ) -> Callable[[], object]:
        rectangles = []
        for example, _, features in rows:
            shape = (2, len(features.history_index), len(features.utterance_index))
            scores = np.full(shape, -_SURE, dtype=np.float32)
            for cells in gold_cells(example, features, self._queen.builder) or ():
                scores[cells.operation, slice(*cells.rows), slice(*cells.columns)] = _SURE
            rectangles.append((scores, features))
        settings = self._decoding
        return lambda: [decode(s, f.rows, f.utterance, settings) for s, f in rectangles]


def export_graphs(
    directory: Path, folder: Path, batches: Sequence[Batch], *, half: bool
) -> dict[str, Path]:
    """Export QUEEN on an encoder; the head is untrained, which is all the same to the clock."""
    model = QueenScorer.from_pretrained(
        directory, config=_queen_config(directory), attn_implementation="eager"
    )
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.onnx" for name in ("float32", "int8")}
    export_float32(model, paths["float32"])
    export_int8(model, paths["int8"], calibration=batches[0].singles[:_CALIBRATION])
    if half:
        paths["float16"] = folder / "float16.onnx"
        export_float16(model, paths["float32"], paths["float16"])
    return paths


def in_one_run(path: Path, threads: int, providers: Sequence[str]) -> Callable[[Batch], object]:
    """Return a row that scores a padded batch at once."""
    scorer = Scorer(path, threads=threads, providers=providers)
    return lambda batch: scorer.run(batch.arrays)


def one_by_one(path: Path, threads: int) -> Callable[[Batch], object]:
    """Return a row that scores the dialogues of a batch one after the other on all threads."""
    scorer = Scorer(path, threads=threads, providers=["cpu"])
    return lambda batch: [scorer.run(single) for single in batch.singles]


def side_by_side(path: Path, threads: int) -> Callable[[Batch], object]:
    """Return a row that scores as many dialogues at a time as there are threads, one on each.

    Each thread takes the next dialogue when it is done with one, the longest first.
    """
    scorer = Scorer(path, threads=1, providers=["cpu"])
    pool = ThreadPoolExecutor(threads)

    def work(waiting: deque[EncodedBatch]) -> None:
        with suppress(IndexError):  # nothing left
            while True:
                scorer.run(waiting.popleft())

    def row(batch: Batch) -> None:
        longest = sorted(batch.singles, key=lambda single: single.input_ids.shape[1], reverse=True)
        waiting = deque(longest)
        list(pool.map(work, [waiting] * threads))

    return row
