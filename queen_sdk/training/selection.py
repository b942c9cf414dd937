"""Choosing thresholds and fitting confidence on held-out examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
import numpy as np

from queen_sdk.confidence import ConfidenceSettings, clearness
from queen_sdk.data.readers import CORPORA, is_made_complete
from queen_sdk.data.splitting import corpus_of
from queen_sdk.decoding import Decoding, DecodingSettings, Scores, decode
from queen_sdk.editing import apply_edits, realise
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.features import EncodedBatch, FeatureBuilder, Features
from queen_sdk.training.preparation import TrainingExample
from queen_sdk.training.settings import LEAST_UNTOUCHED

Score = Callable[[EncodedBatch], Scores]
"""Runs a scorer on a batch."""

_GRID = (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.5, 6.0)
_RISES = (0.0, 0.5, 1.0, 2.0, 3.0)
_LINES: tuple[tuple[Mapping[str, float], ...], ...] = (
    tuple({"insert_threshold": value, "history_rise": rise} for value in _GRID for rise in _RISES),
    tuple({"substitute_threshold": value} for value in _GRID),
    tuple(
        {"span_slack": slack, "span_share": share}
        for share in (0.0, 0.125, 0.25)
        for slack in (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
    ),
    tuple({"ends_share": share} for share in (0.0, 0.5, 1.0, 2.0, 4.0)),
)
"""What is tried of each setting, the others staying as they are."""
_ENOUGH = 200
"""Complete utterances of a corpus in which a share of them shows."""
_CHANCE = 0.5
"""Points of exact match by which settings differ by chance."""


@attrs.frozen
class Scored:
    """An example with its own scores, padding cut off, and its reference as metric tokens."""

    example: TrainingExample
    scores: Scores
    reference: list[str]


@attrs.frozen
class Selected:
    """The thresholds that did best, and how they did."""

    decoding: DecodingSettings
    exact_match: float
    """Percent of what people said, as it came; each corpus counts alike. References that are given
    back as utterances only tell of restraint."""
    incomplete_exact_match: float
    """Percent of those that needed an edit, counted so too."""
    untouched: float
    """Percent of those that needed none, made ones among them: in the corpus where it is lowest, of
    those with enough to tell; if none has, each counting alike."""
    asked: float = LEAST_UNTOUCHED
    """How much of that was asked for."""


def score_features(
    features: Sequence[Features], score: Score, builder: FeatureBuilder, *, batch_size: int = 32
) -> list[Scores]:
    """Score in batches of like length; the results keep the order, padding cut off."""
    order = sorted(range(len(features)), key=lambda k: len(features[k].input_ids))
    found: dict[int, Scores] = {}
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        rectangles = score(builder.batch([features[k] for k in chosen]))
        for k, rectangle in zip(chosen, rectangles, strict=True):
            rows, columns = len(features[k].history_index), len(features[k].utterance_index)
            found[k] = rectangle[:, :rows, :columns].copy()
    return [found[k] for k in range(len(features))]


def score_examples(
    examples: Sequence[TrainingExample],
    score: Score,
    builder: FeatureBuilder,
    language: str,
    *,
    batch_size: int = 32,
) -> list[Scored]:
    """Score examples, and read their references as metric tokens."""
    features = [example.features for example in examples]
    scores = score_features(features, score, builder, batch_size=batch_size)
    return [
        Scored(example, own, metric_tokens(example.example.reference, language))
        for example, own in zip(examples, scores, strict=True)
    ]


def rewritten(scored: Scored, decoding: Decoding) -> str:
    """Return the text that the decoded edits make."""
    example, features = scored.example.example, scored.example.features
    turns = {k: turn.text for k, turn in enumerate(example.history)}
    edits = realise(example.utterance, features.utterance, decoding.edits, features.rows, turns)
    return apply_edits(example.utterance, edits)


def decode_scored(scored: Scored, settings: DecodingSettings) -> Decoding:
    """Decode one example."""
    features = scored.example.features
    return decode(scored.scores, features.rows, features.utterance, settings)


def is_right(scored: Scored, decoding: Decoding, language: str) -> bool:
    """Tell whether the decoded text equals the reference, token for token."""
    return metric_tokens(rewritten(scored, decoding), language) == scored.reference


def select_thresholds(
    examples: Sequence[Scored], language: str, *, least_untouched: float = LEAST_UNTOUCHED
) -> Selected:
    """Try thresholds, one per operation, and how far from them a span may reach.

    First equal thresholds that rise alike, then one setting after the other. The best exact match
    wins among those that leave `least_untouched` percent of the complete utterances as they are, in
    every corpus of which enough are held out (else, each counting alike); if none does, the one
    that leaves most of them. Of those that are as good but for chance, the one in which the learnt
    ends of spans count most, then the one with thresholds nearest to zero, where the loss draws the
    line, and with the least slack.
    """
    tried: dict[DecodingSettings, Selected] = {}

    def best_of(choices: Iterable[DecodingSettings]) -> DecodingSettings:
        for choice in choices:
            if choice not in tried:
                found = evaluate_thresholds(examples, choice, language)
                tried[choice] = attrs.evolve(found, asked=least_untouched)
        return max(tried, key=lambda choice: (*merit(tried[choice]), -_distance(tried[choice])))

    best = best_of(
        DecodingSettings(threshold, threshold, history_rise=rise)
        for threshold in _GRID
        for rise in _RISES
    )
    while True:
        before = best
        for line in _LINES:
            best = best_of(attrs.evolve(best, **change) for change in line)
        if best == before:
            break
    plain = _plainest(tried.values(), tried[best])
    while True:
        before = plain.decoding
        for line in _LINES:
            best = best_of(attrs.evolve(plain.decoding, **change) for change in line)
            plain = _plainest(tried.values(), tried[best])
        if plain.decoding == before:
            return plain


def merit(selected: Selected) -> tuple[float, float]:
    """Return what is compared: enough complete utterances untouched, then exact match."""
    return _short(selected), selected.exact_match


def _short(selected: Selected) -> float:
    # There may be no complete utterance at all: then the comparison with nan counts as enough.
    return min(selected.untouched - selected.asked, 0.0) if selected.untouched < 100 else 0.0


def _distance(selected: Selected) -> float:
    decoding = selected.decoding
    return abs(decoding.substitute_threshold) + abs(decoding.insert_threshold)


def _plainest(tried: Iterable[Selected], best: Selected) -> Selected:
    as_good = [
        one
        for one in tried
        if _short(one) >= _short(best) and one.exact_match >= best.exact_match - _CHANCE
    ]
    return min(as_good, key=_plainness)


def _plainness(one: Selected) -> tuple[float, ...]:
    decoding = one.decoding
    return -decoding.ends_share, _distance(one), decoding.span_slack, -one.exact_match


def evaluate_thresholds(
    examples: Iterable[Scored], settings: DecodingSettings, language: str
) -> Selected:
    """Count exact matches with given thresholds."""
    everything, incomplete, complete = _Count(), _Count(), _Count()
    for scored in examples:
        example = scored.example.example
        right = is_right(scored, decode_scored(scored, settings), language)
        kind = complete if example.utterance == example.reference else incomplete
        kind.add(corpus_of(example), right)
        if not is_made_complete(example):
            everything.add(corpus_of(example), right)
    return Selected(settings, everything.alike, incomplete.alike, complete.lowest)


class _Count:
    """How often something was right, by corpus: of what people said, or of all if nobody did.

    What the package generates comes from few frames, and all of a frame fail together.
    """

    def __init__(self) -> None:
        self._right: dict[str, list[bool]] = {}

    def add(self, corpus: str, right: bool) -> None:
        self._right.setdefault(corpus, []).append(right)

    @property
    def alike(self) -> float:
        """Percent, each corpus counting alike; nan if there was nothing."""
        shares = [sum(right) / len(right) for right in self._said]
        return 100 * sum(shares) / len(shares) if shares else math.nan

    @property
    def lowest(self) -> float:
        """Percent in the corpus where it is lowest, of those with enough to tell."""
        shares = [sum(right) / len(right) for right in self._said if len(right) >= _ENOUGH]
        return 100 * min(shares) if shares else self.alike

    @property
    def _said(self) -> list[list[bool]]:
        said = [right for name, right in self._right.items() if not _is_generated(name)]
        return said or [*self._right.values()]


def _is_generated(corpus: str) -> bool:
    return corpus in CORPORA and CORPORA[corpus].generated


def fit_confidence(
    examples: Sequence[Scored], settings: DecodingSettings, language: str
) -> ConfidenceSettings:
    """Fit both logistic models of the confidence on held-out examples.

    References that are given back as utterances count little: they are there to test restraint, and
    many of them would make every untouched result look right.
    """
    rows: dict[bool, list[_Outcome]] = {True: [], False: []}
    for scored in examples:
        decoding = decode_scored(scored, settings)
        right = is_right(scored, decoding, language)
        share = _MADE_SHARE if is_made_complete(scored.example.example) else 1.0
        rows[bool(decoding.edits)].append((clearness(decoding), right, share))
    defaults = ConfidenceSettings()
    edited = _logistic(rows[True], len(defaults.edited))
    untouched = _logistic(rows[False], len(defaults.untouched))
    return ConfidenceSettings.of(edited, untouched)


_MADE_SHARE = 0.1
_Outcome = tuple[tuple[float, ...], bool, float]
"""How clear a result was, whether it was right, and how much it counts."""


def _logistic(rows: Sequence[_Outcome], width: int) -> tuple[float, ...]:
    """Return constant and weights of a lightly regularised logistic regression (Newton)."""
    inputs = np.ones((len(rows), width))
    for k, (values, _, _) in enumerate(rows):
        inputs[k, 1:] = values
    targets = np.array([right for _, right, _ in rows], dtype=float)
    shares = np.array([share for _, _, share in rows])
    weights = np.zeros(width)
    for _ in range(50):
        predicted = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (shares * (targets - predicted)) - 0.1 * weights
        curvature = (inputs * (shares * predicted * (1 - predicted))[:, None]).T @ inputs
        weights += np.linalg.solve(curvature + 0.1 * np.eye(width), gradient)
    return tuple(float(weight) for weight in weights)
