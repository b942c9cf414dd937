"""What a bundle says of itself: the manifest, as a value and as a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from queen_sdk.bundle.files import MANIFEST_FILE, damaged, sha256_of, stays_inside
from queen_sdk.bundle.structuring import structure
from queen_sdk.confidence import ConfidenceSettings
from queen_sdk.decoding import DecodingSettings
from queen_sdk.errors import InvalidArgumentError, NewerBundleError, NotABundleError
from queen_sdk.rows import ExtraWords
from queen_sdk.template import TemplateSettings

SCHEMA_VERSION = 1
"""The newest form of manifest that this release reads, and the one that it writes."""
OPERATIONS = ("substitute", "insert")
"""The operations of the score rectangle, in its order."""
ENDS = ("begin", "end")
"""Further planes of it, which a model need not have: where what is copied begins and ends."""

_SMALLEST_LENGTH = 16


@attrs.frozen
class ParserSpec:
    """The parser that built the training templates; serving needs the same one."""

    name: str
    """How the parser is called, such as the name of a spaCy pipeline."""
    sha256: str = attrs.field(kw_only=True)
    """Digest of its files, so that another version is noticed."""


@attrs.frozen(kw_only=True)
class Manifest:
    """Everything that must be known to serve a model as it was trained."""

    schema_version: int = SCHEMA_VERSION
    """The form of the manifest."""
    name: str
    """What the bundle is called."""
    version: str
    """Which training of it this is."""
    languages: tuple[str, ...] = attrs.field()
    """Codes of the languages it was trained for, such as "zh"."""
    operations: tuple[str, ...] = attrs.field(default=OPERATIONS)
    """What the planes of the score rectangle mean."""
    decoding: DecodingSettings = attrs.field(factory=DecodingSettings)
    """The thresholds."""
    extra_words: ExtraWords = attrs.field(factory=ExtraWords)
    """Words that may be used although nobody said them."""
    collection: tuple[str, ...] = ()
    """Pronouns and referring expressions: token texts in lower case, joined by single spaces."""
    template: TemplateSettings = attrs.field(factory=TemplateSettings)
    """The parts and tricks of the query template."""
    parser: ParserSpec | None = None
    """The parser of the ellipsis part; None if both ends are marked."""
    max_length: int = attrs.field()
    """Word pieces in the longest sequence that the model takes."""
    confidence: ConfidenceSettings = attrs.field(factory=ConfidenceSettings)
    """From clearness to probability."""
    training: Mapping[str, Any] = attrs.field(factory=dict)
    """Data, encoder, licences and protocol, in free form."""
    scores: Mapping[str, Any] = attrs.field(factory=dict)
    """What was measured, in free form."""
    files: Mapping[str, str] = attrs.field(factory=dict)
    """The sha256 of every other file, by its name relative to the bundle."""

    @languages.validator
    def _check_languages(self, _: object, languages: tuple[str, ...]) -> None:
        if not languages:
            raise InvalidArgumentError("languages must name at least one language, got none")

    @operations.validator
    def _check_operations(self, _: object, operations: tuple[str, ...]) -> None:
        if operations not in (OPERATIONS, OPERATIONS + ENDS):
            raise InvalidArgumentError(
                f"operations must be {OPERATIONS}, with or without {ENDS}, got {operations}"
            )

    @max_length.validator
    def _check_max_length(self, _: object, max_length: int) -> None:
        if max_length < _SMALLEST_LENGTH:
            raise InvalidArgumentError(
                f"max_length must be at least {_SMALLEST_LENGTH}, got {max_length}"
            )


def read_manifest(directory: str | os.PathLike[str]) -> Manifest:
    """Read the manifest of the bundle in `directory`; the other files are not looked at.

    Raises:
        NotABundleError: There is no manifest.
        NewerBundleError: A newer release wrote it.
        DamagedBundleError: It cannot be read, or does not say what a manifest must say.
    """
    path = Path(directory) / MANIFEST_FILE
    data = _read_json(path)
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is int and version > SCHEMA_VERSION:
        raise NewerBundleError(
            f"{path}: schema version {version}, this release reads up to {SCHEMA_VERSION}; "
            "upgrade it: pip install --upgrade queen-sdk"
        )
    try:
        return _manifest(data)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes().decode("utf-8"), parse_constant=_refuse)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotABundleError(
            f"{path.parent}: no {MANIFEST_FILE} there, so it is not a model bundle; "
            "give the directory that holds one"
        ) from error
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"is not JSON in UTF-8 ({error})") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _manifest(data: object) -> Manifest:
    """Make the value; unlike in the settings inside it, every field must be there."""
    if isinstance(data, dict):
        for name in attrs.fields_dict(Manifest):
            if name not in data:
                raise ValueError(f"the field {name} is missing")
    manifest = structure(Manifest, data)
    if manifest.schema_version < 1:
        raise ValueError(f"schema_version must be at least 1, got {manifest.schema_version}")
    for name in manifest.files:
        if not stays_inside(name) or name == MANIFEST_FILE:
            raise ValueError(f"{name!r} in files is not a file below the bundle's directory")
    return manifest


def write_manifest(
    directory: str | os.PathLike[str], manifest: Manifest, files: Iterable[str] | None = None
) -> Manifest:
    """Write the manifest of the bundle in `directory` and return it as written.

    Its `files` are made anew from the digests of `files`, names relative to the directory; None
    takes every file that is there, hidden ones apart.

    Raises:
        InvalidArgumentError: A file is not there, or a free-form field holds what JSON cannot.
    """
    directory = Path(directory)
    names = sorted(_files_below(directory) if files is None else set(files))
    for name in names:
        if not stays_inside(name) or not (directory / name).is_file():
            raise InvalidArgumentError(f"files must be names of files in {directory}, got {name!r}")
    digests = {name: sha256_of(directory / name) for name in names}
    manifest = attrs.evolve(manifest, schema_version=SCHEMA_VERSION, files=digests)
    try:
        text = json.dumps(attrs.asdict(manifest), ensure_ascii=False, allow_nan=False, indent=2)
        content = (text + "\n").encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the manifest cannot be written as JSON: {error}") from error
    unfinished = directory / f".{MANIFEST_FILE}"
    unfinished.write_bytes(content)
    unfinished.replace(directory / MANIFEST_FILE)
    return manifest


def _files_below(directory: Path) -> set[str]:
    names = (p.relative_to(directory) for p in directory.rglob("*") if p.is_file())
    return {
        name.as_posix()
        for name in names
        if name.as_posix() != MANIFEST_FILE and not any(p.startswith(".") for p in name.parts)
    }
