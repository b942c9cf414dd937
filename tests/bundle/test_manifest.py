"""The manifest: written and read back without loss, and strict about what it reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from queen_sdk.bundle import SCHEMA_VERSION, Manifest, ParserSpec, read_manifest, write_manifest
from queen_sdk.confidence import ConfidenceSettings
from queen_sdk.decoding import DecodingSettings
from queen_sdk.errors import (
    DamagedBundleError,
    InvalidArgumentError,
    NewerBundleError,
    NotABundleError,
)
from queen_sdk.rows import ExtraWords
from queen_sdk.template import TemplateSettings

MANIFEST = Manifest(
    name="full",
    version="2026.1",
    languages=("zh", "en"),
    decoding=DecodingSettings(substitute_threshold=0.25, insert_threshold=-1.5),
    extra_words=ExtraWords(("的", "of"), ("'s",)),
    collection=("他", "the restaurant"),
    template=TemplateSettings(ellipsis=False),
    parser=ParserSpec("en_small", sha256="ab" * 32),
    max_length=128,
    confidence=ConfidenceSettings(edited_bias=0.5),
    training={"data": ["rewrite"], "encoder": {"name": "bge", "licence": "MIT"}},
    scores={"rewrite": {"em": 58.5}},
)


def edit_json(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = directory / "manifest.json"
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_manifest(tmp_path, MANIFEST)
    return tmp_path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == written == MANIFEST


def test_every_file_gets_its_digest(tmp_path: Path) -> None:
    (tmp_path / "parser").mkdir()
    (tmp_path / "parser" / "weights").write_bytes(b"12")
    (tmp_path / "model.onnx").write_bytes(b"34")
    (tmp_path / ".hidden").write_bytes(b"56")
    write_manifest(tmp_path, MANIFEST)
    assert write_manifest(tmp_path, MANIFEST).files == {
        "model.onnx": hashlib.sha256(b"34").hexdigest(),
        "parser/weights": hashlib.sha256(b"12").hexdigest(),
    }


def test_only_named_files_get_a_digest(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"")
    assert list(write_manifest(tmp_path, MANIFEST, files=["b"]).files) == ["b"]


@pytest.mark.parametrize("name", ["absent", "../outside", ""])
def test_a_file_that_is_not_there_cannot_be_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="files must be names of files in"):
        write_manifest(tmp_path, MANIFEST, files=[name])


def test_the_file_is_readable_and_stable(written: Path) -> None:
    content = (written / "manifest.json").read_bytes()
    text = content.decode("utf-8")
    assert "的" in text
    assert list(json.loads(text)) == [field.name for field in attrs.fields(Manifest)]
    write_manifest(written, read_manifest(written))
    assert (written / "manifest.json").read_bytes() == content


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800"])
def test_free_form_must_be_json(tmp_path: Path, value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be written as JSON"):
        write_manifest(tmp_path, attrs.evolve(MANIFEST, scores={"em": value}))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("field", "value"),
    [("languages", ()), ("operations", ("insert", "substitute")), ("max_length", 15)],
)
def test_a_manifest_makes_sense(field: str, value: object) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{field} must"):
        attrs.evolve(MANIFEST, **{field: value})


def test_no_manifest_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(NotABundleError, match=r"no manifest\.json there"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"max_length": NaN}', b"\xef\xbb\xbf{}"],
    ids=["empty", "cut", "encoding", "nested", "nan", "bom"],
)
def test_unreadable_json_is_damage(written: Path, content: bytes) -> None:
    (written / "manifest.json").write_bytes(content)
    with pytest.raises(DamagedBundleError, match=r"manifest\.json: is not JSON in UTF-8 .*again"):
        read_manifest(written)


def test_a_manifest_that_cannot_be_opened_is_damage(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(DamagedBundleError, match="cannot be read"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", ["null", "[]", "1", '"text"'])
def test_json_of_another_kind_is_damage(written: Path, content: str) -> None:
    (written / "manifest.json").write_text(content)
    with pytest.raises(DamagedBundleError, match="must be an object"):
        read_manifest(written)


@pytest.mark.parametrize("field", [field.name for field in attrs.fields(Manifest)])
def test_every_field_must_be_there(written: Path, field: str) -> None:
    edit_json(written, lambda data: data.pop(field))
    with pytest.raises(DamagedBundleError, match=f"the field {field} is missing"):
        read_manifest(written)


@pytest.mark.parametrize("group", ["decoding", "confidence", "template", "extra_words"])
def test_a_setting_that_is_not_there_has_its_default(written: Path, group: str) -> None:
    edit_json(written, lambda data: data[group].clear())
    settings = getattr(read_manifest(written), group)
    assert settings == type(settings)()


@pytest.mark.parametrize("group", [None, "decoding", "confidence", "template", "parser"])
def test_an_unknown_field_is_damage(written: Path, group: str | None) -> None:
    edit_json(written, lambda data: (data[group] if group else data).update(novel=1))
    name = f"{group}.novel" if group else "novel"
    with pytest.raises(DamagedBundleError, match=f"the field {name} is unknown .*newer release"):
        read_manifest(written)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema_version", "1"),
        ("schema_version", True),
        ("schema_version", 0),
        ("name", None),
        ("version", 1),
        ("languages", "zh"),
        ("languages", [1]),
        ("languages", []),
        ("operations", ["insert"]),
        ("decoding", []),
        ("decoding", {"substitute_threshold": "0.1"}),
        ("decoding", {"substitute_threshold": True}),
        ("decoding", {"substitute_threshold": 10**400}),
        ("extra_words", {"before": "of"}),
        ("collection", {}),
        ("template", {"query": 1}),
        ("parser", "spacy"),
        ("parser", {"name": "spacy"}),
        ("max_length", 128.0),
        ("max_length", -1),
        ("confidence", None),
        ("training", []),
        ("files", {"model.onnx": 5}),
    ],
)
def test_a_wrong_type_or_value_is_damage(written: Path, field: str, value: object) -> None:
    edit_json(written, lambda data: data.update({field: value}))
    with pytest.raises(DamagedBundleError, match=rf"manifest\.json: .*{field}.*export it again"):
        read_manifest(written)


def test_an_infinite_number_is_damage(written: Path) -> None:
    text = (written / "manifest.json").read_text("utf-8")
    (written / "manifest.json").write_text(text.replace("0.25", "1e999"), "utf-8")
    with pytest.raises(DamagedBundleError, match="substitute_threshold must be a finite number"):
        read_manifest(written)


def test_an_integer_will_do_for_a_number(written: Path) -> None:
    edit_json(written, lambda data: data["decoding"].update(insert_threshold=2))
    threshold = read_manifest(written).decoding.insert_threshold
    assert threshold == 2
    assert isinstance(threshold, float)


@pytest.mark.parametrize(
    "name",
    [
        "../up",
        "a/../../up",
        "/etc/passwd",
        "C:\\x",
        "a\\b",
        "",
        ".",
        "a//b",
        "a\0",
        "manifest.json",
    ],
)
def test_a_file_outside_the_bundle_is_damage(written: Path, name: str) -> None:
    edit_json(written, lambda data: data.update(files={name: "0" * 64}))
    with pytest.raises(DamagedBundleError, match="not a file below the bundle's directory"):
        read_manifest(written)


def test_a_newer_schema_asks_for_an_upgrade(written: Path) -> None:
    edit_json(written, lambda data: data.update(schema_version=SCHEMA_VERSION + 1, novel=[]))
    with pytest.raises(NewerBundleError, match="pip install --upgrade queen-sdk"):
        read_manifest(written)
