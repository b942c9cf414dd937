"""Finding a bundle by name or path, and checking every file before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from queen_sdk.bundle.files import (
    CARD_FILE,
    EMBEDDED,
    MANIFEST_FILE,
    MODEL_FILES,
    TOKENIZER_FILE,
    Precision,
    damaged,
    sha256_of,
)
from queen_sdk.bundle.manifest import Manifest, read_manifest
from queen_sdk.errors import InvalidArgumentError, UnknownBundleError


@attrs.frozen
class Bundle:
    """A model on disk whose files were found unharmed."""

    directory: Path
    """Where it lies."""
    manifest: Manifest = attrs.field(kw_only=True)
    """What it says of itself."""

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The number formats its graph comes in, smallest first."""
        return tuple(p for p, name in MODEL_FILES.items() if name in self.manifest.files)

    def model_path(self, precision: Precision) -> Path:
        """Return the file of the graph in that precision.

        Raises:
            InvalidArgumentError: The bundle has none.
        """
        if precision not in self.precisions:
            raise InvalidArgumentError(
                f"bundle {self.manifest.name!r} has no {precision} model; "
                f"it has {', '.join(self.precisions)}"
            )
        return self.directory / MODEL_FILES[precision]

    @property
    def tokenizer_path(self) -> Path:
        """The file of the word-piece tokenizer."""
        return self.directory / TOKENIZER_FILE


def embedded_bundles() -> tuple[str, ...]:
    """Return the names of the bundles that come with the package."""
    return tuple(sorted(path.parent.name for path in EMBEDDED.glob(f"*/{MANIFEST_FILE}")))


def load_bundle(path_or_name: str | os.PathLike[str]) -> Bundle:
    """Open the bundle of that name, or in that directory, and check all its files.

    Only the card, on which no result depends, may have been edited since.
    A name goes before a directory that is called the same: write "./zh" for the latter.

    Raises:
        UnknownBundleError: There is neither such a bundle nor such a directory.
        NotABundleError: The directory holds no manifest.
        NewerBundleError: A newer release made it.
        DamagedBundleError: A file is missing, altered or unreadable.
    """
    directory = _directory(path_or_name)
    manifest = read_manifest(directory)
    _check_complete(directory, manifest)
    for name, digest in manifest.files.items():
        _check_file(directory / name, digest)
    return Bundle(directory, manifest=manifest)


def _directory(path_or_name: str | os.PathLike[str]) -> Path:
    if not isinstance(path_or_name, (str, os.PathLike)):
        raise InvalidArgumentError(
            f"a bundle is given by name or path, got {type(path_or_name).__name__}"
        )
    embedded = embedded_bundles()
    if path_or_name in embedded:
        return EMBEDDED / path_or_name
    if not os.path.isdir(path_or_name):
        raise UnknownBundleError(
            f"no bundle is called {os.fspath(path_or_name)!r}, nor is it a directory; "
            f"embedded bundles are: {', '.join(embedded) or 'none'}"
        )
    return Path(os.path.abspath(path_or_name))


def _check_complete(directory: Path, manifest: Manifest) -> None:
    if TOKENIZER_FILE not in manifest.files:
        raise damaged(directory / MANIFEST_FILE, f"files lists no {TOKENIZER_FILE}")
    if not any(name in manifest.files for name in MODEL_FILES.values()):
        allowed = ", ".join(MODEL_FILES.values())
        raise damaged(directory / MANIFEST_FILE, f"files lists no model (one of {allowed})")


def _check_file(path: Path, digest: str) -> None:
    try:
        found = sha256_of(path)
    except FileNotFoundError as error:
        raise damaged(path, "the file is missing") from error
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})") from error
    if found != digest.lower() and path.name != CARD_FILE:
        raise damaged(
            path, f"was altered or cut short: its sha256 is {found}, the manifest says {digest}"
        )
