"""Small trainings of QUEEN on REWRITE that can be compared: the same examples for all of them."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import attrs
from measuring.encoders import add_encoders_option, encoder
from measuring.report import add_options
from measuring.texts import add_path_option, made_up

from queen_sdk.data.examples import Example
from queen_sdk.data.readers import load
from queen_sdk.data.splitting import carve
from queen_sdk.training.corpora import split_examples
from queen_sdk.training.judging import torch_score
from queen_sdk.training.preparation import build_pipeline, prepare
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.selection import Scored, score_examples
from queen_sdk.training.settings import Precision, TrainSettings
from queen_sdk.training.trainer import train
from queen_sdk.training.vocabulary import load_vocabulary

ENCODER = "bge-small-zh"


@attrs.frozen
class Data:
    """The three parts, and where they come from."""

    training: Sequence[Example]
    held_out: Sequence[Example]
    evaluation: Sequence[Example]
    name: str


def training_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of the options that all of these trainings have."""
    parser = argparse.ArgumentParser(description=description)
    add_options(parser)
    add_path_option(parser)
    add_encoders_option(parser)
    parser.add_argument("--limit", type=int, default=6000, help="training examples read")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-4, help="highest rate of the encoder")
    parser.add_argument("--precision", choices=get_args(Precision), default="float32")
    parser.add_argument("--out", type=Path, help="folder of the runs")
    return parser


def runs_folder(arguments: argparse.Namespace, name: str) -> Path:
    """Return where the runs of a benchmark are kept, unless told otherwise beside its results."""
    folder: Path = (
        arguments.results / "quick" / name if arguments.quick else arguments.results / name
    )
    return arguments.out or folder


def settings_and_data(arguments: argparse.Namespace) -> tuple[TrainSettings, Data, str]:
    """Return what all are trained with, and what the encoder is."""
    name = "tiny" if arguments.quick else ENCODER
    directory, weights = encoder(name, arguments.encoders, arguments.results / "encoders")
    settings = TrainSettings(
        data=("rewrite",),
        language="zh",
        encoder=str(directory),
        epochs=1 if arguments.quick else arguments.epochs,
        batch_size=16,
        learning_rate=arguments.rate,
        precision=arguments.precision,
        long_share=0.0,  # the evaluation part has two turns, and long ones cost most
        marks=False,
        limit=arguments.limit,
    )
    if arguments.quick:
        training, held_out = carve(made_up("zh", 20), 0.2, settings.seed)
        return settings, Data(training, held_out, made_up("zh"), "our own dialogues"), weights
    if not arguments.path:
        raise SystemExit("The corpora are needed: give --path or set QUEEN_DATA.")
    training, held_out = split_examples(settings, arguments.path)
    evaluation = load("rewrite", arguments.path, "eval")
    return settings, Data(training, held_out, evaluation, "REWRITE"), weights


def train_and_score(settings: TrainSettings, data: Data, run: Path) -> list[Scored]:
    """Train, or go on where `run` left off, and score the evaluation part with the best epoch."""
    train(settings, data.training, data.held_out, run)
    scorer = QueenScorer.from_pretrained(run / "best")
    pipeline = build_pipeline(run / "tokenizer.json", settings, load_vocabulary(run))
    judged = prepare(data.evaluation, pipeline, hopeless=True)
    return score_examples(judged, torch_score(scorer), pipeline.builder, settings.language)


def read_log(run: Path) -> tuple[int, float]:
    """Return the best epoch on the held-out examples, and the minutes of all."""
    with (run / "log.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    best = max(rows, key=lambda row: float(row["exact_match"]))
    return int(best["epoch"]), float(rows[-1]["seconds"]) / 60


def in_words(settings: TrainSettings, data: Data, weights: str) -> str:
    """Say what was trained, and on what it was judged."""
    return (
        f"{data.name}: {len(data.training):,} training examples, {settings.epochs} epochs, batch "
        f"{settings.batch_size}, {settings.precision}, encoder {weights} at a rate of "
        f"{settings.learning_rate:g}. Epoch "
        f"and thresholds chosen on {len(data.held_out):,} examples carved from the training part; "
        f"exact match on {len(data.evaluation):,} of the evaluation part."
    )
