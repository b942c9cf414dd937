"""What many tests share: the tiny bundle, and copies of it that differ in something."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from tiny_bundle import build_bundle

from queen_sdk.bundle import read_manifest, write_manifest


@pytest.fixture(scope="session")
def tiny_bundle_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the tiny bundle; it is shared, so leave it as it is."""
    return build_bundle(tmp_path_factory.mktemp("bundle") / "tiny")


@pytest.fixture(scope="session")
def altered_bundle(
    tiny_bundle_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Return a function that copies the tiny bundle, with other manifest fields if some are given.

    The copy belongs to the caller, who may spoil its files.
    """

    def copy(**fields: Any) -> Path:
        directory = tmp_path_factory.mktemp("altered") / "tiny"
        shutil.copytree(tiny_bundle_dir, directory)
        write_manifest(directory, attrs.evolve(read_manifest(directory), **fields))
        return directory

    return copy
