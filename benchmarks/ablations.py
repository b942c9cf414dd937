"""What each part gives: QUEEN on REWRITE, trained again and again with one thing changed.

    python benchmarks/ablations.py [--limit 6000] [--epochs 2] [--only NAME …] [--out FOLDER]
                                   [--path CORPORA] [--encoders FOLDER] [--quick] [--json FILE]

The same examples, encoder and seed for every row; thresholds are chosen for each. Every difference
to the full model comes with its standard error over the evaluation lines. Rows save checkpoints:
the same command goes on where it was stopped, and `--only` takes some of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from baselines.queen_training import (
    Data,
    in_words,
    runs_folder,
    settings_and_data,
    train_and_score,
    training_parser,
)
from measuring.report import Report, table

from queen_sdk.decoding import DecodingSettings
from queen_sdk.training.judging import load_selected
from queen_sdk.training.selection import Scored, decode_scored, is_right
from queen_sdk.training.settings import TrainSettings

FULL = "full"
TRAINED: dict[str, dict[str, Any]] = {
    FULL: {},
    "no query": {"ablate": "no-query"},
    "no coreference part": {"ablate": "no-coref"},
    "no ellipsis part": {"ablate": "no-ellipsis"},
    "ellipsis at both ends, no parser": {"parser": None},
    "gold marks only": {"gold_share": 1.0},
    "marks of the collection only": {"gold_share": 0.0},
    "no complete utterances": {"complete_share": 0.0},
    "no foreign turns": {"distractor_share": 0.0},
    "other words where theirs are copied": {"exchange_share": 0.5},
    "last weights, not their mean": {"mean_kept": 0.0},
    "no extra words": {"extra_words": 0},
    "ends of spans not learnt": {"ends_weight": 0.0},
    "with turns said without what they repeat": {"omissions": {"rewrite": 0.3}},
    "two passes that learn to agree (R-drop)": {"agreement_weight": 1.0},
}
"""Settings of `queen train` that differ from the full model's."""
DECODED: dict[str, dict[str, Any]] = {
    "learnt ends of spans not looked at": {"ends_share": 0.0},
    "spans end at the threshold": {"span_slack": 0.0, "span_share": 0.0, "ends_share": 0.0},
    "a second piece as easily as the first": {"further_piece": 0.0},
}
"""Other decoding of the full model's scores, with its thresholds."""
PAPER = {FULL: 70.1, "no query": 67.4, "no coreference part": 67.9, "no ellipsis part": 67.4}
"""Exact match with BERT-base."""


@attrs.frozen
class Row:
    """One model or decoding, judged."""

    name: str
    right: list[bool]
    """For each evaluation line."""
    untouched: float | None
    """Percent of the complete held-out utterances; None where only the decoding differs."""

    @property
    def exact_match(self) -> float:
        """Percent of the evaluation lines."""
        return 100 * sum(self.right) / len(self.right)

    def beside(self, full: Row) -> tuple[float, float]:
        """Return the difference to the full model in points, and its standard error."""
        changes = [
            int(ours) - int(theirs) for ours, theirs in zip(self.right, full.right, strict=True)
        ]
        count = len(changes)
        mean = sum(changes) / count
        variance = sum((change - mean) ** 2 for change in changes) / count
        return 100 * mean, 100 * math.sqrt(variance / count)


def judged(settings: TrainSettings, data: Data, out: Path, names: Sequence[str]) -> Iterator[Row]:
    """Train the rows that are asked for, the full one first, and judge them."""
    for name in names:
        changed = attrs.evolve(settings, **TRAINED[name])
        run = out / name.replace(",", "").replace(" ", "-")
        scored = train_and_score(changed, data, run)
        selected = load_selected(run)
        yield Row(name, _right(scored, selected.decoding, data, settings), selected.untouched)
        if name == FULL:
            for other, fields in DECODED.items():
                decoding = attrs.evolve(selected.decoding, **fields)
                yield Row(other, _right(scored, decoding, data, settings), None)


def _right(
    scored: Sequence[Scored], decoding: DecodingSettings, data: Data, settings: TrainSettings
) -> list[bool]:
    """Tell of every evaluation line whether its result is right; one not scored is copied."""
    found = {
        s.example.example.id: is_right(s, decode_scored(s, decoding), settings.language)
        for s in scored
    }
    return [found.get(e.id, e.utterance == e.reference) for e in data.evaluation]


def report(settings: TrainSettings, data: Data, weights: str, rows: Sequence[Row]) -> Report:
    """Put the figures side by side."""
    full = rows[0]
    about = (
        f"{in_words(settings, data, weights)} The last rows decode the full model's scores in "
        "another way. ± is the standard error of the difference over the evaluation lines; another "
        "seed would add to it."
    )
    body = []
    for row in rows:
        difference, error = row.beside(full)
        shown = None if row is full else f"{difference:+.1f} ± {error:.1f}"
        body.append((row.name, row.exact_match, shown, row.untouched, PAPER.get(row.name)))
    body.sort(key=lambda cells: cells[0] in DECODED)
    head = ("", "EM", "to the full model", "complete held-out ones untouched, %", "paper's EM")
    figures = {
        "about": about,
        "rows": [{"name": r.name, "exact_match": r.exact_match, "right": r.right} for r in rows],
    }
    return Report(name="ablations", parts=[about, table(head, body)], figures=figures)


def main() -> None:
    """Train all, print the table."""
    parser = training_parser("What each part of QUEEN gives.")
    parser.add_argument("--only", nargs="+", choices=tuple(TRAINED), help="and the full model")
    arguments = parser.parse_args()
    settings, data, weights = settings_and_data(arguments)
    settings = attrs.evolve(settings, parser="embedded")
    chosen = arguments.only or (["no query"] if arguments.quick else TRAINED)
    names = [name for name in TRAINED if name == FULL or name in chosen]
    rows = list(judged(settings, data, runs_folder(arguments, "ablations"), names))
    report(settings, data, weights, rows).publish(arguments)


if __name__ == "__main__":
    main()
