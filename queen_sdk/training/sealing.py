"""A run keeps the parser that it was started with."""

from __future__ import annotations

import json
from pathlib import Path

import attrs

from queen_sdk.bundle import ParserSpec
from queen_sdk.errors import ParserError
from queen_sdk.parsing.registry import open_parser
from queen_sdk.training.settings import TrainSettings

_FILE = "parser.json"


def seal_parser(settings: TrainSettings, run: Path) -> ParserSpec | None:
    """Note the parser's version in the run, or check that it is still the one noted there.

    Raises:
        ParserError: It is another one now.
    """
    if settings.parser is None:
        return None
    _, spec = open_parser(settings.parser, settings.language)
    file = run / _FILE
    if not file.exists():
        file.write_text(json.dumps(attrs.asdict(spec)) + "\n", encoding="utf-8")
    noted = ParserSpec(**json.loads(file.read_text(encoding="utf-8")))
    if noted != spec:
        raise ParserError(
            f"{run} was started with another version of the parser {noted.name!r} ({file}); "
            "install that version, or train again"
        )
    return spec
