"""A run and its parser."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tiny_parser import build_parser

from queen_sdk.bundle import ParserSpec
from queen_sdk.errors import InvalidArgumentError, ParserError
from queen_sdk.training.sealing import seal_parser
from queen_sdk.training.settings import TrainSettings

pytestmark = pytest.mark.train


def settings(parser: str | None) -> TrainSettings:
    return TrainSettings(data=("task",), language="en", encoder="x", parser=parser)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    build_parser(tmp_path / "models" / "en")
    monkeypatch.setattr("queen_sdk.parsing.embedded.MODELS", tmp_path / "models")
    return tmp_path / "models"


def test_no_parser_leaves_no_trace(tmp_path: Path) -> None:
    assert seal_parser(settings(None), tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_noted_and_held(tmp_path: Path, models: Path) -> None:
    spec = seal_parser(settings("embedded"), tmp_path)
    assert isinstance(spec, ParserSpec)
    assert seal_parser(settings("embedded"), tmp_path) == spec
    (models / "en" / "vocabulary.txt").write_text("[UNK]", encoding="utf-8")
    with pytest.raises(ParserError, match="another version of the parser 'embedded:en'"):
        seal_parser(settings("embedded"), tmp_path)


def test_an_unknown_parser_is_found_before_training(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="a parser is"):
        seal_parser(settings("stanza:en"), tmp_path)
