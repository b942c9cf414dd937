"""What a command is, and the options that several of them share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable

import attrs

from queen_sdk.errors import InvalidArgumentError

DATA_VARIABLE = "QUEEN_DATA"
"""Environment variable that points to the folder with the corpora."""


@attrs.frozen
class Command:
    """One command of `queen`."""

    name: str
    """The word behind `queen`."""
    help: str = attrs.field(kw_only=True)
    """One sentence."""
    configure: Callable[[argparse.ArgumentParser], None] = attrs.field(kw_only=True)
    """Adds its options."""
    run: Callable[[argparse.Namespace], int] = attrs.field(kw_only=True)
    """Does it and returns the exit code."""


def add_bundle_option(parser: argparse.ArgumentParser) -> None:
    """Add `--bundle`."""
    parser.add_argument(
        "--bundle",
        metavar="zh|en|PATH",
        help="embedded bundle or directory of another (default: by the dialogue's language)",
    )


def add_threshold_option(parser: argparse.ArgumentParser) -> None:
    """Add `--threshold`."""
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help="score above which a token is copied (default: the bundle's own)",
    )


def add_call_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides a rewrite: bundle, threshold and minimum confidence."""
    add_bundle_option(parser)
    add_threshold_option(parser)
    parser.add_argument(
        "--min-confidence",
        type=float,
        default=0.0,
        metavar="C",
        help="pass the utterance on as it is below this confidence, 0 to 1 (default: 0)",
    )


def add_path_option(parser: argparse.ArgumentParser) -> None:
    """Add `--path`, where the corpora are."""
    parser.add_argument(
        "--path",
        metavar="P",
        help=f"corpus file, its folder, or the folder above (default: ${DATA_VARIABLE})",
    )


def data_path(arguments: argparse.Namespace) -> str:
    """Return where the corpora are.

    Raises:
        InvalidArgumentError: Neither the option nor the environment says it.
    """
    path: str | None = arguments.path or os.environ.get(DATA_VARIABLE)
    if not path:
        raise InvalidArgumentError(f"give --path, or set {DATA_VARIABLE} to the data folder")
    return path


def corpus_path(arguments: argparse.Namespace, corpora: Iterable[str]) -> str:
    """Return where these corpora are; an empty path if the package makes all of them.

    Raises:
        InvalidArgumentError: Neither the option nor the environment says it.
    """
    from queen_sdk.data.readers import CORPORA

    return "" if all(CORPORA[name].generated for name in corpora) else data_path(arguments)


def language_of(corpora: list[str], asked: str | None) -> str:
    """Return the language of corpora, which `asked` may only name where they leave it open.

    Raises:
        InvalidArgumentError: They differ, or neither they nor `asked` say it.
    """
    from queen_sdk.data.readers import CORPORA

    found = {CORPORA[name].language for name in corpora} | {asked}
    languages = sorted(language for language in found if language is not None)
    if not languages:
        raise InvalidArgumentError(f"{', '.join(corpora)}: give --language, zh or en")
    if len(languages) > 1:
        raise InvalidArgumentError(
            f"one language is needed, got {' and '.join(languages)} "
            f"(--data {', '.join(corpora)}; --language {asked or 'not given'})"
        )
    return languages[0]
