"""`queen models`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from queen_sdk.bundle import load_bundle, read_manifest, record_scores, write_manifest

Queen = Callable[..., Any]


def state(directory: Path, **fields: Any) -> None:
    write_manifest(directory, attrs.evolve(read_manifest(directory), **fields))


def test_a_bundle_is_listed_with_what_it_says_of_itself(queen: Queen, embedded: Path) -> None:
    state(
        embedded / "en",
        scores={"selection": {"exact_match": 61.24}},
        training={
            "data": [{"name": "TASK", "licence": "MIT"}, {"name": "mine"}],
            "encoder": {"name": "MiniLM", "licence": "Apache-2.0"},
        },
    )
    size = sum(
        (embedded / "en" / name).stat().st_size for name in read_manifest(embedded / "en").files
    )
    assert queen("models").out.splitlines() == [
        f"tiny 1: en, zh; float32; {size / 1e6:.1f} MB",
        "  exact match: 61.2 (held-out training dialogues)",
        "  trained on: TASK (licence: MIT), mine (licence: not stated)",
        "  encoder: MiniLM (licence: Apache-2.0)",
    ]


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ({"evaluation": {"task": {"exact_match": 60}}, "selection": {"exact_match": 1}}, "task 60"),
        ({"evaluation": {}, "selection": {"exact_match": 1}}, "1.0 (held-out"),
        ({"evaluation": "good"}, "not stated"),
        ({"selection": "good"}, "not stated"),
        ({}, "not stated"),
    ],
)
def test_free_form_scores_are_read_with_care(
    queen: Queen, embedded: Path, scores: dict[str, Any], text: str
) -> None:
    state(embedded / "en", scores=scores, training={})
    out = queen("models").out
    assert f"exact match: {text}" in out
    assert "encoder: not stated" in out


def test_json_is_for_machines(queen: Queen, embedded: Path) -> None:
    (model,) = json.loads(queen("models", "--json").out)
    assert model["languages"] == ["en", "zh"]
    assert model["precisions"] == ["float32"]
    assert model["training"] == {"data": "none, the weights are random"}
    assert model["size_mb"] >= 0


def test_without_bundles_it_says_so(queen: Queen, embedded: Path) -> None:
    (embedded / "en" / "manifest.json").unlink()
    assert queen("models") == (0, "no bundle comes with this installation\n", "")
    assert queen("models", "--json").out == "[]\n"


def test_the_card_of_any_bundle_is_printed(
    queen: Queen, embedded: Path, altered_bundle: Callable[..., Path]
) -> None:
    directory = altered_bundle(version="5")
    record_scores(load_bundle(directory), "task", {"exact_match": 61.5})
    outcome = queen("models", "--card", directory)
    assert outcome == (0, (directory / "CARD.md").read_text("utf-8"), "")
    assert "# tiny 5\n" in outcome.out
    record_scores(load_bundle("en"), "task", {})
    assert "# tiny 1\n" in queen("models", "--card", "en").out


def test_a_bundle_without_a_card_is_misuse(queen: Queen, embedded: Path) -> None:
    outcome = queen("models", "--card", "en")
    assert (outcome.code, outcome.out) == (2, "")
    assert "has no CARD.md; `queen export` and `queen eval --record` write one" in outcome.err
