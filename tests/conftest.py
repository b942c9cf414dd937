"""What many tests share: the tiny bundle, and copies of it that differ in something."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import hypothesis
import pytest
from tiny_bundle import build_bundle

from queen_sdk import Rewriter
from queen_sdk.bundle import read_manifest, write_manifest

# The tests of a commit draw the same examples every time; "search" draws new ones, to find faults.
hypothesis.settings.register_profile("ci", max_examples=2000, deadline=None, derandomize=True)
hypothesis.settings.register_profile("quick", max_examples=200, deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", max_examples=5000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


_TRAIN = ("torch", "transformers", "optimum")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the extra `train` where it is not installed."""
    if item.get_closest_marker("train"):
        absent = [name for name in _TRAIN if importlib.util.find_spec(name) is None]
        if absent:
            pytest.skip(f"{', '.join(absent)} not installed; pip install 'queen-sdk[train]'")


@pytest.fixture(scope="session")
def tiny_bundle_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the tiny bundle; it is shared, so leave it as it is."""
    return build_bundle(tmp_path_factory.mktemp("bundle") / "tiny")


@pytest.fixture(scope="session")
def model_path(tiny_bundle_dir: Path) -> Path:
    """Return the graph of the tiny bundle."""
    return tiny_bundle_dir / "model.onnx"


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


@pytest.fixture(scope="session")
def rewriter(tiny_bundle_dir: Path) -> Iterator[Rewriter]:
    """Return a rewriter with the tiny bundle; it is shared, so do not close it."""
    with Rewriter(tiny_bundle_dir, providers=["cpu"], threads=1) as opened:
        yield opened


@pytest.fixture
def embedded(tiny_bundle_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the tiny bundle, as "zh" and as "en", stand for those that come with the package."""
    for language in ("en", "zh"):
        directory = tmp_path / "embedded" / language
        shutil.copytree(tiny_bundle_dir, directory)
        manifest = attrs.evolve(read_manifest(directory), name=language, languages=(language,))
        write_manifest(directory, manifest)
    monkeypatch.setattr("queen_sdk.bundle.loading.EMBEDDED", tmp_path / "embedded")
    return tmp_path / "embedded"
