"""A report as Markdown tables that also read well in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from queen_sdk.evaluation.calibration import Calibration
from queen_sdk.evaluation.metrics import Overlap, Scores
from queen_sdk.evaluation.paper import PROTOCOLS, PublishedRow
from queen_sdk.evaluation.report import Measured, Report
from queen_sdk.tabular import number, table

_FIGURES = {
    "exact_match": "EM",
    "bleu_1": "B1",
    "bleu_2": "B2",
    "bleu_3": "B3",
    "bleu_4": "B4",
    "rouge_1": "R1",
    "rouge_2": "R2",
    "rouge_l": "RL",
}
_ROUGE_CAVEAT = (
    "ROUGE: ours counts like rouge 1.0.1. RUN's ROUGE-L is by another F, points lower; QUEEN's "
    "ROUGE-1 and -2 count repeated n-grams: compare those with care."
)


def markdown(report: Report) -> str:
    """Return the report for people: what was measured, beside what was published."""
    measured = (report.bundle, *report.baselines)
    parts = [
        f"## {report.bundle.system} on {report.corpus}, {report.examples:,} examples",
        _score_table(measured, report.published),
        _overlap_table(measured),
        "\n".join(_facts(report)),
    ]
    if report.wrong:
        parts.append(_causes_table(report))
    if (calibration := report.calibration) is not None:
        parts.append(_confidence_table(calibration))
    if report.published:
        parts.append("\n".join(_footnotes(report)))
    return "\n\n".join(parts)


def _score_table(measured: Sequence[Measured], rows: Sequence[PublishedRow]) -> str:
    head = ["system", "EM", "EM incomplete", *list(_FIGURES.values())[1:], "source"]
    body = []
    for ours in measured:
        exact_match, *others = (number(getattr(ours.scores, name)) for name in _FIGURES)
        incomplete = number(ours.incomplete.percent)
        body.append([ours.system, exact_match, incomplete, *others, "measured"])
    for theirs in rows:
        exact_match, *others = (number(getattr(theirs, name)) for name in _FIGURES)
        body.append([theirs.system, exact_match, number(None), *others, theirs.source])
    return table(head, body)


def _overlap_table(measured: Sequence[Measured]) -> str:
    head = ["n-grams with a", *(f"{figure}{n}" for n in (1, 2, 3) for figure in "PRF")]
    body = []
    for kind, title in (("restoration", "restored word"), ("addition", "added word")):
        for row in measured:
            figures = [number(x) for n in (1, 2, 3) for x in _overlap(row.scores, kind, n)]
            body.append([f"{title}: {row.system}", *figures])
    return table(head, body)


def _overlap(scores: Scores, kind: str, n: int) -> tuple[float, float, float]:
    overlap: Overlap = getattr(scores, f"{kind}_{n}")
    return overlap.precision, overlap.recall, overlap.f


def _facts(report: Report) -> list[str]:
    latency = report.latency
    shares = {
        "incomplete utterances rewritten exactly": report.bundle.incomplete,
        "complete utterances left untouched": report.untouched_complete,
        "references, given as utterances, left untouched": report.untouched_references,
    }
    facts = [
        f"- {name}: {share.percent:.1f} % of {share.of:,}"
        for name, share in shares.items()
        if share is not None and share.of
    ]
    facts.append(
        f"- latency of one warm call: p50 {latency.p50:.1f} ms, p95 {latency.p95:.1f} ms "
        f"({latency.calls} calls)"
    )
    if report.skip_reasons:
        reasons = (f"{count:,} {reason}" for reason, count in sorted(report.skip_reasons.items()))
        facts.append(f"- not edited: {', '.join(reasons)}")
    if report.threshold is not None:
        facts.append(f"- threshold: {report.threshold:g} instead of the bundle's own")
    return facts


def _causes_table(report: Report) -> str:
    body = [
        [cause, f"{count:,}", number(100 * count / report.examples)]
        for cause, count in report.causes.items()
    ]
    return table(["wrong results", "count", "% of all"], body)


def _confidence_table(calibration: Calibration) -> str:
    head = ["min_confidence", "coverage %", "EM of those", "EM of all"]
    body = [
        [
            f"{at.minimum:g}",
            *(number(x) for x in (at.coverage, at.exact_match_covered, at.exact_match)),
        ]
        for at in calibration.minima
    ]
    return f"{table(head, body)}\n\nexpected calibration error: {calibration.ece:.1f} %"


def _footnotes(report: Report) -> list[str]:
    protocol = next(p for name, p in PROTOCOLS.items() if name == report.corpus)
    notes = [
        f"Published rows: {protocol.split}. QUEEN's epoch was chosen on {protocol.selection}.",
    ]
    if any(row.rouge_1 is not None or row.rouge_l is not None for row in report.published):
        notes.append(_ROUGE_CAVEAT)
    return notes
