"""`queen select`: thresholds and confidence of a run or a bundle, chosen again."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from queen_sdk.bundle import load_bundle
from queen_sdk.cli.command import Command, add_path_option, corpus_path
from queen_sdk.cli.output import say
from queen_sdk.cli.train import summary
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import CORPORA
from queen_sdk.data.splitting import corpus_of
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import at_least_one

if TYPE_CHECKING:
    from queen_sdk.training.settings import TrainSettings


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Weights stay. Export a run again for a bundle that has the new choice. A bundle is judged "
        "by the graph that it serves, and its manifest is written; repeat queen eval --record then."
    )
    parser.add_argument(
        "chosen", metavar="RUN|BUNDLE", help="what queen train or queen export wrote, or zh or en"
    )
    add_path_option(parser)
    parser.add_argument(
        "--most-judged",
        type=int,
        metavar="N",
        help="held-out examples of one corpus, at most (default: as in training)",
    )
    parser.add_argument(
        "--least-untouched",
        type=float,
        metavar="PERCENT",
        help="of the complete held-out utterances: a higher one edits less, and changes less that "
        "was right (default: as in training)",
    )
    parser.add_argument(
        "--data",
        choices=tuple(CORPORA),
        action="append",
        help="judge by held-out dialogues of this corpus alone; repeat it for more (default: all "
        "that it was trained on)",
    )
    parser.add_argument(
        "--last",
        action="store_true",
        help="take the weights of the last pass of a RUN, not those of the best one",
    )
    parser.add_argument(
        "--mean-with",
        action="append",
        default=[],
        metavar="RUN|BUNDLE",
        help="give a RUN the mean of its weights and those of another that it began like or with; "
        "repeat it for more",
    )
    parser.add_argument(
        "--only-confidence",
        action="store_true",
        help="keep the thresholds and fit the confidence again, for instance on more examples",
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.most_judged is not None:
        at_least_one("--most-judged", arguments.most_judged)
    if arguments.only_confidence and arguments.least_untouched is not None:
        raise InvalidArgumentError(
            "--least-untouched says how thresholds are chosen, and --only-confidence keeps them: "
            "give one of the two"
        )
    run = Path(arguments.chosen)
    changing = arguments.last or bool(arguments.mean_with)
    if changing and not (run / "settings.json").exists():
        raise InvalidArgumentError(
            f"--last and --mean-with change the weights of a RUN; got {run}, which is none"
        )
    if (run / "settings.json").exists() and not (run / "best" / "selected.json").exists():
        raise InvalidArgumentError(f"RUN must have a finished epoch, and {run} has none")
    from queen_sdk.training.corpora import split_examples
    from queen_sdk.training.judging import select_again, select_for_bundle, settings_of
    from queen_sdk.training.settings import TrainSettings
    from queen_sdk.training.starting import held_out_before, held_out_of

    if (run / "settings.json").exists():
        settings = _changed(TrainSettings.load(run / "settings.json"), arguments)
        path = corpus_path(arguments, settings.data)
        _, held_out = split_examples(settings, path, before=held_out_of(run))
        selected = select_again(
            run,
            _of(held_out, arguments.data),
            settings,
            only_confidence=arguments.only_confidence,
            last=arguments.last,
            mean_with=arguments.mean_with,
        )
    else:
        bundle = load_bundle(arguments.chosen)
        settings = _changed(settings_of(bundle), arguments)
        path = corpus_path(arguments, settings.data)
        _, held_out = split_examples(settings, path, before=held_out_before(arguments.chosen))
        selected = select_for_bundle(
            bundle,
            _of(held_out, arguments.data),
            settings,
            only_confidence=arguments.only_confidence,
        )
    say(summary(run, selected))
    return 0


def _of(held_out: Sequence[Example], corpora: Sequence[str] | None) -> list[Example]:
    chosen = [one for one in held_out if corpora is None or corpus_of(one) in corpora]
    if not chosen:
        there = ", ".join(sorted({corpus_of(one) for one in held_out}))
        raise InvalidArgumentError(
            f"--data must be among what was held out of training ({there}), got "
            f"{', '.join(corpora or ())}"
        )
    return chosen


def _changed(settings: TrainSettings, arguments: argparse.Namespace) -> TrainSettings:
    """Return the settings of the training with those that the options change."""
    given = {name: getattr(arguments, name) for name in ("most_judged", "least_untouched")}
    try:
        return attrs.evolve(settings, **{k: v for k, v in given.items() if v is not None})
    except ValueError as error:  # attrs' own validators
        raise InvalidArgumentError(f"--least-untouched: {error}") from error


COMMAND = Command(
    "select",
    help="choose thresholds and confidence of a run or a bundle again",
    configure=_configure,
    run=_run,
)
