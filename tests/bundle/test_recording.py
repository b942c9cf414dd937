from collections.abc import Callable
from pathlib import Path

from queen_sdk.bundle import load_bundle, record_scores


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
