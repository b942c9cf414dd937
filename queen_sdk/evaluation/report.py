"""Everything there is to say about a bundle on a corpus: scores, baselines, restraint, speed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from tqdm import tqdm

from queen_sdk.data.examples import Example
from queen_sdk.data.readers import complete_examples
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.baselines import copy, pronoun_substitution
from queen_sdk.evaluation.calibration import Calibration, Judged, calibrate
from queen_sdk.evaluation.causes import CAUSES, Cause, cause_of
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.evaluation.metrics import Scores, score
from queen_sdk.evaluation.paper import PROTOCOLS, PublishedRow, published
from queen_sdk.rewriter import Rewriter
from queen_sdk.values import RewriteResult

_WARM_UP_CALLS = 10
_TIMED_CALLS = 200


@attrs.frozen
class Share:
    """How many of some examples something holds for."""

    count: int
    """Those it holds for."""
    of: int = attrs.field(kw_only=True)
    """All of them."""

    @property
    def percent(self) -> float | None:
        """The share; None if there are no examples."""
        return 100 * self.count / self.of if self.of else None

    def to_dict(self) -> dict[str, Any]:
        """Return the share as a percentage, with the number of examples behind it."""
        return {"percent": self.percent, "examples": self.of}


@attrs.frozen
class Measured:
    """The scores of one system on the evaluated examples."""

    system: str
    """Name and version of the bundle, or name of the baseline."""
    scores: Scores = attrs.field(kw_only=True)
    """On all examples."""
    incomplete: Share = attrs.field(kw_only=True)
    """Exact matches among the examples whose utterance is not its own reference."""


@attrs.frozen
class Latency:
    """How long a single warm call takes, in milliseconds."""

    p50: float = attrs.field(kw_only=True)
    """The median."""
    p95: float = attrs.field(kw_only=True)
    """One call in twenty takes longer."""
    calls: int = attrs.field(kw_only=True)
    """How many were timed."""


@attrs.frozen
class Wrong:
    """A result that is not its reference."""

    example: Example
    text: str = attrs.field(kw_only=True)
    """What it was rewritten to."""
    confidence: float | None = attrs.field(kw_only=True)
    """None if the model was not asked."""
    cause: Cause = attrs.field(kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        example = self.example
        return {
            "id": example.id,
            "cause": self.cause,
            "history": [turn.text for turn in example.history],
            "utterance": example.utterance,
            "rewrite": self.text,
            "reference": example.reference,
            "confidence": self.confidence,
        }


@attrs.frozen(kw_only=True)
class Report:
    """What an evaluation found."""

    corpus: str
    """Name of the corpus, as the readers have it."""
    language: str
    """Language of its metric tokens."""
    examples: int
    """How many were rewritten."""
    threshold: float | None
    """The threshold that was asked for; None for the bundle's own."""
    bundle: Measured
    """The scores of the bundle."""
    baselines: tuple[Measured, ...]
    """Those of rewriters without a model, on the same examples."""
    published: tuple[PublishedRow, ...]
    """Rows of the paper on that corpus, if it has any; `PROTOCOLS` says on which part."""
    untouched_complete: Share
    """Complete utterances of the corpus, those with a history, that came back as they were."""
    untouched_references: Share | None
    """References with a history that, given as utterances, came back; None if not asked for."""
    latency: Latency
    """Of single calls."""
    skip_reasons: Mapping[str, int]
    """How often nothing was edited, by reason."""
    judged: tuple[Judged, ...]
    """What the model claimed where it was asked, and whether that was right."""
    wrong: tuple[Wrong, ...]
    """The results that are not the reference, in order."""

    @property
    def calibration(self) -> Calibration | None:
        """Whether confidences mean what they say; None if the model was never asked."""
        return calibrate(self.judged)

    @property
    def causes(self) -> Mapping[Cause, int]:
        """How many results are wrong by which cause."""
        found = Counter(wrong.cause for wrong in self.wrong)
        return {cause: found[cause] for cause in CAUSES if found[cause]}

    @property
    def scores(self) -> Scores:
        """The scores of the bundle."""
        return self.bundle.scores

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; scores are percentages."""
        references, calibration = self.untouched_references, self.calibration
        return {
            "bundle": self.bundle.system,
            "corpus": self.corpus,
            "language": self.language,
            "examples": self.examples,
            "threshold": self.threshold,
            "scores": self.scores.to_dict(),
            "incomplete": _incomplete(self.bundle),
            "untouched": {
                "complete": self.untouched_complete.to_dict(),
                "references": references.to_dict() if references else None,
            },
            "latency_ms": attrs.asdict(self.latency),
            "skip_reasons": dict(self.skip_reasons),
            "causes": dict(self.causes),
            "calibration": calibration and calibration.to_dict(),
            "rows": [
                *(_measured_row(row) for row in (self.bundle, *self.baselines)),
                *(_published_row(row) for row in self.published),
            ],
        }

    def summary(self) -> dict[str, Any]:
        """Return the figures that a manifest keeps: none that depends on the machine."""
        references, calibration = self.untouched_references, self.calibration
        figures = {
            "exact_match": self.scores.exact_match,
            "incomplete_exact_match": self.bundle.incomplete.percent,
            "bleu_4": self.scores.bleu_4,
            "rouge_l": self.scores.rouge_l,
            "untouched_complete": self.untouched_complete.percent,
            "untouched_references": references.percent if references else None,
            "calibration_error": calibration.ece if calibration else None,
        }
        summary = {"examples": self.examples, **_rounded(figures)}
        if calibration is not None:
            minima = (attrs.asdict(at) for at in calibration.minima)
            summary["at_min_confidence"] = {f"{at.pop('minimum'):g}": _rounded(at) for at in minima}
        return summary


def _rounded(figures: Mapping[str, float | None]) -> dict[str, Any]:
    return {k: None if v is None else round(v, 2) for k, v in figures.items()}


def _incomplete(row: Measured) -> dict[str, Any]:
    return {"exact_match": row.incomplete.percent, "examples": row.incomplete.of}


def _measured_row(row: Measured) -> dict[str, Any]:
    figures = {"incomplete": _incomplete(row), **row.scores.to_dict()}
    return {"system": row.system, "source": "measured", **figures}


def _published_row(row: PublishedRow) -> dict[str, Any]:
    fields = attrs.asdict(row)
    del fields["corpus"]
    return fields


def evaluate(
    rewriter: Rewriter,
    examples: Sequence[Example],
    *,
    language: str,
    corpus: str,
    threshold: float | None = None,
    references: bool = True,
    progress: bool = False,
) -> Report:
    """Rewrite the utterances of a corpus and compare with the references, baselines and papers.

    An utterance that the rewriter skips counts as it came. `references` gives the references back
    as utterances too, which takes as long again. `progress` shows bars on stderr.

    Raises:
        InvalidArgumentError: There are no examples, or the language is neither `en` nor `zh`.
        MissingExtraError: The language is English and spaCy is not installed.
    """
    metric_tokens("", language)  # so that a missing tokenizer is found before the long run
    if not examples:
        raise InvalidArgumentError("at least one example is needed to evaluate, got none.")
    run = _Run(rewriter, threshold=threshold, progress=progress)
    results = run.rewrite(examples, "rewriting")
    columns = _Columns.read(examples, language)
    return Report(
        corpus=corpus,
        language=language,
        examples=len(examples),
        threshold=threshold,
        bundle=columns.measure(_bundle_name(results), [result.text for result in results]),
        baselines=_baselines(examples, columns),
        published=published(corpus) if corpus in PROTOCOLS else (),
        untouched_complete=_untouched_complete(examples, results),
        untouched_references=_untouched_references(examples, run) if references else None,
        latency=run.time(examples, results),
        skip_reasons=Counter(r.skip_reason for r in results if r.skip_reason is not None),
        judged=columns.judge(results),
        wrong=columns.wrong(examples, results),
    )


@attrs.frozen
class _Columns:
    """The metric tokens of the examples, one list per example in each column."""

    references: list[list[str]]
    utterances: list[list[str]]
    histories: list[list[str]]
    incomplete: list[bool]
    language: str

    @classmethod
    def read(cls, examples: Sequence[Example], language: str) -> _Columns:
        return cls(
            [metric_tokens(example.reference, language) for example in examples],
            [metric_tokens(example.utterance, language) for example in examples],
            [
                [token for turn in example.history for token in metric_tokens(turn.text, language)]
                for example in examples
            ],
            [example.utterance != example.reference for example in examples],
            language,
        )

    def judge(self, results: Sequence[RewriteResult]) -> tuple[Judged, ...]:
        """Return the results that the model was asked for, with whether they are right."""
        return tuple(
            Judged(
                result.confidence,
                metric_tokens(result.text, self.language) == reference,
                utterance == reference,
            )
            for result, utterance, reference in zip(
                results, self.utterances, self.references, strict=True
            )
            if result.confidence is not None
        )

    def wrong(
        self, examples: Sequence[Example], results: Sequence[RewriteResult]
    ) -> tuple[Wrong, ...]:
        """Return the results that are wrong, with their causes."""
        columns = zip(
            examples, results, self.references, self.utterances, self.histories, strict=True
        )
        found = (
            (e, r, cause_of(metric_tokens(r.text, self.language), reference, utterance, history))
            for e, r, reference, utterance, history in columns
        )
        return tuple(
            Wrong(example, text=result.text, confidence=result.confidence, cause=cause)
            for example, result, cause in found
            if cause is not None
        )

    def measure(self, system: str, texts: Sequence[str]) -> Measured:
        predictions = [metric_tokens(text, self.language) for text in texts]
        scores = score(predictions, self.references, self.utterances, self.histories)
        pairs = zip(predictions, self.references, self.incomplete, strict=True)
        matches = [prediction == reference for prediction, reference, counts in pairs if counts]
        return Measured(system, scores=scores, incomplete=Share(sum(matches), of=len(matches)))


@attrs.frozen(kw_only=True)
class _Run:
    """A rewriter with the settings of the evaluation."""

    rewriter: Rewriter = attrs.field(kw_only=False)
    threshold: float | None
    progress: bool

    def rewrite(self, examples: Sequence[Example], title: str) -> list[RewriteResult]:
        dialogues = ((example.history, example.utterance) for example in examples)
        results = self.rewriter.rewrite_many(dialogues, threshold=self.threshold)
        return list(self._bar(results, len(examples), title))

    def time(self, examples: Sequence[Example], results: Sequence[RewriteResult]) -> Latency:
        """Time single calls on examples from all over the corpus that the model was asked about."""
        pairs = zip(examples, results, strict=True)
        asked = [example for example, result in pairs if result.confidence is not None] or examples
        for example in asked[:_WARM_UP_CALLS]:
            self._milliseconds(example)
        step = -(-len(asked) // _TIMED_CALLS)
        chosen = asked[::step]
        times = [self._milliseconds(e) for e in self._bar(chosen, len(chosen), "timing")]
        p50, p95 = (float(value) for value in np.percentile(times, (50, 95)))
        return Latency(p50=p50, p95=p95, calls=len(times))

    def _milliseconds(self, example: Example) -> float:
        started = time.perf_counter()
        self.rewriter.rewrite(example.history, example.utterance, threshold=self.threshold)
        return (time.perf_counter() - started) * 1e3

    def _bar(self, items: Iterable[Any], total: int, title: str) -> Iterable[Any]:
        # None: no bar where stderr is a file.
        disable = None if self.progress else True
        bar: Iterable[Any] = tqdm(items, total=total, desc=title, disable=disable)
        return bar


def _bundle_name(results: Iterable[RewriteResult]) -> str:
    names = sorted({result.model for result in results if result.model is not None})
    return ", ".join(names) or "no bundle was asked"


def _baselines(examples: Sequence[Example], columns: _Columns) -> tuple[Measured, ...]:
    substituted = [pronoun_substitution(example, columns.language) for example in examples]
    return (
        columns.measure("Copy", [copy(example) for example in examples]),
        columns.measure("Pronoun Sub", substituted),
    )


def _untouched_complete(examples: Sequence[Example], results: Sequence[RewriteResult]) -> Share:
    # A first turn of a dialogue is never edited: it would only flatter the share.
    pairs = zip(examples, results, strict=True)
    return _untouched(r for e, r in pairs if e.history and e.utterance == e.reference)


def _untouched_references(examples: Sequence[Example], run: _Run) -> Share:
    with_history = [example for example in examples if example.history]
    return _untouched(run.rewrite(complete_examples(with_history), "references"))


def _untouched(results: Iterable[RewriteResult]) -> Share:
    changed = [result.changed for result in results]
    return Share(len(changed) - sum(changed), of=len(changed))
