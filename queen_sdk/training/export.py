"""From a training run to a bundle: graphs, checks against torch, manifest and card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import numpy as np

from queen_sdk.bundle import Manifest, ParserSpec, write_with_card
from queen_sdk.bundle.files import MODEL_FILES, TOKENIZER_FILE, Precision
from queen_sdk.bundle.manifest import ENDS, OPERATIONS
from queen_sdk.confidence import ConfidenceSettings
from queen_sdk.data.examples import Example
from queen_sdk.decoding import DecodingSettings
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.features import EncodedBatch
from queen_sdk.parsing.embedded import PARSER_FILES, parser_directory
from queen_sdk.parsing.registry import CARRIED, EMBEDDED_PREFIX
from queen_sdk.runtime import Scorer
from queen_sdk.training.graphs import export_float16, export_float32, export_int8
from queen_sdk.training.judging import torch_score
from queen_sdk.training.preparation import TrainingExample, build_pipeline, prepare
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.sealing import seal_parser
from queen_sdk.training.selection import Score, Scored, evaluate_thresholds, score_examples
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.starting import held_out_of, origin_of
from queen_sdk.training.vocabulary import load_vocabulary

FLOAT32_TOLERANCE = 1e-4
"""Largest difference that an exported float32 score may have from torch's."""


def export_bundle(
    run: Path,
    out: Path,
    *,
    name: str,
    version: str,
    precisions: Sequence[Precision],
    check_on: Sequence[Example],
    calibrate_on: Sequence[Example] = (),
) -> Manifest:
    """Export the best epoch of a run as a bundle and check it against torch on real examples.

    `check_on` should be examples that were not trained on; the manifest keeps what was measured.
    `calibrate_on` are a few dozen others that show the int8 export typical activations.

    Raises:
        InvalidArgumentError: The run has no finished epoch, or nothing is asked for.
        ArithmeticError: The float32 graph does not compute what torch computes.
    """
    if not (run / "best" / "selected.json").exists():
        raise InvalidArgumentError(f"{run} holds no finished epoch; train there first")
    if not precisions or not check_on:
        raise InvalidArgumentError("export needs at least one precision and one example to check")
    settings = TrainSettings.load(run / "settings.json")
    selected = json.loads((run / "best" / "selected.json").read_text(encoding="utf-8"))
    decoding = DecodingSettings(**selected["selected"]["decoding"])
    model = QueenScorer.from_pretrained(run / "best", attn_implementation="eager").eval()
    vocabulary = load_vocabulary(run)
    pipeline = build_pipeline(run / TOKENIZER_FILE, settings, vocabulary)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(run / TOKENIZER_FILE, out / TOKENIZER_FILE)
    parser, carried = _bring_parser(settings, run, out)
    with TemporaryDirectory() as scratch:
        calibration = [
            pipeline.builder.batch([e.features]) for e in prepare(calibrate_on, pipeline)
        ]
        paths = _export_all(model, Path(scratch), calibration)
        checker = _Checker(prepare(check_on, pipeline), pipeline.builder, settings.language)
        checks = checker.check(torch_score(model), paths, decoding)
        for precision in precisions:
            shutil.copy(paths[precision], out / MODEL_FILES[precision])
    manifest = Manifest(
        name=name,
        version=version,
        languages=(settings.language,),
        operations=OPERATIONS + ENDS,
        decoding=decoding,
        extra_words=vocabulary.extra_words,
        collection=vocabulary.collection,
        template=settings.template,
        parser=parser,
        max_length=settings.max_length,
        confidence=ConfidenceSettings(**selected["confidence"]),
        training=_training_record(settings, selected, run),
        scores={"selection": selected["selected"], "export": checks},
    )
    files = [TOKENIZER_FILE, *carried, *(MODEL_FILES[precision] for precision in precisions)]
    return write_with_card(out, manifest, files)


