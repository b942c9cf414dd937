"""`queen export`: from a run directory to a bundle."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from queen_sdk.bundle.files import MODEL_FILES
from queen_sdk.cli.command import Command, add_path_option, corpus_path
from queen_sdk.cli.output import say
from queen_sdk.data.readers import complete_examples
from queen_sdk.errors import BundleError
from queen_sdk.options import at_least_one

_CALIBRATION = 64
"""Training examples that show typical activations."""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_directory", type=Path, metavar="RUN", help="what queen train wrote")
    parser.add_argument("out", type=Path, metavar="OUT", help="directory of the bundle")
    parser.add_argument("--name", metavar="N", help="name of the bundle (default: that of OUT)")
    parser.add_argument("--version", default="1", metavar="V", help="its version (default: 1)")
    parser.add_argument(
        "--precision",
        choices=tuple(MODEL_FILES),
        action="append",
        help="number format of the graph; repeat it for more (default: all)",
    )
    add_path_option(parser)
    parser.add_argument(
        "--check-on",
        type=int,
        default=200,
        metavar="N",
        help="held-out examples to compare with torch (default: 200)",
    )


def _run(arguments: argparse.Namespace) -> int:
    count = at_least_one("--check-on", arguments.check_on)
    from queen_sdk.training.corpora import split_examples
    from queen_sdk.training.export import export_bundle
    from queen_sdk.training.settings import TrainSettings
    from queen_sdk.training.starting import held_out_of

    settings = TrainSettings.load(arguments.run_directory / "settings.json")
    training, held_out = split_examples(
        settings,
        corpus_path(arguments, settings.data),
        before=held_out_of(arguments.run_directory),
    )
    typical = random.Random(settings.seed).sample(training, min(len(training), _CALIBRATION))
    try:
        manifest = export_bundle(
            arguments.run_directory,
            arguments.out,
            name=arguments.name or arguments.out.resolve().name,
            version=arguments.version,
            precisions=tuple(dict.fromkeys(arguments.precision or MODEL_FILES)),
            check_on=[*held_out, *complete_examples(held_out)][:count],
            calibrate_on=typical,
        )
    except ArithmeticError as error:
        raise BundleError(str(error)) from error
    size = sum((arguments.out / name).stat().st_size for name in manifest.files)
    say(f"{arguments.out}: {manifest.name} {manifest.version}, {size / 1e6:.1f} MB")
    return 0


COMMAND = Command("export", help="make a bundle of a training run", configure=_configure, run=_run)
