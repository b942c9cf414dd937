"""Figures of parsers, counted by hand."""

from __future__ import annotations

import time
from pathlib import Path

import attrs
import pytest

from queen_sdk.data.treebanks import Sentence
from queen_sdk.evaluation.parsing import (
    Decisions,
    ParserReport,
    decide,
    evaluate_parser,
    gold_ends,
    markdown,
    milliseconds,
)
from queen_sdk.parsing import Structure
from queen_sdk.parsing.rule import Word

GO = Sentence("go", (Word("go", pos="VERB", head=None, label="root"),))
I_GO = Sentence(
    "I go.",
    (
        Word("I", pos="PRON", head=1, label="nsubj", start=0),
        Word("go", pos="VERB", head=None, label="root", start=2),
        Word(".", pos="PUNCT", head=1, label="punct", start=4),
    ),
)


class AlwaysEnd:
    """A parser that sees a subject and a verb everywhere."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def parse(self, utterance: str) -> Structure:
        self.asked.append(utterance)
        return Structure(True, True, False)


def test_accuracy_f1_and_majority() -> None:
    found = Decisions.of(
        [("begin", "begin"), ("begin", "end"), ("end", "end"), ("both", "both"), ("both", "end"),
         ("both", "both")]
    )  # fmt: skip
    assert found.total == 6
    assert found.accuracy == pytest.approx(4 / 6)
    assert found.majority_accuracy == pytest.approx(3 / 6)
    assert found.f1("begin") == pytest.approx(2 / 3)
    assert found.f1("end") == pytest.approx(2 / 4)
    assert found.f1("both") == pytest.approx(4 / 5)
    assert found.macro_f1 == pytest.approx((2 / 3 + 1 / 2 + 4 / 5) / 3)
    assert found.majority_macro_f1 == pytest.approx((2 * 0.5 / 1.5) / 3)


def test_nothing_compared() -> None:
    assert (Decisions.of([]).accuracy, Decisions.of([]).macro_f1) == (0.0, 0.0)


def test_the_tree_is_the_measure() -> None:
    assert (gold_ends(GO), gold_ends(I_GO)) == ("begin", "end")
    assert dict(decide(AlwaysEnd(), [GO, I_GO]).counts) == {("begin", "end"): 1, ("end", "end"): 1}


def report_of(parser: AlwaysEnd, directory: Path) -> ParserReport:
    (directory / "weights").write_bytes(b"x" * 1_500_000)
    return evaluate_parser(
        lambda: parser, [GO, I_GO], name="always", language="en", part="test", directory=directory
    )


def test_a_yardstick_stands_beside_it(tmp_path: Path) -> None:
    report = report_of(AlwaysEnd(), tmp_path)
    yardstick = attrs.evolve(report, parser="spacy:x", size_mb=None)
    first, *rest = markdown(report, yardstick).split("\n\n")
    assert first.splitlines()[2].startswith("| always | 0.500 | 0.222 | 0.500 |")
    assert first.splitlines()[3].startswith("| spacy:x | 0.500 | 0.222 | 0.500 |")
    assert first.splitlines()[3].endswith("| – |")
    assert "\n\n".join(rest) == f"{markdown(report)}\n\n{markdown(yardstick)}"


def test_a_report_has_the_figures_and_a_table(tmp_path: Path) -> None:
    parser = AlwaysEnd()
    report = report_of(parser, tmp_path)
    assert {"I go.", "i go"} <= set(parser.asked)
    figures = report.to_dict()
    assert {"accuracy", "macro_f1", "majority_accuracy", "ms_per_utterance"} <= figures.keys()
    assert (figures["accuracy"], figures["size_mb"], figures["sentences"]) == (0.5, 1.5, 2)
    assert figures["confusion"]["begin"] == {"begin": 0, "end": 1, "both": 0}
    assert "| begin | 0 | 1 | 0 | 0.000 |" in markdown(report)


def test_times_are_medians_of_the_best_single_calls() -> None:
    class Slow(AlwaysEnd):
        """Takes its time for one utterance, and for the first calls of each."""

        def parse(self, utterance: str) -> Structure:
            slow = utterance == "slow" or self.asked.count(utterance) < 2
            time.sleep(0.05 if slow else 0)
            return super().parse(utterance)

    assert 0 <= milliseconds(Slow(), ["a", "b", "slow"]) < 25
