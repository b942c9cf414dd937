"""What the tests of the command line share: calling it, and bundles that seem to be embedded."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from queen_sdk.bundle import loading
from queen_sdk.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def queen(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs `queen` with arguments, in this process."""

    def run(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], None]:
    """Return a function that puts text on stdin."""

    def put(text: str | bytes) -> None:
        content = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    return put


@pytest.fixture
def embedded(tiny_bundle_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Embed the tiny bundle as "en" and return the directory above it."""
    root = tmp_path / "bundles"
    shutil.copytree(tiny_bundle_dir, root / "en")
    monkeypatch.setattr(loading, "EMBEDDED", root)
    monkeypatch.setattr("queen_sdk.bundle.files.EMBEDDED", root)
    return root
