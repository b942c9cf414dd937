"""`queen parser`: train an embedded parser on treebanks, or score one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from queen_sdk.cli.command import Command, data_path
from queen_sdk.cli.output import say, say_json
from queen_sdk.data.treebanks import TREEBANKS, read_treebanks
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import at_least_one
from queen_sdk.parsing import Parser
from queen_sdk.wire import json_text

_STANDARD = "-"
_FOLDER = "ud"


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    train = actions.add_parser("train", help="train a parser and write it to a directory")
    score = actions.add_parser("eval", help="score a parser on the trees of a treebank")
    for own, action in ((train, _train), (score, _evaluate)):
        own.set_defaults(action=action)
        own.add_argument("--lang", choices=tuple(TREEBANKS), required=True, help="the language")
        own.add_argument(
            "--path", metavar="P", help="folder of the treebanks (default: ud in $QUEEN_DATA)"
        )
    train.add_argument("--out", type=Path, required=True, metavar="DIR", help="where it goes")
    train.add_argument(
        "--encoder", type=Path, metavar="DIR", help="take the word vectors of this encoder"
    )
    train.add_argument("--epochs", type=int, metavar="N", help="passes over the treebank")
    train.add_argument("--seed", type=int, metavar="N", help="of everything random")
    train.add_argument("--threads", type=int, metavar="N", help="CPU threads of torch")
    score.add_argument(
        "--parser",
        default="embedded",
        metavar="NAME",
        help="embedded, a directory, spacy:PIPELINE or ltp:MODEL (default: embedded)",
    )
    score.add_argument("--part", choices=("dev", "test"), default="test", help="(default: test)")
    score.add_argument(
        "--json", metavar="F", help="write the figures to this file too; - for stdout, instead"
    )


def _run(arguments: argparse.Namespace) -> int:
    action: Callable[[argparse.Namespace], int] = arguments.action
    return action(arguments)


def _treebanks(arguments: argparse.Namespace) -> Path:
    path = Path(data_path(arguments))
    return path / _FOLDER if (path / _FOLDER).is_dir() else path


def _train(arguments: argparse.Namespace) -> int:
    path = _treebanks(arguments)
    if arguments.threads is not None:
        # Read when torch is loaded, which the next import does.
        os.environ["OMP_NUM_THREADS"] = str(at_least_one("--threads", arguments.threads))
    from queen_sdk.training.parsers.export import export_parser, parser_notice
    from queen_sdk.training.parsers.trainer import ParserSettings, train_parser
    from queen_sdk.training.provenance import encoder_origin

    encoder: Path | None = arguments.encoder
    if encoder is not None and not encoder.is_dir():
        raise InvalidArgumentError(f"--encoder must be a directory, got {str(encoder)!r}")
    given = {"epochs": arguments.epochs, "seed": arguments.seed}
    try:
        settings = ParserSettings(
            language=arguments.lang, **{k: v for k, v in given.items() if v is not None}
        )
    except ValueError as error:  # attrs' own validators
        raise InvalidArgumentError(str(error)) from error
    trained = train_parser(
        settings,
        read_treebanks(arguments.lang, path, "train"),
        read_treebanks(arguments.lang, path, "dev"),
        encoder=encoder,
    )
    origin = None if encoder is None else encoder_origin(encoder.name)
    notice = parser_notice(arguments.lang, origin)
    export_parser(trained.network, trained.vocabulary, arguments.out, notice=notice)
    say(
        f"{arguments.out}: macro-F1 {trained.decisions.macro_f1:.3f}, accuracy "
        f"{trained.decisions.accuracy:.3f} on the development part"
    )
    return 0


def _evaluate(arguments: argparse.Namespace) -> int:
    from queen_sdk.evaluation.parsing import evaluate_parser, markdown

    if arguments.json and not Path(arguments.json).parent.is_dir():
        raise InvalidArgumentError(f"--json: there is no directory {Path(arguments.json).parent}")
    open_it, size_mb = _opener(arguments.parser, arguments.lang)
    report = evaluate_parser(
        open_it,
        read_treebanks(arguments.lang, _treebanks(arguments), arguments.part),
        name=arguments.parser,
        language=arguments.lang,
        part=arguments.part,
        size_mb=size_mb,
    )
    if arguments.json == _STANDARD:
        say_json(report.to_dict())
        return 0
    say(markdown(report))
    if arguments.json:
        Path(arguments.json).write_text(json_text(report.to_dict(), indent=2) + "\n", "utf-8")
    return 0


def _opener(asked: str, language: str) -> tuple[Callable[[], Parser], float | None]:
    """Return what opens the parser, and the size of its files if they are ours."""
    from queen_sdk.parsing.embedded import EmbeddedParser, parser_directory
    from queen_sdk.parsing.registry import open_parser

    if asked != "embedded" and not Path(asked).is_dir():
        return lambda: open_parser(asked, language)[0], None
    directory = parser_directory(language if asked == "embedded" else asked)
    size = sum(file.stat().st_size for file in directory.glob("*") if file.is_file())
    return lambda: EmbeddedParser(directory), size / 1e6


COMMAND = Command(
    "parser",
    help="train or score the parsers of the ellipsis part",
    configure=_configure,
    run=_run,
)
