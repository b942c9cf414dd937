"""Published figures to set beside ours, with what they were measured on.

The rows are those of the four result tables and the ablation table of the QUEEN paper (Si et al.,
NAACL 2022), which takes most baselines from the RUN paper (Liu et al., EMNLP 2020). Where a figure
comes from elsewhere, the row's `source` says so.
"""

from __future__ import annotations

from typing import Literal

import attrs

from queen_sdk.errors import InvalidArgumentError

CorpusName = Literal["rewrite", "restoration", "task", "canard"]
"""The corpora of the paper, by the names the readers use."""


@attrs.frozen
class Protocol:
    """What the published figures of a corpus were measured on."""

    corpus: CorpusName
    """Which corpus."""
    language: Literal["en", "zh"] = attrs.field(kw_only=True)
    """Language of its text, and of its metric tokens."""
    split: str = attrs.field(kw_only=True)
    """The part that was scored."""
    selection: str = attrs.field(kw_only=True)
    """What QUEEN's epoch was chosen on. Always the scored part: not an honest protocol."""


@attrs.frozen
class PublishedRow:
    """The figures of one system on one corpus, as percentages; None where none was published."""

    corpus: CorpusName
    """Which corpus; see `PROTOCOLS` for the part of it."""
    system: str = attrs.field(kw_only=True)
    """Name of the system, with its encoder where it has variants."""
    exact_match: float | None = attrs.field(default=None, kw_only=True)
    bleu_1: float | None = attrs.field(default=None, kw_only=True)
    bleu_2: float | None = attrs.field(default=None, kw_only=True)
    bleu_3: float | None = attrs.field(default=None, kw_only=True)
    bleu_4: float | None = attrs.field(default=None, kw_only=True)
    rouge_1: float | None = attrs.field(default=None, kw_only=True)
    rouge_2: float | None = attrs.field(default=None, kw_only=True)
    rouge_l: float | None = attrs.field(default=None, kw_only=True)
    rouge_release: Literal["0.3.2", "1.0.0"] | None = attrs.field(default=None, kw_only=True)
    """Release of the `rouge` package behind the ROUGE figures; None if not known.

    They do not count alike, and ours follow 1.0.1. RUN pins 0.3.2: ROUGE-1 and -2 as ours, ROUGE-L
    by another F that is points lower. QUEEN's is inferred: its logs have ROUGE-L above ROUGE-1,
    which neither 0.3.2 nor 1.0.1 can give, but 1.0.0 does: ROUGE-L as ours, ROUGE-1 and -2 with
    repeated n-grams counted.
    """
    source: str = attrs.field(kw_only=True)
    """Where the figures were read."""


PROTOCOLS: dict[CorpusName, Protocol] = {
    "rewrite": Protocol(
        "rewrite",
        language="zh",
        split="last 2,000 of 20,000 lines",
        selection="the scored part: there are only two",
    ),
    "restoration": Protocol(
        "restoration",
        language="zh",
        split="published test part",
        selection="the scored part: the test file was used",
    ),
    "task": Protocol(
        "task",
        language="en",
        split="dialogue_id 540 and up: 539 turns, of which 255 are incomplete",
        selection="the scored part: there are only two",
    ),
    "canard": Protocol(
        "canard",
        language="en",
        split="published test part",
        selection="the scored part: the test file was used",
    ),
}
"""By corpus."""

_QUEEN = "Si et al. 2022"
_VIA_RUN = "Liu et al. 2020, in Si et al. 2022"
_VIA_CSRL = "Xu et al. 2020, in Si et al. 2022"


def _rouge_release(system: str) -> Literal["0.3.2", "1.0.0"] | None:
    if system.startswith("RUN"):
        return "0.3.2"
    return "1.0.0" if system.startswith("QUEEN") else None


def _rewrite(
    system: str, em: float, b2: float, b4: float, r2: float, rl: float, source: str = _VIA_RUN
) -> PublishedRow:
    return PublishedRow(
        "rewrite",
        system=system,
        exact_match=em,
        bleu_2=b2,
        bleu_4=b4,
        rouge_2=r2,
        rouge_l=rl,
        rouge_release=_rouge_release(system),
        source=source,
    )


def _rewrite_in_full(
    system: str,
    em: float,
    bleu: tuple[float, float, float, float],
    rouge: tuple[float, float, float],
    source: str = _QUEEN,
) -> PublishedRow:
    return PublishedRow(
        "rewrite",
        system=system,
        exact_match=em,
        bleu_1=bleu[0],
        bleu_2=bleu[1],
        bleu_3=bleu[2],
        bleu_4=bleu[3],
        rouge_1=rouge[0],
        rouge_2=rouge[1],
        rouge_l=rouge[2],
        rouge_release=_rouge_release(system),
        source=source,
    )


def _restoration(
    system: str,
    em: float | None,
    b1: float,
    b2: float,
    r1: float,
    r2: float,
    source: str = _VIA_RUN,
) -> PublishedRow:
    return PublishedRow(
        "restoration",
        system=system,
        exact_match=em,
        bleu_1=b1,
        bleu_2=b2,
        rouge_1=r1,
        rouge_2=r2,
        rouge_release=_rouge_release(system),
        source=source,
    )


