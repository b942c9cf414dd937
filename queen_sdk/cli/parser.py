"""`queen parser`: train an embedded parser on treebanks, or its teacher, or score one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from queen_sdk.cli.command import Command, data_path
from queen_sdk.cli.output import say, say_json
from queen_sdk.data.readers import CORPORA
from queen_sdk.data.treebanks import TREEBANKS, read_treebanks
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.options import at_least_one
from queen_sdk.parsing import Parser
from queen_sdk.wire import json_text

if TYPE_CHECKING:
    from queen_sdk.evaluation.parsing import Decisions, ParserReport

_STANDARD = "-"
_FOLDER = "ud"
_Settings = TypeVar("_Settings")


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    train = actions.add_parser("train", help="train a parser and write it to a directory")
    teach = actions.add_parser("teach", help="let an encoder learn to parse, as a teacher")
    score = actions.add_parser("eval", help="score a parser on the trees of a treebank")
    for own, action in ((train, _train), (teach, _teach), (score, _evaluate)):
        own.set_defaults(action=action)
        own.add_argument("--lang", choices=tuple(TREEBANKS), required=True, help="the language")
        own.add_argument(
            "--path", metavar="P", help="folder of the treebanks (default: ud in $QUEEN_DATA)"
        )
    train.add_argument(
        "--encoder", type=Path, metavar="DIR", help="take the word vectors of this encoder"
    )
    train.add_argument(
        "--teacher",
        type=Path,
        metavar="DIR",
        help="learn also from what this teacher, made of the same encoder, finds in --texts",
    )
    train.add_argument(
        "--texts",
        action="append",
        default=[],
        choices=tuple(CORPORA),
        help="corpus whose training part the teacher reads, beside the treebanks' folder; repeat",
    )
    train.add_argument(
        "--seeds",
        type=int,
        default=1,
        metavar="N",
        help="train with N seeds, from --seed on, and keep the best on the development part",
    )
    teach.add_argument(
        "--encoder", type=Path, required=True, metavar="DIR", help="the encoder that learns"
    )
    for own in (train, teach):
        own.add_argument("--out", type=Path, required=True, metavar="DIR", help="where it goes")
        own.add_argument("--epochs", type=int, metavar="N", help="passes over the treebank")
        own.add_argument("--seed", type=int, metavar="N", help="of everything random")
        own.add_argument("--threads", type=int, metavar="N", help="CPU threads of torch")
    score.add_argument(
        "--parser",
        default="embedded",
        metavar="NAME",
        help="embedded, a directory, spacy:PIPELINE or ltp:MODEL (default: embedded)",
    )
    score.add_argument(
        "--spacy", metavar="PIPELINE", help="score this spaCy pipeline too, as a yardstick"
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
    encoder: Path | None = arguments.encoder
    if (arguments.teacher is None) != (not arguments.texts):
        raise InvalidArgumentError("--teacher and --texts need each other")
    if arguments.teacher is not None and encoder is None:
        raise InvalidArgumentError("--teacher needs --encoder: which one was it made of?")
    seeds = at_least_one("--seeds", arguments.seeds)
    _prepare(arguments, encoder)
    from queen_sdk.training.parsers.export import export_parser, parser_notice
    from queen_sdk.training.parsers.teacher import load_teacher
    from queen_sdk.training.parsers.teaching import dialogue_texts
    from queen_sdk.training.parsers.trainer import ParserSettings, train_best

    settings = _settings(ParserSettings, arguments, language=arguments.lang)
    given = None
    if arguments.teacher is not None and encoder is not None:
        given = load_teacher(arguments.teacher, encoder)
    trained = train_best(
        settings,
        read_treebanks(arguments.lang, path, "train"),
        read_treebanks(arguments.lang, path, "dev"),
        seeds=seeds,
        encoder=encoder,
        teacher=given,
        texts=dialogue_texts(arguments.texts, path.parent),
    )
    name = None if encoder is None else encoder.name
    notice = parser_notice(arguments.lang, name, arguments.texts)
    export_parser(trained.network, trained.vocabulary, arguments.out, notice=notice)
    _say_outcome(arguments.out, trained.decisions)
    return 0


def _teach(arguments: argparse.Namespace) -> int:
    path = _treebanks(arguments)
    _prepare(arguments, arguments.encoder)
    from queen_sdk.training.parsers.teacher import TeacherSettings, save_teacher, train_teacher

    taught = train_teacher(
        _settings(TeacherSettings, arguments),
        read_treebanks(arguments.lang, path, "train"),
        read_treebanks(arguments.lang, path, "dev"),
        encoder=arguments.encoder,
    )
    save_teacher(taught, arguments.out)
    _say_outcome(arguments.out, taught.decisions)
    return 0


def _prepare(arguments: argparse.Namespace, encoder: Path | None) -> None:
    """Check what can be checked before torch is loaded, and say with how many threads it is."""
    if encoder is not None and not encoder.is_dir():
        raise InvalidArgumentError(f"--encoder must be a directory, got {str(encoder)!r}")
    if arguments.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(at_least_one("--threads", arguments.threads))


def _settings(
    kind: Callable[..., _Settings], arguments: argparse.Namespace, **own: str
) -> _Settings:
    given = {"epochs": arguments.epochs, "seed": arguments.seed}
    try:
        return kind(**own, **{k: v for k, v in given.items() if v is not None})
    except ValueError as error:  # attrs' own validators
        raise InvalidArgumentError(str(error)) from error


def _say_outcome(out: Path, decisions: Decisions) -> None:
    say(
        f"{out}: macro-F1 {decisions.macro_f1:.3f}, accuracy {decisions.accuracy:.3f} on the "
        "development part"
    )


def _evaluate(arguments: argparse.Namespace) -> int:
    from queen_sdk.evaluation.parsing import markdown

    if arguments.json and not Path(arguments.json).parent.is_dir():
        raise InvalidArgumentError(f"--json: there is no directory {Path(arguments.json).parent}")
    report = _report(arguments.parser, arguments)
    yardstick = _report(f"spacy:{arguments.spacy}", arguments) if arguments.spacy else None
    figures = report.to_dict()
    if yardstick is not None:
        figures["yardstick"] = yardstick.to_dict()
    if arguments.json == _STANDARD:
        say_json(figures)
        return 0
    say(markdown(report, yardstick))
    if arguments.json:
        Path(arguments.json).write_text(json_text(figures, indent=2) + "\n", "utf-8")
    return 0


def _report(name: str, arguments: argparse.Namespace) -> ParserReport:
    from queen_sdk.evaluation.parsing import evaluate_parser

    open_it, directory = _opener(name, arguments.lang)
    return evaluate_parser(
        open_it,
        read_treebanks(arguments.lang, _treebanks(arguments), arguments.part),
        name=name,
        language=arguments.lang,
        part=arguments.part,
        directory=directory,
    )


def _opener(asked: str, language: str) -> tuple[Callable[[], Parser], Path | None]:
    """Return what opens the parser, and where its files are if that is known beforehand."""
    from queen_sdk.parsing.embedded import EmbeddedParser, parser_directory
    from queen_sdk.parsing.registry import open_parser

    if asked != "embedded" and not Path(asked).is_dir():
        own = Path(asked.partition(":")[2])
        return lambda: open_parser(asked, language)[0], own if own.is_dir() else None
    directory = parser_directory(language if asked == "embedded" else asked)
    return lambda: EmbeddedParser(directory), directory


COMMAND = Command(
    "parser",
    help="train or score the parsers of the ellipsis part",
    configure=_configure,
    run=_run,
)
