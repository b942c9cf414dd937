"""Bundles by name and by path, and every way in which one can be unfit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.bundle import embedded_bundles, load_bundle, loading, read_manifest, write_manifest
from queen_sdk.errors import (
    DamagedBundleError,
    InvalidArgumentError,
    NewerBundleError,
    NotABundleError,
    UnknownBundleError,
)

Altered = Callable[..., Path]


@pytest.fixture
def embedded(tiny_bundle_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Embed the tiny bundle as "xx", beside a directory that is no bundle."""
    root = tmp_path / "bundles"
    shutil.copytree(tiny_bundle_dir, root / "xx")
    (root / "__pycache__").mkdir()
    monkeypatch.setattr(loading, "EMBEDDED", root)
    monkeypatch.setattr("queen_sdk.bundle.files.EMBEDDED", root)
    return root


@pytest.mark.parametrize("form", [str, Path])
def test_a_directory_is_loaded(tiny_bundle_dir: Path, form: Callable[[Path], Any]) -> None:
    bundle = load_bundle(form(tiny_bundle_dir))
    assert bundle.directory == tiny_bundle_dir
    assert bundle.manifest == read_manifest(tiny_bundle_dir)
    assert bundle.manifest.languages == ("en", "zh")
    assert bundle.tokenizer_path == tiny_bundle_dir / "tokenizer.json"


def test_a_relative_directory_stays_found(
    tiny_bundle_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_bundle_dir.parent)
    bundle = load_bundle("./tiny")
    monkeypatch.chdir("/")
    assert bundle.tokenizer_path.is_file()


def test_a_model_is_found_by_its_precision(tiny_bundle_dir: Path) -> None:
    bundle = load_bundle(tiny_bundle_dir)
    assert bundle.precisions == ("float32",)
    assert bundle.model_path("float32") == tiny_bundle_dir / "model.onnx"


def test_an_absent_precision_lists_the_others(altered_bundle: Altered) -> None:
    directory = altered_bundle()
    shutil.copy(directory / "model.onnx", directory / "model.int8.onnx")
    write_manifest(directory, read_manifest(directory))
    bundle = load_bundle(directory)
    assert bundle.precisions == ("int8", "float32")
    assert bundle.model_path("int8").name == "model.int8.onnx"
    with pytest.raises(InvalidArgumentError, match="no float16 model; it has int8, float32"):
        bundle.model_path("float16")


def test_an_embedded_bundle_is_loaded_by_name(embedded: Path) -> None:
    assert embedded_bundles() == ("xx",)
    assert load_bundle("xx").directory == embedded / "xx"


def test_a_name_goes_before_a_directory(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = embedded.parent / "elsewhere"
    shutil.copytree(embedded / "xx", elsewhere / "xx")
    monkeypatch.chdir(elsewhere)
    assert load_bundle("xx").directory == embedded / "xx"
    assert load_bundle("./xx").directory == elsewhere / "xx"
    assert load_bundle(Path("xx")).directory == elsewhere / "xx"


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize("name", ["ko", "", "__pycache__", "no/such/place", "a\0b", "\ud800"])
def test_an_unknown_name_lists_the_embedded_bundles(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownBundleError, match="embedded bundles are: xx"):
        load_bundle(name)


def test_a_file_is_not_a_bundle(tiny_bundle_dir: Path) -> None:
    with pytest.raises(UnknownBundleError, match="nor is it a directory"):
        load_bundle(tiny_bundle_dir / "model.onnx")


@pytest.mark.parametrize("value", [None, 3, b"zh", ["zh"]])
def test_a_bundle_is_given_by_name_or_path(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="by name or path"):
        load_bundle(value)


def test_a_directory_without_manifest_is_not_a_bundle(tmp_path: Path) -> None:
    with pytest.raises(NotABundleError):
        load_bundle(tmp_path)


def test_a_newer_bundle_is_refused_before_its_files_are_read(altered_bundle: Altered) -> None:
    directory = altered_bundle()
    manifest = directory / "manifest.json"
    manifest.write_text(
        manifest.read_text("utf-8").replace('"schema_version": 1', '"schema_version": 2'), "utf-8"
    )
    (directory / "model.onnx").unlink()
    with pytest.raises(NewerBundleError):
        load_bundle(directory)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(altered_bundle: Altered, name: str) -> None:
    directory = altered_bundle()
    (directory / name).unlink()
    with pytest.raises(DamagedBundleError, match=f"{name}: the file is missing; download"):
        load_bundle(directory)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_an_altered_file_is_named(altered_bundle: Altered, name: str) -> None:
    directory = altered_bundle()
    content = bytearray((directory / name).read_bytes())
    content[len(content) // 2] ^= 1
    (directory / name).write_bytes(content)
    with pytest.raises(DamagedBundleError, match=f"{name}: was altered or cut short"):
        load_bundle(directory)


def test_a_card_may_be_edited_but_not_be_gone(altered_bundle: Altered) -> None:
    directory = altered_bundle()
    card = directory / "CARD.md"
    card.write_text("It cannot count.", encoding="utf-8")
    write_manifest(directory, read_manifest(directory))
    card.write_text("It cannot count, nor sing.", encoding="utf-8")
    assert "CARD.md" in load_bundle(directory).manifest.files
    card.unlink()
    with pytest.raises(DamagedBundleError, match=r"CARD\.md: the file is missing"):
        load_bundle(directory)


def test_a_directory_in_place_of_a_file_is_damage(altered_bundle: Altered) -> None:
    directory = altered_bundle()
    (directory / "model.onnx").unlink()
    (directory / "model.onnx").mkdir()
    with pytest.raises(DamagedBundleError, match=r"model\.onnx: cannot be read"):
        load_bundle(directory)


@pytest.mark.parametrize(
    ("files", "problem"),
    [(["model.onnx"], r"no tokenizer\.json"), (["tokenizer.json"], "no model")],
)
def test_a_bundle_has_a_tokenizer_and_a_model(
    altered_bundle: Altered, files: list[str], problem: str
) -> None:
    directory = altered_bundle()
    write_manifest(directory, read_manifest(directory), files=files)
    with pytest.raises(DamagedBundleError, match=f"files lists {problem}"):
        load_bundle(directory)


def test_a_damaged_embedded_bundle_asks_for_reinstallation(embedded: Path) -> None:
    (embedded / "xx" / "model.onnx").write_bytes(b"")
    with pytest.raises(DamagedBundleError, match="pip install --force-reinstall"):
        load_bundle("xx")


def test_a_link_to_a_file_elsewhere_is_fine(altered_bundle: Altered, tmp_path: Path) -> None:
    directory = altered_bundle()
    shutil.move(directory / "model.onnx", tmp_path / "blob")
    (directory / "model.onnx").symlink_to(tmp_path / "blob")
    assert load_bundle(directory).precisions == ("float32",)
