"""`queen eval`: a bundle on corpora, beside baselines and published figures."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from queen_sdk.bundle import Bundle, load_bundle, record_scores
from queen_sdk.cli.command import (
    Command,
    add_bundle_option,
    add_path_option,
    add_threshold_option,
    corpus_path,
    language_of,
)
from queen_sdk.cli.output import say, say_json
from queen_sdk.data.corpus import CorpusPath
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import CORPORA, load, load_for_training
from queen_sdk.data.splitting import carve
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import at_least_one
from queen_sdk.rewriter import Rewriter
from queen_sdk.wire import json_text

if TYPE_CHECKING:
    from queen_sdk.evaluation.report import Report
    from queen_sdk.evaluation.together import Together

_STANDARD = "-"
_HELD_OUT = "held-out"


def _configure(parser: argparse.ArgumentParser) -> None:
    add_bundle_option(parser)
    parser.add_argument(
        "--data",
        choices=tuple(CORPORA),
        required=True,
        action="append",
        help="the corpus; several, of one language, for an overview of all of them too",
    )
    add_path_option(parser)
    parser.add_argument(
        "--part",
        choices=("eval", "train", "all", _HELD_OUT),
        default="eval",
        help="part of the corpus, split as for the published results, or the dialogues of the "
        "training part that the bundle was not trained on (default: eval)",
    )
    parser.add_argument("--language", choices=("zh", "en"), help="only for corpora of your own")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N examples of each")
    add_threshold_option(parser)
    parser.add_argument(
        "--parser",
        metavar="NAME",
        help="serve with this parser instead of the one the bundle was trained with, to compare "
        "them: none, embedded, spacy:PIPELINE or ltp:MODEL",
    )
    parser.add_argument(
        "--json", metavar="F", help="write the figures to this file too; - for stdout, instead"
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="write the main figures into manifest and card of the bundle that --bundle names",
    )
    parser.add_argument(
        "--reliability", metavar="F.png", help="draw how often each confidence came true"
    )
    parser.add_argument(
        "--wrong", metavar="F.jsonl", help="write every wrong result with its cause, a line each"
    )
    parser.add_argument(
        "--bits",
        metavar="F.txt",
        help="write 1 (right) or 0 (wrong) for every example, a line each",
    )
    parser.add_argument(
        "--no-untouched",
        action="store_true",
        help="do not give the references back as utterances, which takes half of the time",
    )


def _run(arguments: argparse.Namespace) -> int:
    from queen_sdk.evaluation.metric_tokens import metric_tokens
    from queen_sdk.evaluation.other_parser import with_parser
    from queen_sdk.evaluation.together import Together

    corpora = list(dict.fromkeys(arguments.data))
    path = corpus_path(arguments, corpora)
    language = language_of(corpora, arguments.language)
    limit = None if arguments.limit is None else at_least_one("--limit", arguments.limit)
    for option in ("json", "reliability", "wrong", "bits"):
        file = getattr(arguments, option)
        if file and not Path(file).parent.is_dir():
            raise InvalidArgumentError(f"--{option}: there is no directory {Path(file).parent}")
    if arguments.record and arguments.bundle is None:
        raise InvalidArgumentError("--record needs --bundle: whose manifest is to be written?")
    if arguments.record and arguments.parser is not None:
        raise InvalidArgumentError("--record notes the bundle as it is; leave --parser out")
    if arguments.record and arguments.threshold is not None:
        raise InvalidArgumentError("--record notes the bundle as it is; leave --threshold out")
    if arguments.record and arguments.part != "eval":
        raise InvalidArgumentError("--record notes the evaluation part; leave --part out")
    metric_tokens("", language)  # so that a missing tokenizer is found before anything is read
    with ExitStack() as stack:
        bundle: str | Path | None = arguments.bundle
        if arguments.parser is not None:
            bundle = stack.enter_context(with_parser(bundle or language, arguments.parser))
        rewriter = stack.enter_context(Rewriter(bundle))
        served = load_bundle(arguments.bundle or language)
        examples = {name: _examples(name, arguments, path, served)[:limit] for name in corpora}
        reports = [_report(rewriter, name, examples[name], language, arguments) for name in corpora]
    if arguments.record:
        for report in reports:
            record_scores(load_bundle(arguments.bundle), report.corpus, report.summary())
    together = Together(reports)
    _write(arguments, together, examples)
    figures = together.to_dict() if len(reports) > 1 else reports[0].to_dict()
    if arguments.json == _STANDARD:
        say_json(figures)
        return 0
    if len(reports) > 1:
        say(together.markdown())
    if arguments.json:
        Path(arguments.json).write_text(json_text(figures, indent=2) + "\n", "utf-8")
    return 0


def _report(
    rewriter: Rewriter,
    corpus: str,
    examples: Sequence[Example],
    language: str,
    arguments: argparse.Namespace,
) -> Report:
    """Evaluate on one corpus and say at once what was found."""
    from queen_sdk.evaluation.report import evaluate
    from queen_sdk.evaluation.tables import markdown

    report = evaluate(
        rewriter,
        examples,
        language=language,
        corpus=corpus,
        threshold=arguments.threshold,
        references=not arguments.no_untouched,
        progress=True,
    )
    if arguments.json != _STANDARD:
        say(f"{markdown(report)}\n")
    return report


def _write(
    arguments: argparse.Namespace, together: Together, examples: Mapping[str, Sequence[Example]]
) -> None:
    """Write the picture and the files with a line for each result."""
    from queen_sdk.evaluation.calibration import draw_reliability

    reports, calibration = together.reports, together.calibration
    if arguments.reliability and calibration is not None:
        draw_reliability(calibration, reports[0].bundle.system, Path(arguments.reliability))
    if arguments.wrong:
        lines = (json_text(one.to_dict()) + "\n" for report in reports for one in report.wrong)
        Path(arguments.wrong).write_text("".join(lines), encoding="utf-8")
    if arguments.bits:
        wrong = {one.example.id for report in reports for one in report.wrong}
        every = (example for report in reports for example in examples[report.corpus])
        bits = (f"{int(example.id not in wrong)}\n" for example in every)
        Path(arguments.bits).write_text("".join(bits), encoding="utf-8")


def _examples(
    corpus: str, arguments: argparse.Namespace, path: CorpusPath | None, bundle: Bundle
) -> list[Example]:
    if arguments.part != _HELD_OUT:
        return load(corpus, path, arguments.part)
    held_out = bundle.manifest.training.get("held_out", {})
    if corpus not in held_out:
        raise InvalidArgumentError(
            f"--part {_HELD_OUT}: {bundle.manifest.name} did not hold out any of {corpus}"
        )
    return carve(load_for_training(corpus, path), 0.0, 0, held_out)[1]


COMMAND = Command(
    "eval",
    help="score a bundle on corpora, beside baselines and published figures",
    configure=_configure,
    run=_run,
)
