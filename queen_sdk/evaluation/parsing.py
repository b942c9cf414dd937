"""How well a parser decides where the template marks an ellipsis, against the trees of a bank."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from queen_sdk.data.chatty import lowered, without_marks
from queen_sdk.data.treebanks import Sentence
from queen_sdk.parsing import EllipsisEnds, Parser, ellipsis_ends
from queen_sdk.parsing.rule import structure_of

ENDS: tuple[EllipsisEnds, ...] = ("begin", "end", "both")
"""The decisions, in the order of the tables."""

_TIMED = 300
_REPEATS = 5


@attrs.frozen
class Decisions:
    """How often each decision of the trees got each decision of the parser."""

    counts: Mapping[tuple[EllipsisEnds, EllipsisEnds], int]
    """By the tree's decision and the parser's."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[EllipsisEnds, EllipsisEnds]]) -> Decisions:
        """Count pairs of the tree's decision and the parser's."""
        return cls(Counter(pairs))

    @property
    def total(self) -> int:
        """How many were compared."""
        return sum(self.counts.values())

    @property
    def accuracy(self) -> float:
        """Share of equal decisions."""
        return sum(self.counts.get((ends, ends), 0) for ends in ENDS) / max(self.total, 1)

    @property
    def majority_accuracy(self) -> float:
        """The accuracy of always giving the most frequent decision."""
        return max(self._of_tree(ends) for ends in ENDS) / max(self.total, 1)

    @property
    def macro_f1(self) -> float:
        """The mean over decisions of the harmonic mean of precision and recall."""
        return statistics.fmean(self.f1(ends) for ends in ENDS)

    @property
    def majority_macro_f1(self) -> float:
        """The macro-F1 of always giving the most frequent decision."""
        share = self.majority_accuracy
        return 2 * share / (1 + share) / len(ENDS)

    def f1(self, ends: EllipsisEnds) -> float:
        """Return the harmonic mean of precision and recall of one decision."""
        given = sum(self.counts.get((other, ends), 0) for other in ENDS)
        both = given + self._of_tree(ends)
        return 2 * self.counts.get((ends, ends), 0) / both if both else 0.0

    def _of_tree(self, ends: EllipsisEnds) -> int:
        return sum(self.counts.get((ends, other), 0) for other in ENDS)


def gold_ends(sentence: Sentence) -> EllipsisEnds:
    """Return the decision that the tree of a sentence asks for."""
    return ellipsis_ends(structure_of(sentence.words))


def decide(parser: Parser, sentences: Sequence[Sentence]) -> Decisions:
    """Compare a parser with the trees."""
    return Decisions.of(
        (gold_ends(sentence), ellipsis_ends(parser.parse(sentence.text))) for sentence in sentences
    )


def milliseconds(parser: Parser, utterances: Sequence[str]) -> float:
    """Return the median time of parsing one of the utterances, after a warm-up.

    Of each utterance the best of a few times counts: the others show what else the machine did.
    """
    for utterance in utterances[:20]:
        parser.parse(utterance)
    best = [math.inf] * len(utterances)
    for _ in range(_REPEATS):
        for k, utterance in enumerate(utterances):
            started = time.perf_counter()
            parser.parse(utterance)
            best[k] = min(best[k], time.perf_counter() - started)
    return statistics.median(best) * 1e3


