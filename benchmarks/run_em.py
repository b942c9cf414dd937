"""RUN and QUEEN, trained alike: same encoder, examples and epochs; exact match side by side.

    python benchmarks/run_em.py [--limit 6000] [--epochs 2] [--out FOLDER] [--path CORPORA]
                                [--encoders FOLDER] [--only run|queen] [--quick] [--json FILE]

Epoch (and QUEEN's thresholds) are chosen on dialogues carved from the training part; the table is
of the evaluation part. Both runs save checkpoints: the same command goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
from baselines.queen_training import (
    Data,
    in_words,
    read_log,
    runs_folder,
    settings_and_data,
    train_and_score,
    training_parser,
)
from baselines.run_training import (
    HEAD_RATE,
    exact_match_of_run,
    load_run,
    run_pipeline,
    train_run,
    without_gold,
)
from measuring.report import Report, table

from queen_sdk.training.judging import load_selected
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.selection import evaluate_thresholds
from queen_sdk.training.settings import TrainSettings


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
    return Trained("RUN", heads, settings.epochs, *read_log(run), match)


def train_and_judge_queen(settings: TrainSettings, data: Data, run: Path) -> Trained:
    """Train QUEEN, or go on with it, and judge its best epoch with the chosen thresholds."""
    scored = train_and_score(settings, data, run)
    match = evaluate_thresholds(scored, load_selected(run).decoding, settings.language)
    network = QueenScorer.from_pretrained(run / "best")
    heads = sum(p.numel() for p in network.head_parameters())
    return Trained("QUEEN", heads, settings.epochs, *read_log(run), match.exact_match)


SYSTEMS: dict[str, Callable[[TrainSettings, Data, Path], Trained]] = {
    "run": train_and_judge_run,
    "queen": train_and_judge_queen,
}


def report(settings: TrainSettings, data: Data, weights: str, trained: Sequence[Trained]) -> Report:
    """Put the figures side by side."""
    about = (
        f"{in_words(settings, data, weights)} RUN's own layers learn at {HEAD_RATE:g}; the same "
        "complete utterances and foreign turns are added for both."
    )
    head = ("system", "head parameters", "best epoch", "minutes of training", "EM")
    rows = [(t.system, t.head_parameters, t.best_epoch, t.minutes, t.exact_match) for t in trained]
    figures: dict[str, Any] = {"about": about, "rows": [attrs.asdict(t) for t in trained]}
    return Report(name="run_em", parts=[about, table(head, rows)], figures=figures)


def main() -> None:
    """Train both, print the table."""
    parser = training_parser("RUN and QUEEN at equal training.")
    parser.add_argument("--only", choices=tuple(SYSTEMS), help="train one of them")
    arguments = parser.parse_args()
    settings, data, weights = settings_and_data(arguments)
    out = runs_folder(arguments, "run_em")
    chosen = [arguments.only] if arguments.only else list(SYSTEMS)
    trained = [SYSTEMS[name](settings, data, out / name) for name in chosen]
    report(settings, data, weights, trained).publish(arguments)


if __name__ == "__main__":
    main()
