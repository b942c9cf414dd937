"""A bundle with another parser than it was trained with, to see what the parser is worth.

Serving never does this: it would change the template behind the model's back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs

from queen_sdk.bundle import load_bundle, write_manifest
from queen_sdk.parsing.registry import CARRIED, open_parser

NO_PARSER = "none"
"""Mark both ends."""


@contextmanager
def with_parser(bundle: str | os.PathLike[str], asked: str) -> Iterator[Path]:
    """Give the directory of a copy of a bundle that serves with the parser called `asked`.

    Its version says so, and with it all that is printed of the copy.

    Raises:
        InvalidArgumentError: The name has none of the known forms.
        ParserError: The parser is not there.
    """
    given = load_bundle(bundle)
    manifest = given.manifest
    spec = None if asked == NO_PARSER else open_parser(asked, manifest.languages[0])[1]
    trained = NO_PARSER if manifest.parser is None else manifest.parser.name
    named = NO_PARSER if spec is None else spec.name
    changed = attrs.evolve(
        manifest,
        version=f"{manifest.version} (parser {named}; trained with {trained})",
        parser=spec,
    )
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        names = [name for name in manifest.files if not name.startswith(f"{CARRIED}/")]
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(given.directory / name, copy / name)
        write_manifest(copy, changed, files=names)
        yield copy
