"""Digests of parsers that are a whole directory of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from queen_sdk.bundle.files import sha256_of


def directory_sha256(directory: Path) -> str:
    """Return one digest for the names and contents of all files below `directory`."""
    digest = hashlib.sha256()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = path.relative_to(directory).as_posix()
        digest.update(f"{name}\0{sha256_of(path)}\n".encode())
    return digest.hexdigest()
