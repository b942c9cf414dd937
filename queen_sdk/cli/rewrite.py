"""`queen rewrite`: one utterance."""

from __future__ import annotations

import argparse

from queen_sdk.cli.command import Command, add_call_options
from queen_sdk.cli.output import details, say, say_json
from queen_sdk.rewriter import Rewriter


def _configure(parser: argparse.ArgumentParser) -> None:
    add_call_options(parser)
    parser.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="TURN",
        help="a turn before the utterance; repeat it, oldest first",
    )
    parser.add_argument(
        "--protect",
        action="append",
        default=[],
        metavar="TERM",
        help="a term of the utterance that is never replaced or split; repeat it for more",
    )
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("utterance", metavar="UTTERANCE", help="what the user said now")


def _run(arguments: argparse.Namespace) -> int:
    with Rewriter(arguments.bundle) as rewriter:
        result = rewriter.rewrite(
            arguments.history,
            arguments.utterance,
            threshold=arguments.threshold,
            min_confidence=arguments.min_confidence,
            protect=arguments.protect,
        )
    if arguments.json:
        say_json(result.to_dict())
        return 0
    say(result.text)
    for line in details(result):
        say(f"  {line}")
    return 0


COMMAND = Command(
    "rewrite", help="rewrite one utterance with its history", configure=_configure, run=_run
)
