"""RUN and QUEEN, trained alike: same encoder, examples and epochs; exact match side by side.

    python benchmarks/run_em.py [--limit 6000] [--epochs 2] [--out FOLDER] [--path CORPORA]
                                [--encoders FOLDER] [--only run|queen] [--quick] [--json FILE]

Epoch (and QUEEN's thresholds) are chosen on dialogues carved from the training part; the table is
of the evaluation part. Both runs save checkpoints: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
from baselines.run_training import (
    HEAD_RATE,
    exact_match_of_run,
    load_run,
    run_pipeline,
    train_run,
    without_gold,
)
from measuring.encoders import add_encoders_option, encoder
from measuring.report import Report, add_options, table
from measuring.texts import add_path_option, made_up

from queen_sdk.data.examples import Example
from queen_sdk.data.readers import load
from queen_sdk.data.splitting import carve
from queen_sdk.pipeline import Prepared
from queen_sdk.training.corpora import split_examples
from queen_sdk.training.preparation import TrainingExample, build_pipeline
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.selection import evaluate_thresholds, score_examples
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.trainer import load_selected, torch_score, train
from queen_sdk.training.vocabulary import load_vocabulary

ENCODER = "bge-small-zh"


@attrs.frozen
class Data:
    """The three parts, and where they come from."""

    training: Sequence[Example]
    held_out: Sequence[Example]
    evaluation: Sequence[Example]
    name: str


@attrs.frozen
class Trained:
    """One model after training."""

    system: str
    head_parameters: int
    epochs: int
    best_epoch: int
    minutes: float
    exact_match: float


def train_and_judge_run(settings: TrainSettings, data: Data, run: Path) -> Trained:
    """Train RUN, or go on with it, and judge its best epoch."""
    train_run(settings, data.training, data.held_out, run)
    network = load_run(settings, run / "best.pt")
    pipeline = run_pipeline(settings, run)
    judged = without_gold(data.evaluation, pipeline)
    match = exact_match_of_run(network, judged, pipeline.builder, settings.language)
    heads = sum(p.numel() for p in network.head_parameters())
    return Trained("RUN", heads, settings.epochs, *_log(run), match)


def train_and_judge_queen(settings: TrainSettings, data: Data, run: Path) -> Trained:
    """Train QUEEN, or go on with it, and judge its best epoch with the chosen thresholds."""
    train(settings, data.training, data.held_out, run)
    scorer = QueenScorer.from_pretrained(run / "best")
    pipeline = build_pipeline(run / "tokenizer.json", settings, load_vocabulary(run))
    prepared = ((e, pipeline.prepare(e.history, e.utterance)) for e in data.evaluation)
    judged = [
        TrainingExample(e, p.features, p.features, (), (), False)
        for e, p in prepared
        if isinstance(p, Prepared)
    ]
    scored = score_examples(judged, torch_score(scorer), pipeline.builder, settings.language)
    match = evaluate_thresholds(scored, load_selected(run).decoding, settings.language)
    heads = sum(p.numel() for p in scorer.projection.parameters())
    return Trained("QUEEN", heads, settings.epochs, *_log(run), match.exact_match)


def _log(run: Path) -> tuple[int, float]:
    """Return the best epoch on the held-out examples, and the minutes of all."""
    with (run / "log.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    best = max(rows, key=lambda row: float(row["exact_match"]))
    return int(best["epoch"]), float(rows[-1]["seconds"]) / 60


SYSTEMS: dict[str, Callable[[TrainSettings, Data, Path], Trained]] = {
    "run": train_and_judge_run,
    "queen": train_and_judge_queen,
}


def settings_and_data(arguments: argparse.Namespace) -> tuple[TrainSettings, Data, str]:
    """Return what both are trained with, and what the encoder is."""
    name = "tiny" if arguments.quick else ENCODER
    directory, weights = encoder(name, arguments.encoders, arguments.results / "encoders")
    settings = TrainSettings(
        data=("rewrite",),
        language="zh",
        encoder=str(directory),
        epochs=1 if arguments.quick else arguments.epochs,
        batch_size=16,
        learning_rate=arguments.rate,
        long_share=0.0,  # the evaluation part has two turns, and long ones cost RUN most
        marks=False,
        limit=arguments.limit,
    )
    if arguments.quick:
        training, held_out = carve(made_up("zh", 20), 0.2, settings.seed)
        return settings, Data(training, held_out, made_up("zh"), "our own dialogues"), weights
    if not arguments.path:
        raise SystemExit("run_em: the corpora are needed; give --path or set QUEEN_DATA")
    training, held_out = split_examples(settings, arguments.path)
    evaluation = load("rewrite", arguments.path, "eval")
    return settings, Data(training, held_out, evaluation, "REWRITE"), weights


def report(settings: TrainSettings, data: Data, weights: str, trained: Sequence[Trained]) -> Report:
    """Put the figures side by side."""
    about = (
        f"{data.name}: {len(data.training):,} training examples, {settings.epochs} epochs, batch "
        f"{settings.batch_size}, encoder {weights} at a rate of {settings.learning_rate:g}, RUN's "
        f"own layers at {HEAD_RATE:g}; the same complete utterances and foreign turns added for "
        f"both. Epoch and thresholds chosen on {len(data.held_out):,} examples carved from the "
        f"training part; exact match on {len(data.evaluation):,} of the evaluation part."
    )
    head = ("system", "head parameters", "best epoch", "minutes of training", "EM")
    rows = [(t.system, t.head_parameters, t.best_epoch, t.minutes, t.exact_match) for t in trained]
    figures: dict[str, Any] = {"about": about, "rows": [attrs.asdict(t) for t in trained]}
    return Report(name="run_em", parts=[about, table(head, rows)], figures=figures)


def main() -> None:
    """Train both, print the table."""
    parser = argparse.ArgumentParser(description="RUN and QUEEN at equal training.")
    add_options(parser)
    add_path_option(parser)
    add_encoders_option(parser)
    parser.add_argument("--limit", type=int, default=6000, help="training examples read")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-4, help="highest rate of both encoders")
    parser.add_argument("--out", type=Path, help="folder of both runs")
    parser.add_argument("--only", choices=tuple(SYSTEMS), help="train one of them")
    arguments = parser.parse_args()
    settings, data, weights = settings_and_data(arguments)
    out = arguments.out or arguments.results / ("quick/run_em" if arguments.quick else "run_em")
    chosen = [arguments.only] if arguments.only else list(SYSTEMS)
    trained = [SYSTEMS[name](settings, data, out / name) for name in chosen]
    report(settings, data, weights, trained).publish(arguments)


if __name__ == "__main__":
    main()