def _task(system: str, em: float, b4: float, source: str = _VIA_RUN) -> PublishedRow:
    return PublishedRow("task", system=system, exact_match=em, bleu_4=b4, source=source)


def _canard(
    system: str,
    em: float | None,
    bleu_1_2_4: tuple[float, float, float],
    rouge: tuple[float, float, float],
    source: str = _VIA_RUN,
) -> PublishedRow:
    return PublishedRow(
        "canard",
        system=system,
        exact_match=em,
        bleu_1=bleu_1_2_4[0],
        bleu_2=bleu_1_2_4[1],
        bleu_4=bleu_1_2_4[2],
        rouge_1=rouge[0],
        rouge_2=rouge[1],
        rouge_l=rouge[2],
        rouge_release=_rouge_release(system),
        source=source,
    )


PUBLISHED: tuple[PublishedRow, ...] = (
    _rewrite("T-Gen", 35.4, 72.7, 62.5, 74.5, 82.9),
    _rewrite("L-Ptr-λ", 42.3, 82.9, 73.8, 81.1, 84.1),
    _rewrite("L-Gen", 47.3, 81.2, 73.6, 80.9, 86.3),
    _rewrite("L-Ptr-Gen", 50.5, 82.9, 75.4, 83.8, 87.8),
    _rewrite("T-Ptr-Gen", 53.1, 84.4, 77.6, 85.0, 89.1),
    _rewrite("T-Ptr-λ", 52.6, 85.6, 78.1, 85.0, 89.0),
    _rewrite("T-Ptr-λ + BERT", 57.5, 86.5, 79.9, 86.9, 90.5),
    _rewrite("CSRL", 60.5, 86.8, 77.8, 85.9, 90.5, _QUEEN),
    _rewrite("RUN + BERT", 66.4, 91.4, 86.2, 90.4, 93.5),
    _rewrite_in_full(
        "RUN + BERT, released checkpoint",
        68.8,
        (94.1, 91.7, 89.3, 86.9),
        (96.2, 91.1, 93.9),
        "README of RUN's repository",
    ),
    _rewrite_in_full("QUEEN", 70.1, (94.7, 92.1, 89.5, 86.9), (96.0, 90.9, 94.6)),
    _rewrite_in_full("QUEEN, no query", 67.4, (92.9, 90.5, 88.1, 85.7), (95.2, 90.1, 94.0)),
    _rewrite_in_full(
        "QUEEN, no coreference part", 67.9, (93.5, 91.0, 88.5, 86.0), (95.5, 90.4, 94.2)
    ),
    _rewrite_in_full("QUEEN, no ellipsis part", 67.4, (93.5, 91.1, 88.5, 85.9), (95.4, 90.3, 94.3)),
    _restoration("Syntactic", None, 84.1, 81.2, 89.3, 80.6),
    _restoration("L-Gen", None, 84.9, 81.7, 88.8, 80.3),
    _restoration("L-Ptr-Gen", None, 84.7, 81.7, 89.0, 80.9),
    _restoration("BERT", None, 85.2, 82.5, 89.5, 80.9, _VIA_CSRL),
    _restoration("PAC", None, 89.9, 86.3, 91.6, 82.8),
    _restoration("CSRL", None, 85.8, 82.9, 89.6, 83.1, _VIA_CSRL),
    _restoration("SARG", None, 92.2, 89.6, 92.1, 86.0, _QUEEN),
    _restoration("RUN + BERT", 49.3, 92.3, 89.6, 92.4, 85.1, f"{_VIA_RUN}; EM rerun there"),
    _restoration("QUEEN", 53.5, 92.4, 89.8, 92.5, 86.3, _QUEEN),
    _task("Ellipsis Recovery", 50.4, 74.1),
    _task("GECOR 1", 68.5, 83.9),
    _task("GECOR 2", 66.2, 83.0),
    _task("RUN", 69.2, 85.6),
    _task("QUEEN", 71.6, 86.3, _QUEEN),
    _canard("Copy", None, (52.4, 46.7, 37.8), (72.7, 54.9, 68.5)),
    _canard("Pronoun Sub", None, (60.4, 55.3, 47.4), (73.1, 63.7, 73.9)),
    _canard("L-Ptr-Gen", None, (67.2, 60.3, 50.2), (78.9, 62.9, 74.9)),
    _canard("RUN", None, (70.5, 61.2, 49.1), (79.1, 61.2, 74.7)),
    _canard(
        "QUEEN", 28.8, (72.4, 65.2, 54.4), (82.5, 68.1, 81.8), "Si et al. 2022; EM from their logs"
    ),
)
"""Every row, in the order of the paper; the last of a corpus, ablations aside, is QUEEN."""


def published(corpus: str) -> tuple[PublishedRow, ...]:
    """Return the rows of a corpus.

    Raises:
        InvalidArgumentError: if the paper has no such corpus.
    """
    if corpus not in PROTOCOLS:
        names = ", ".join(PROTOCOLS)
        raise InvalidArgumentError(f"corpus must be one of {names}, got {corpus!r}.")
    return tuple(row for row in PUBLISHED if row.corpus == corpus)