@attrs.frozen(kw_only=True)
class ParserReport:
    """What was measured of one parser."""

    parser: str
    """Its name."""
    language: str
    part: str
    """Of the treebank."""
    decisions: Decisions
    """On the sentences as they are."""
    chat: Decisions
    """On the same in lower case and without punctuation."""
    ms_per_utterance: float
    """Median over utterances, warm, one at a time, the best of a few times each."""
    load_seconds: float
    size_mb: float | None
    """Of its files; None if it is not known where they are."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "parser": self.parser,
            "language": self.language,
            "part": self.part,
            "sentences": self.decisions.total,
            **_figures(self.decisions),
            "chat": _figures(self.chat),
            "ms_per_utterance": round(self.ms_per_utterance, 4),
            "load_seconds": round(self.load_seconds, 4),
            "size_mb": None if self.size_mb is None else round(self.size_mb, 2),
        }


def evaluate_parser(
    open_it: Callable[[], Parser],
    sentences: Sequence[Sentence],
    *,
    name: str,
    language: str,
    part: str,
    directory: Path | None,
) -> ParserReport:
    """Measure a parser, whose files are in `directory`, on treebank sentences.

    `open_it` is timed too, with all that it imports.
    """
    started = time.perf_counter()
    parser = open_it()
    load_seconds = time.perf_counter() - started
    chat = [lowered(without_marks(sentence)) for sentence in sentences]
    return ParserReport(
        parser=name,
        language=language,
        part=part,
        decisions=decide(parser, sentences),
        chat=decide(parser, chat),
        ms_per_utterance=milliseconds(parser, [s.text for s in sentences[:_TIMED]]),
        load_seconds=load_seconds,
        size_mb=None if directory is None else _megabytes(directory),
    )


def markdown(report: ParserReport, yardstick: ParserReport | None = None) -> str:
    """Return the figures and the confusion table, and a yardstick's side by side with them."""
    if yardstick is None:
        return _page(report)
    keys = ("accuracy", "macro_f1", "majority_accuracy", "ms_per_utterance", "load_seconds")
    lines = [
        "| parser | accuracy | macro-F1 | majority accuracy | ms per utterance | load s | MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in (report, yardstick):
        figures = one.to_dict()
        cells = " | ".join(f"{figures[key]:.3f}" for key in keys)
        lines.append(f"| {one.parser} | {cells} | {_size(one)} |")
    return "\n\n".join(("\n".join(lines), _page(report), _page(yardstick)))


def _page(report: ParserReport) -> str:
    lines = [
        f"{report.parser}, {report.language}, {report.part} part, "
        f"{report.decisions.total:,} sentences",
        "",
        "| text | accuracy | macro-F1 | majority accuracy | majority macro-F1 |",
        "|---|---|---|---|---|",
    ]
    for text, decisions in (("as it is", report.decisions), ("as in a chat", report.chat)):
        found = _figures(decisions)
        keys = ("accuracy", "macro_f1", "majority_accuracy", "majority_macro_f1")
        lines.append(f"| {text} | " + " | ".join(f"{found[key]:.3f}" for key in keys) + " |")
    lines += [
        "",
        "| tree \\ parser | " + " | ".join(ENDS) + " | F1 |",
        "|---" * (len(ENDS) + 2) + "|",
    ]
    for gold in ENDS:
        row = " | ".join(str(report.decisions.counts.get((gold, found), 0)) for found in ENDS)
        lines.append(f"| {gold} | {row} | {report.decisions.f1(gold):.3f} |")
    lines += [
        "",
        f"{report.ms_per_utterance:.3f} ms per utterance, loaded in {report.load_seconds:.3f} s, "
        f"{_size(report)} MB",
    ]
    return "\n".join(lines)


def _size(report: ParserReport) -> str:
    return "–" if report.size_mb is None else f"{report.size_mb:.2f}"


def _megabytes(directory: Path) -> float:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) / 1e6


def _figures(decisions: Decisions) -> dict[str, Any]:
    return {
        "accuracy": round(decisions.accuracy, 4),
        "macro_f1": round(decisions.macro_f1, 4),
        "majority_accuracy": round(decisions.majority_accuracy, 4),
        "majority_macro_f1": round(decisions.majority_macro_f1, 4),
        "f1": {ends: round(decisions.f1(ends), 4) for ends in ENDS},
        "confusion": {
            gold: {found: decisions.counts.get((gold, found), 0) for found in ENDS} for gold in ENDS
        },
    }
