"""Several corpora in one table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from queen_sdk import Rewriter, Turn
from queen_sdk.data.examples import Example
from queen_sdk.evaluation.report import evaluate
from queen_sdk.evaluation.together import Together


def example(utterance: str, reference: str, *history: str) -> Example:
    return Example(tuple(map(Turn, history)), utterance=utterance, reference=reference, id="x:1")


RIGHT = example("他好吗", "史密斯好吗", "史密斯是谁")
WRONG = example("他好吗", "她好吗", "史密斯是谁")
COMPLETE = example("天气好", "天气好", "史密斯是谁")


@pytest.fixture(scope="module")
def rewriter(tiny_bundle_dir: Path) -> Iterator[Rewriter]:
    with Rewriter(tiny_bundle_dir) as rewriter:
        yield rewriter


@pytest.fixture(scope="module")
def together(rewriter: Rewriter) -> Together:
    """Evaluate on a corpus where all is right and on one where a third is."""
    corpora = {"rewrite": [RIGHT, COMPLETE], "restoration": [RIGHT, WRONG, WRONG]}
    return Together(
        [
            evaluate(rewriter, examples, language="zh", corpus=name, threshold=3.0)
            for name, examples in corpora.items()
        ]
    )


def test_every_corpus_has_a_line_and_all_lines_count_alike_in_the_last(together: Together) -> None:
    title, _, _, _, *lines = together.markdown().splitlines()
    assert title == "## tiny 1 on all of them"
    cells = [[cell.strip() for cell in line.strip("|").split("|")][:5] for line in lines]
    assert cells == [
        ["rewrite", "2", "100.0", "100.0", "100.0"],
        ["restoration", "3", "33.3", "33.3", "-"],
        ["all lines", "5", "60.0", "50.0", "100.0"],
    ]


def test_calibration_is_over_all_results(together: Together) -> None:
    found = together.calibration
    assert found is not None
    assert sum(one.count for one in found.bins) == 5
    assert sum(one.count * one.right for one in found.bins) == pytest.approx(3)
    single = [report.calibration for report in together.reports]
    assert all(one is not None and one.ece != found.ece for one in single)


def test_the_dictionary_is_json(together: Together) -> None:
    found = json.loads(json.dumps(together.to_dict()))
    assert [one["corpus"] for one in found["corpora"]] == ["rewrite", "restoration"]
    assert (found["together"]["examples"], found["together"]["exact_match"]) == (5, 60)
    assert found["together"]["calibration"]["ece"] > 0
