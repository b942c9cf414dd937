"""The files of a bundle: their names, their digests, and what to say of a bad one."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Literal

from queen_sdk.errors import DamagedBundleError

Precision = Literal["int8", "float16", "float32"]
"""The number format of a graph's weights."""

MODEL_FILES: dict[Precision, str] = {
    "int8": "model.int8.onnx",
    "float16": "model.float16.onnx",
    "float32": "model.onnx",
}
"""The graph of each precision, smallest first."""
MANIFEST_FILE = "manifest.json"
TOKENIZER_FILE = "tokenizer.json"
CARD_FILE = "CARD.md"
"""What people should know before they use the model."""
_PACKAGE = Path(__file__).resolve().parent.parent
EMBEDDED = _PACKAGE / "bundles"
"""Where the bundles live that come with the package."""

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def stays_inside(name: str) -> bool:
    """Tell whether `name` can only mean a file below the bundle's directory, on any system."""
    parts = name.split("/")
    odd = "\\" in name or ":" in name or "\0" in name
    return not odd and not PurePosixPath(name).is_absolute() and not {"", ".", ".."} & set(parts)


def damaged(path: Path, problem: str) -> DamagedBundleError:
    """Return the error for a bad file, with what to do about it."""
    if {EMBEDDED, _PACKAGE} & set(path.parents):
        remedy = "install the package again: pip install --force-reinstall --no-deps queen-sdk"
    else:
        remedy = "download the bundle again, or export it again"
    return DamagedBundleError(f"{path}: {problem}; {remedy}")
