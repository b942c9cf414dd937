"""The report as Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from queen_sdk import Rewriter, Turn
from queen_sdk.data.examples import Example
from queen_sdk.evaluation.report import evaluate
from queen_sdk.evaluation.tables import markdown

EXAMPLE = Example((Turn("史密斯是谁"),), utterance="他好吗", reference="史密斯好吗", id="x:1")


def rendered(bundle: Path, corpus: str, threshold: float | None = None) -> list[str]:
    with Rewriter(bundle) as rewriter:
        report = evaluate(rewriter, [EXAMPLE], language="zh", corpus=corpus, threshold=threshold)
    return markdown(report).splitlines()


def test_our_rows_stand_beside_the_published_ones(tiny_bundle_dir: Path) -> None:
    lines = rendered(tiny_bundle_dir, "rewrite")
    assert lines[0] == "## tiny 1 on rewrite, 1 examples"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[2][:4] == ["system", "EM", "EM incomplete", "B1"]
    rows = {row[0]: row for row in cells}
    assert rows["tiny 1"][1:4] == ["100.0", "100.0", "100.0"]
    assert rows["tiny 1"][-1] == "measured"
    assert rows["Copy"][1:3] == ["0.0", "0.0"]
    assert rows["QUEEN"][1:4] == ["70.1", "-", "94.7"]
    assert rows["QUEEN"][-1] == "Si et al. 2022"
    assert rows["restored word: tiny 1"][1:] == ["100.0"] * 9


@pytest.mark.parametrize("corpus", ["rewrite", "restoration", "canard", "task", "jsonl"])
def test_tables_are_even_and_caveats_only_where_they_belong(
    tiny_bundle_dir: Path, corpus: str
) -> None:
    lines = rendered(tiny_bundle_dir, corpus)
    table = [line for line in lines if line.startswith("|")]
    assert len({len(line) for line in table}) == 3  # scores, overlaps, confidences
    text = "\n".join(lines)
    assert ("Published rows: " in text) == (corpus != "jsonl")
    assert ("rouge 1.0.1" in text) == (corpus in ("rewrite", "restoration", "canard"))


def test_facts_that_do_not_exist_are_left_out(tiny_bundle_dir: Path) -> None:
    text = "\n".join(rendered(tiny_bundle_dir, "jsonl"))
    assert "- incomplete utterances rewritten exactly: 100.0 % of 1" in text
    assert "complete utterances left untouched" not in text
    assert "threshold" not in text
    assert "- threshold: 99 instead" in "\n".join(rendered(tiny_bundle_dir, "jsonl", 99.0))