def _bring_parser(
    settings: TrainSettings, run: Path, out: Path
) -> tuple[ParserSpec | None, list[str]]:
    """Return what the manifest says of the parser; an embedded one is copied into the bundle."""
    spec = seal_parser(settings, run)
    if spec is None or not spec.name.startswith(EMBEDDED_PREFIX):
        return spec, []
    directory = parser_directory(spec.name.removeprefix(EMBEDDED_PREFIX))
    (out / CARRIED).mkdir(exist_ok=True)
    for name in PARSER_FILES:
        shutil.copy(directory / name, out / CARRIED / name)
    return spec, [f"{CARRIED}/{name}" for name in PARSER_FILES]


def _export_all(
    model: QueenScorer, folder: Path, calibration: Sequence[EncodedBatch]
) -> dict[Precision, Path]:
    paths: dict[Precision, Path] = {
        precision: folder / file for precision, file in MODEL_FILES.items()
    }
    export_float32(model, paths["float32"])
    export_float16(model, paths["float32"], paths["float16"])
    export_int8(model, paths["int8"], calibration=calibration)
    return paths


class _Checker:
    """Compares exported graphs with torch on prepared examples."""

    def __init__(self, examples: Sequence[TrainingExample], builder: Any, language: str) -> None:
        self._examples = examples
        self._builder = builder
        self._language = language

    def check(
        self, torch_scores: Score, paths: Mapping[Precision, Path], decoding: DecodingSettings
    ) -> dict[str, Any]:
        """Return the figures that the manifest keeps."""
        expected = self._scored(torch_scores)
        figures: dict[str, Any] = {"examples": len(expected)}
        figures["torch"] = self._exact_match(expected, decoding)
        for precision, path in paths.items():
            with Scorer(path) as scorer:
                single = precision == "int8"
                scored = self._scored(scorer.run, batch_size=1 if single else 32)
                alone = scored if single else self._scored(scorer.run, batch_size=1)
            figures[precision] = {
                "max_difference": _difference(scored, expected),
                "batch_difference": _difference(scored, alone),
                **self._exact_match(scored, decoding),
            }
        worst = max(figures["float32"]["max_difference"], figures["float32"]["batch_difference"])
        if worst > FLOAT32_TOLERANCE:
            raise ArithmeticError(
                f"the exported float32 scores differ from torch's by {worst:.2g}, "
                f"allowed is {FLOAT32_TOLERANCE}"
            )
        return figures

    def _scored(self, score: Score, batch_size: int = 32) -> list[Scored]:
        return score_examples(
            self._examples, score, self._builder, self._language, batch_size=batch_size
        )

    def _exact_match(
        self, scored: Sequence[Scored], decoding: DecodingSettings
    ) -> dict[str, float]:
        selected = evaluate_thresholds(scored, decoding, self._language)
        return {"exact_match": round(selected.exact_match, 2)}


def _difference(scored: Sequence[Scored], expected: Sequence[Scored]) -> float:
    pairs = zip(scored, expected, strict=True)
    return float(max(np.abs(a.scores - b.scores).max() for a, b in pairs))


def _training_record(
    settings: TrainSettings, selected: Mapping[str, Any], run: Path
) -> dict[str, Any]:
    names = {name: value and Path(value).name for name, value in settings.places.items()}
    return {
        **origin_of(run),
        "settings": {**attrs.asdict(settings), **names, "data": list(settings.data)},
        "held_out": held_out_of(run) if settings.select_on == "train-split" else {},
        "best_epoch": selected["epoch"],
        "ablation": settings.ablate,
        "ellipsis": (
            "no parser: the ellipsis part marks both ends"
            if settings.parser is None
            else f"by the parser {settings.parser}"
        ),
        "protocol": (
            "epoch, thresholds and confidence chosen on dialogues carved from the training part"
            if settings.select_on == "train-split"
            else "epoch, thresholds and confidence chosen on the evaluation part, as in the paper"
        ),
    }
