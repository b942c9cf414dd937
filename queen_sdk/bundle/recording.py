"""Writing what is known of a bundle: its manifest, its card, and what was measured later."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from queen_sdk.bundle.card import card_text
from queen_sdk.bundle.files import CARD_FILE, damaged
from queen_sdk.bundle.loading import Bundle
from queen_sdk.bundle.manifest import Manifest, write_manifest
from queen_sdk.errors import InvalidArgumentError


def write_with_card(
    directory: str | os.PathLike[str], manifest: Manifest, files: Iterable[str]
) -> Manifest:
    """Write manifest and card of the bundle in `directory`; return the manifest as written.

    `files` are all other files of the bundle. What people wrote into a card that is there is kept.

    Raises:
        InvalidArgumentError: A file is not there, or a free-form field holds what JSON cannot.
        DamagedBundleError: The card that is there is not text.
    """
    path = Path(directory) / CARD_FILE
    others = {*files} - {CARD_FILE}
    # First a manifest without a card: it is right at every moment of what follows.
    listed = write_manifest(directory, manifest, files=others)
    before = _read(path) if path.exists() else None
    path.write_bytes(card_text(listed, before).encode("utf-8"))
    return write_manifest(directory, manifest, files=others | {CARD_FILE})


def record_scores(bundle: Bundle, corpus: str, figures: Mapping[str, Any]) -> Manifest:
    """Write the figures for a corpus into manifest (under `evaluation`) and card."""
    scores = dict(bundle.manifest.scores)
    scores["evaluation"] = {**scores.get("evaluation", {}), corpus: dict(figures)}
    manifest = attrs.evolve(bundle.manifest, scores=scores)
    return write_with_card(bundle.directory, manifest, bundle.manifest.files)


def read_card(bundle: Bundle) -> str:
    """Return the card of a bundle.

    Raises:
        InvalidArgumentError: It has none.
        DamagedBundleError: It is not text.
    """
    path = bundle.directory / CARD_FILE
    if not path.exists():
        raise InvalidArgumentError(
            f"the bundle in {bundle.directory} has no {CARD_FILE}; `queen export` and "
            "`queen eval --record` write one"
        )
    return _read(path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, f"is not text in UTF-8 ({error})") from error
