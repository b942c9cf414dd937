"""Several corpora of a language in one table, and what holds over all their lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from queen_sdk.evaluation.calibration import Calibration, calibrate
from queen_sdk.evaluation.report import Report, Share
from queen_sdk.tabular import number, table


@attrs.frozen
class Together:
    """The same bundle on several corpora."""

    reports: Sequence[Report]

    @property
    def calibration(self) -> Calibration | None:
        """Whether confidences mean what they say, over all lines; None if there are none."""
        return calibrate([one for report in self.reports for one in report.judged])

    def to_dict(self) -> dict[str, Any]:
        """Return every report and what holds over all lines, as JSON can hold it."""
        return {
            "corpora": [report.to_dict() for report in self.reports],
            "together": {
                "examples": sum(report.examples for report in self.reports),
                "exact_match": _exact(self.reports).percent,
                "calibration": self.calibration and self.calibration.to_dict(),
            },
        }

    def markdown(self) -> str:
        """Return the overview for people: a line for each corpus, one for all of them."""
        body = [_line(report.corpus, [report], report.calibration) for report in self.reports]
        body.append(_line("all lines", self.reports, self.calibration))
        head = [
            "corpus",
            "examples",
            "EM",
            "EM incomplete",
            "complete untouched %",
            "references untouched %",
            "calibration error %",
        ]
        return f"## {_systems(self.reports)} on all of them\n\n{table(head, body)}"


def _line(title: str, reports: Sequence[Report], calibration: Calibration | None) -> list[str]:
    references = (report.untouched_references for report in reports)
    shares = (
        _exact(reports),
        _sum(report.bundle.incomplete for report in reports),
        _sum(report.untouched_complete for report in reports),
        _sum(share for share in references if share is not None),
    )
    examples = sum(report.examples for report in reports)
    error = calibration.ece if calibration else None
    return [title, f"{examples:,}", *(number(share.percent) for share in shares), number(error)]


def _exact(reports: Iterable[Report]) -> Share:
    return _sum(
        Share(report.examples - len(report.wrong), of=report.examples) for report in reports
    )


def _sum(shares: Iterable[Share]) -> Share:
    listed = list(shares)
    return Share(sum(share.count for share in listed), of=sum(share.of for share in listed))


def _systems(reports: Iterable[Report]) -> str:
    return ", ".join(dict.fromkeys(report.bundle.system for report in reports))
