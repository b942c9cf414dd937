"""`queen train`: from corpora and an encoder to a run directory."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from queen_sdk.cli.command import Command, add_path_option, corpus_path, language_of
from queen_sdk.cli.output import say
from queen_sdk.data.readers import CORPORA
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import at_least_one

if TYPE_CHECKING:
    from queen_sdk.training.selection import Selected
    from queen_sdk.training.settings import TrainSettings

_NUMBERS: dict[str, tuple[type, str]] = {
    "epochs": (int, "passes over the training examples"),
    "batch_size": (int, "examples per step"),
    "learning_rate": (float, "highest rate of the encoder"),
    "teacher_weight": (float, "of the distance to the scores of the --teacher"),
    "unlabelled_share": (float, "turns of histories that only the --teacher judges, per example"),
    "agreement_weight": (
        float,
        "of the distance between two passes with other parts dropped out (R-drop): slower",
    ),
    "ends_weight": (float, "of finding where what is copied begins and ends"),
    "frozen_layers": (int, "lowest layers of the encoder that keep their weights: quicker"),
    "dropout": (float, "share of the activations that is left out at each step"),
    "distractor_share": (float, "examples that get a few foreign turns put in front"),
    "exchange_share": (float, "examples that get other words where theirs are copied"),
    "seed": (int, "of everything random"),
    "limit": (int, "read only the first N training examples"),
    "max_length": (int, "word pieces that the model sees at most, here and in serving"),
    "opening": (int, "word pieces up to which the first turn always stays in view"),
    "mean_kept": (float, "of the mean of the weights at each step; 0 keeps the last weights"),
    "complete_share": (float, "references added as complete utterances, per example"),
    "long_share": (float, "examples that get a long foreign conversation put in front"),
    "gold_share": (float, "examples whose coreference marks are the gold ones"),
    "extra_words": (int, "function words the model may add, mined where it has fewer"),
    "least_untouched": (float, "percent of complete held-out utterances to leave alone"),
    "most_judged": (int, "held-out examples of one corpus to select on, at most"),
    "held_out": (float, "share of the dialogues carved off to select on"),
}
"""Options by the setting they go to; those not given keep the default of TrainSettings."""
_CHOICES: dict[str, tuple[tuple[str, ...], str]] = {
    "precision": (
        ("float32", "bfloat16"),
        "of the products while it learns; bfloat16 for processors that have it",
    ),
    "select_on": (("train-split", "eval"), "what epoch and thresholds are chosen on"),
    "ablate": (
        ("none", "no-query", "no-coref", "no-ellipsis"),
        "part of the query template to leave out",
    ),
}
_SWITCHES = ("parser", "marks", "rebuildable", "only_ends")


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Run it again with the same --out to resume. Options not given keep defaults."
    parser.add_argument(
        "--data",
        choices=tuple(CORPORA),
        action="append",
        required=True,
        help="a corpus; repeat it for more",
    )
    add_path_option(parser)
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("--encoder", metavar="DIR", help="directory of a pretrained encoder")
    origin.add_argument(
        "--init",
        metavar="zh|en|PATH",
        help="go on from a bundle or from another run; its template is kept",
    )
    parser.add_argument(
        "--mean-with",
        metavar="RUN|BUNDLE",
        help="start from the mean of the weights of --init and of this one",
    )
    parser.add_argument(
        "--teacher", metavar="RUN", help="run of a larger model whose scores are learnt too"
    )
    parser.add_argument("--language", choices=("zh", "en"), help="only for corpora of your own")
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="run directory")
    for name, (kind, text) in _NUMBERS.items():
        parser.add_argument(_option(name), type=kind, metavar="N", help=text)
    for name, (choices, text) in _CHOICES.items():
        parser.add_argument(_option(name), choices=choices, help=text)
    parser.add_argument(
        "--repeat",
        action="append",
        default=[],
        metavar="CORPUS=N",
        help="its examples come N times in every pass, such as task=3; 0.5 takes half of them",
    )
    parser.add_argument(
        "--repeat-complete",
        action="append",
        default=[],
        metavar="CORPUS=N",
        help="its complete utterances come N times as often, to teach restraint on its texts",
    )
    parser.add_argument(
        "--omit",
        action="append",
        default=[],
        metavar="CORPUS=N",
        help="for each of its examples N turns of its histories that repeat a phrase, without it "
        "and as they were said; Chinese only",
    )
    parser.add_argument(
        "--parser",
        metavar="NAME",
        help="of the ellipsis part: embedded, spacy:PIPELINE or ltp:MODEL (default: both ends)",
    )
    parser.add_argument(
        "--no-marks",
        dest="marks",
        action="store_false",
        default=None,
        help="the model never sees punctuation: for corpora without any, such as rewrite",
    )
    parser.add_argument(
        "--rebuildable",
        action="store_true",
        default=None,
        help="train only on examples whose reference the edits rebuild word for word",
    )
    parser.add_argument(
        "--only-ends",
        action="store_true",
        default=None,
        help="learn only where spans begin and end: quick, for a model that does not know it yet",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads of torch")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _run(arguments: argparse.Namespace) -> int:
    path = corpus_path(arguments, arguments.data)
    if arguments.threads is not None:
        # Read when torch is loaded, which the next import does.
        os.environ["OMP_NUM_THREADS"] = str(at_least_one("--threads", arguments.threads))
    from queen_sdk.training.corpora import split_examples
    from queen_sdk.training.trainer import train

    settings = train_settings(arguments)
    training, held_out = split_examples(settings, path, report=say)
    selected = train(settings, training, held_out, arguments.out)
    say(summary(arguments.out, selected))
    return 0


def summary(run: Path, selected: Selected) -> str:
    """Say how the best epoch of a run does on held-out examples."""
    decoding = selected.decoding
    return "\n".join(
        (
            f"{run}: best epoch on held-out examples",
            f"  exact match {selected.exact_match:.1f} %",
            f"  exact match of incomplete utterances {selected.incomplete_exact_match:.1f} %",
            f"  complete utterances left untouched {selected.untouched:.1f} %",
            f"  thresholds {decoding.substitute_threshold:g} (substitute), "
            f"{decoding.insert_threshold:g} (insert), "
            f"and {decoding.history_rise:g} more after a long history",
        )
    )


def _repeats(option: str, given: Sequence[str]) -> dict[str, float]:
    repeats = {}
    for one in given:
        name, _, times = one.partition("=")
        try:
            repeats[name] = float(times)
        except ValueError:
            raise InvalidArgumentError(
                f"{option} must be CORPUS=N, such as task=3, got {one!r}"
            ) from None
    return repeats


def train_settings(arguments: argparse.Namespace) -> TrainSettings:
    """Return the settings that the options make.

    Raises:
        InvalidArgumentError: One is out of range.
    """
    from queen_sdk.training.settings import TrainSettings

    if arguments.encoder is not None and not Path(arguments.encoder).is_dir():
        raise InvalidArgumentError(
            f"--encoder must be the directory of a pretrained encoder, got {arguments.encoder!r}"
        )
    if arguments.limit is not None:
        at_least_one("--limit", arguments.limit)
    language = language_of(arguments.data, arguments.language)
    given = {name: getattr(arguments, name) for name in (*_NUMBERS, *_CHOICES, *_SWITCHES)}
    kept = {}
    if arguments.init is not None:
        from queen_sdk.training.starting import inherited_settings

        kept = inherited_settings(arguments.init, language)
    try:
        return TrainSettings(
            data=tuple(dict.fromkeys(arguments.data)),
            language=language,
            encoder=arguments.encoder,
            init=arguments.init,
            mean_with=arguments.mean_with,
            teacher=arguments.teacher,
            repeats=_repeats("--repeat", arguments.repeat),
            complete_repeats=_repeats("--repeat-complete", arguments.repeat_complete),
            omissions=_repeats("--omit", arguments.omit),
            **kept | {name: value for name, value in given.items() if value is not None},
        )
    except ValueError as error:  # attrs' own validators
        raise InvalidArgumentError(str(error)) from error


COMMAND = Command(
    "train", help="train a model, or go on with a run", configure=_configure, run=_run
)
