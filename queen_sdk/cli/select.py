"""`queen select`: thresholds and confidence of a finished run, chosen again."""

from __future__ import annotations

import argparse
from pathlib import Path

from queen_sdk.cli.command import Command, add_path_option, corpus_path
from queen_sdk.cli.output import say
from queen_sdk.cli.train import summary
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import at_least_one


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Weights and epoch stay. Export the run again for a bundle that has the new ones."
    )
    parser.add_argument("run_directory", type=Path, metavar="RUN", help="what queen train wrote")
    add_path_option(parser)
    parser.add_argument(
        "--most-judged",
        type=int,
        metavar="N",
        help="held-out examples of one corpus, at most (default: as in training)",
    )


def _run(arguments: argparse.Namespace) -> int:
    run: Path = arguments.run_directory
    if arguments.most_judged is not None:
        at_least_one("--most-judged", arguments.most_judged)
    if not (run / "best" / "selected.json").exists():
        raise InvalidArgumentError(f"RUN must have a finished epoch, and {run} has none")
    from queen_sdk.training.corpora import split_examples
    from queen_sdk.training.judging import select_again
    from queen_sdk.training.settings import TrainSettings
    from queen_sdk.training.starting import held_out_of

    settings = TrainSettings.load(run / "settings.json")
    path = corpus_path(arguments, settings.data)
    _, held_out = split_examples(settings, path, before=held_out_of(run))
    selected = select_again(run, held_out, most_judged=arguments.most_judged)
    say(summary(run, selected))
    return 0


COMMAND = Command(
    "select",
    help="choose thresholds and confidence of a run again",
    configure=_configure,
    run=_run,
)
