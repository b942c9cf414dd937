"""`queen export`: from options to the export; that itself is tested elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Queen = Callable[..., Any]
pytestmark = pytest.mark.train


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Make a run directory on a hundred dialogues of our own form."""
    from queen_sdk.training.settings import TrainSettings

    line = '{"history": ["史密斯是谁"], "utterance": "他好吗", "rewrite": "史密斯好吗"}\n'
    (tmp_path / "own.jsonl").write_text(line * 100, encoding="utf-8")
    directory = tmp_path / "run"
    directory.mkdir()
    settings = TrainSettings(data=("jsonl",), language="zh", encoder="e", held_out=0.2)
    settings.save(directory / "settings.json")
    return directory


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tiny_bundle_dir: Path) -> list[dict[str, Any]]:
    """Replace the export by one that remembers and says it made the tiny bundle."""
    from queen_sdk.bundle import read_manifest
    from queen_sdk.training import export

    made: list[dict[str, Any]] = []

    def export_bundle(run: Path, out: Path, **options: Any) -> Any:
        made.append({"run": run, "out": out, **options})
        return read_manifest(tiny_bundle_dir)

    monkeypatch.setattr(export, "export_bundle", export_bundle)
    return made


def test_defaults(
    queen: Queen, run: Path, calls: list[dict[str, Any]], tiny_bundle_dir: Path
) -> None:
    outcome = queen("export", run, tiny_bundle_dir, "--path", run.parent / "own.jsonl")
    (call,) = calls
    assert (call["run"], call["out"]) == (run, tiny_bundle_dir)
    assert (call["name"], call["version"]) == ("tiny", "1")
    assert call["precisions"] == ("int8", "float16", "float32")
    assert len(call["check_on"]) == 40  # the held-out examples, and their references
    assert outcome.code == 0
    assert outcome.out.startswith(f"{tiny_bundle_dir}: tiny 1, ")


def test_options_arrive(
    queen: Queen, run: Path, calls: list[dict[str, Any]], tiny_bundle_dir: Path
) -> None:
    options = ("--name", "zh", "--version", "2", "--precision", "int8", "--check-on", 3)
    path = run.parent / "own.jsonl"
    assert queen("export", run, tiny_bundle_dir, "--path", path, *options).code == 0
    (call,) = calls
    assert (call["name"], call["version"], call["precisions"]) == ("zh", "2", ("int8",))
    assert len(call["check_on"]) == 3


def test_scores_that_differ_from_torch_are_failure(
    queen: Queen, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queen_sdk.training import export

    def differ(*_: object, **__: object) -> None:
        raise ArithmeticError("the scores differ")

    monkeypatch.setattr(export, "export_bundle", differ)
    outcome = queen("export", run, run.parent / "out", "--path", run.parent / "own.jsonl")
    assert (outcome.code, outcome.err) == (1, "queen: the scores differ\n")


def test_a_directory_without_a_run_is_failure(
    queen: Queen, tmp_path: Path, calls: list[dict[str, Any]]
) -> None:
    outcome = queen("export", tmp_path, tmp_path / "out", "--path", tmp_path)
    assert outcome.code == 1
    assert "settings.json: No such file" in outcome.err
    assert calls == []
