"""Parsers by the name that manifests and settings give them.

`embedded:LANGUAGE` comes with the package or, in `parser/`, with a bundle; `spacy:PIPELINE` and
`ltp:MODEL` are the user's own, by name or directory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from queen_sdk.bundle.manifest import ParserSpec
from queen_sdk.errors import InvalidArgumentError, MissingExtraError, ParserError
from queen_sdk.parsing.base import Parser
from queen_sdk.parsing.embedded import EmbeddedParser, embedded_parsers

CARRIED = "parser"
"""Directory of a bundle with the parser that it brings along."""

EMBEDDED_PREFIX = "embedded:"
"""Before the language, in the names of parsers that a bundle can carry."""

_FORMS = "embedded[:LANGUAGE], spacy:PIPELINE or ltp:MODEL"


class SealedParser(Parser, Protocol):
    """A parser whose version can be told."""

    @property
    def sha256(self) -> str:
        """Digest of everything that decides what it finds."""
        ...


def open_parser(asked: str, language: str) -> tuple[SealedParser, ParserSpec]:
    """Open a parser to train with, and return what the manifest is to say of it.

    "embedded" takes the one of `language`.

    Raises:
        InvalidArgumentError: The name has none of the known forms, or there is none for `language`.
        MissingExtraError: The library that it needs is not installed.
        ParserError: It is not there.
    """
    name = f"{EMBEDDED_PREFIX}{language}" if asked == "embedded" else asked
    parser = _open(name, None)
    return parser, ParserSpec(name, sha256=parser.sha256)


def load_parser(spec: ParserSpec, bundle: Path) -> SealedParser:
    """Open the parser that the bundle in a directory was trained with.

    Raises:
        ParserError: It is not there, or its digest is another than the manifest's.
    """
    try:
        parser = _open(spec.name, bundle / CARRIED)
    except (InvalidArgumentError, MissingExtraError) as error:
        raise ParserError(f"{bundle} needs the parser {spec.name!r}: {error}") from error
    found = parser.sha256
    if found != spec.sha256.lower():
        raise ParserError(
            f"{bundle} was trained with another version of the parser {spec.name!r}: its sha256 "
            f"is {found}, the manifest says {spec.sha256}; install that version, or train again"
        )
    return parser


def _open(name: str, carried: Path | None) -> SealedParser:
    kind, _, which = name.partition(":")
    if not which or kind not in ("embedded", "spacy", "ltp"):
        raise InvalidArgumentError(f"a parser is {_FORMS}, got {name!r}")
    if kind == "spacy":
        from queen_sdk.parsing.spacy_parser import SpacyParser

        return SpacyParser(which)
    if kind == "ltp":
        from queen_sdk.parsing.ltp_parser import LtpParser

        return LtpParser(which)
    if carried is not None and carried.is_dir():
        return EmbeddedParser(carried)
    if which not in embedded_parsers():
        raise InvalidArgumentError(
            f"embedded parsers are: {', '.join(embedded_parsers()) or 'none'}; got {which!r}"
        )
    return EmbeddedParser(which)
