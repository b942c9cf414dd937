from __future__ import annotations

from typing import get_args

import attrs
import pytest

from queen_sdk.data.readers import CORPORA
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.metrics import Scores
from queen_sdk.evaluation.paper import (
    PROTOCOLS,
    PUBLISHED,
    CorpusName,
    PublishedRow,
    published,
)

FIGURES = {field.name for field in attrs.fields(PublishedRow)} & {
    field.name for field in attrs.fields(Scores)
}


def figures(row: PublishedRow) -> dict[str, float]:
    return {name: value for name in sorted(FIGURES) if (value := getattr(row, name)) is not None}


def row(corpus: str, system: str) -> PublishedRow:
    (found,) = (row for row in published(corpus) if row.system == system)
    return found


def test_every_corpus_has_a_protocol_and_a_reader() -> None:
    assert set(get_args(CorpusName)) == set(PROTOCOLS)
    for name, protocol in PROTOCOLS.items():
        assert protocol.corpus == name
        assert CORPORA[name].language == protocol.language


def test_figures_have_the_names_of_ours() -> None:
    assert len(FIGURES) == 8


def test_rows_hold_percentages_and_no_system_twice() -> None:
    assert len({(row.corpus, row.system) for row in PUBLISHED}) == len(PUBLISHED)
    assert all(10 < value < 100 for row in PUBLISHED for value in figures(row).values())


@pytest.mark.parametrize(
    ("corpus", "exact_match", "bleu_4"),
    [
        ("rewrite", 70.1, 86.9),
        ("restoration", 53.5, None),
        ("task", 71.6, 86.3),
        ("canard", 28.8, 54.4),
    ],
)
def test_queen_is_in_every_table(corpus: str, exact_match: float, bleu_4: float | None) -> None:
    queen = row(corpus, "QUEEN")
    assert (queen.exact_match, queen.bleu_4) == (exact_match, bleu_4)


@pytest.mark.parametrize(
    ("corpus", "system"),
    [("rewrite", "RUN + BERT"), ("restoration", "RUN + BERT"), ("task", "RUN"), ("canard", "RUN")],
)
def test_queen_beats_run_in_every_figure_they_share(corpus: str, system: str) -> None:
    run, queen = figures(row(corpus, system)), figures(row(corpus, "QUEEN"))
    assert run.keys() <= queen.keys()
    assert all(queen[name] > value for name, value in run.items())


def test_an_unknown_corpus_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="rewrite, restoration, task, canard, got 'x'"):
        published("x")
