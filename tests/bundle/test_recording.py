from collections.abc import Callable
from pathlib import Path

import pytest

from queen_sdk.bundle import load_bundle, read_card, record_scores
from queen_sdk.bundle.files import sha256_of
from queen_sdk.errors import DamagedBundleError, InvalidArgumentError


def test_recorded_figures_are_in_the_manifest_of_a_bundle_that_still_loads(
    altered_bundle: Callable[..., Path],
) -> None:
    directory = altered_bundle(scores={"selection": {"exact_match": 50.0}})
    record_scores(load_bundle(directory), "task", {"exact_match": 61.5})
    record_scores(load_bundle(directory), "rewrite", {"exact_match": 55.0})
    manifest = load_bundle(directory).manifest
    assert manifest.scores == {
        "selection": {"exact_match": 50.0},
        "evaluation": {"task": {"exact_match": 61.5}, "rewrite": {"exact_match": 55.0}},
    }


def test_recording_again_replaces_the_figures_of_that_corpus(
    altered_bundle: Callable[..., Path],
) -> None:
    directory = altered_bundle(scores={})
    record_scores(load_bundle(directory), "task", {"exact_match": 1.0, "old": True})
    manifest = record_scores(load_bundle(directory), "task", {"exact_match": 2.0})
    assert manifest.scores["evaluation"]["task"] == {"exact_match": 2.0}


def test_recording_refreshes_the_facts_of_the_card_and_its_digest(
    altered_bundle: Callable[..., Path],
) -> None:
    directory = altered_bundle()
    record_scores(load_bundle(directory), "task", {"exact_match": 61.5})
    card = directory / "CARD.md"
    assert "# tiny 1\n" in card.read_text("utf-8")
    assert "- number formats: float32\n" in card.read_text("utf-8")
    card.write_text(card.read_text("utf-8") + "\nIt cannot count.\n", "utf-8")
    manifest = record_scores(load_bundle(directory), "rewrite", {"exact_match": 55.0})
    text = read_card(load_bundle(directory))
    assert text.endswith("\nIt cannot count.\n")
    assert "| task " in text
    assert "| rewrite " in text
    assert manifest.files["CARD.md"] == sha256_of(card)
    assert load_bundle(directory).manifest == manifest


def test_lines_end_the_same_on_every_system(altered_bundle: Callable[..., Path]) -> None:
    directory = altered_bundle()
    (directory / "CARD.md").write_bytes("Mine.\r\nStill 我的.\r\n".encode())
    record_scores(load_bundle(directory), "task", {})
    assert (directory / "CARD.md").read_bytes().endswith("\n\nMine.\nStill 我的.\n".encode())


def test_a_bundle_without_a_card_says_how_to_get_one(altered_bundle: Callable[..., Path]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"has no CARD\.md; `queen export`"):
        read_card(load_bundle(altered_bundle()))


def test_a_card_that_is_not_text_is_not_overwritten(altered_bundle: Callable[..., Path]) -> None:
    directory = altered_bundle()
    (directory / "CARD.md").write_bytes(b"\xff\xfe")
    bundle = load_bundle(directory)
    for act in (lambda: read_card(bundle), lambda: record_scores(bundle, "task", {})):
        with pytest.raises(DamagedBundleError, match="is not text in UTF-8"):
            act()
    assert (directory / "CARD.md").read_bytes() == b"\xff\xfe"
    assert load_bundle(directory).manifest.scores["evaluation"] == {"task": {}}
