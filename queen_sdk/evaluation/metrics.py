"""Scores of rewritten utterances over lists of tokens, as RUN and QUEEN report them.

Every score is a percentage. Predictions, references, utterances and histories are parallel: one
list of tokens per example, usually from `metric_tokens`; a history is the tokens of all its turns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import attrs

from queen_sdk.errors import InvalidArgumentError

Tokens = Sequence[str]
"""The tokens of one text."""

_BLEU_WEIGHTS = {1: 1.0, 2: 0.5, 3: 0.33, 4: 0.25}
"""Weight of each n-gram order in BLEU-n; 0.33 and not 1/3 because RUN has it so."""


@attrs.frozen
class Overlap:
    """How far two sets of n-grams agree, as percentages."""

    precision: float = attrs.field(kw_only=True)
    """Share of the prediction's n-grams that the reference has; 0 if there are none."""
    recall: float = attrs.field(kw_only=True)
    """Share of the reference's n-grams that the prediction has; 0 if there are none."""

    @property
    def f(self) -> float:
        """Harmonic mean of the two; 0 if both are."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@attrs.frozen
class Scores:
    """Every score of one system on one corpus, as percentages."""

    exact_match: float
    """Share of predictions equal to their reference."""
    bleu_1: float = attrs.field(kw_only=True)
    """Corpus BLEU of single tokens."""
    bleu_2: float = attrs.field(kw_only=True)
    """Corpus BLEU up to pairs."""
    bleu_3: float = attrs.field(kw_only=True)
    """Corpus BLEU up to triples, weights 0.33."""
    bleu_4: float = attrs.field(kw_only=True)
    """Corpus BLEU up to four tokens."""
    rouge_1: float = attrs.field(kw_only=True)
    """Mean F of unique tokens."""
    rouge_2: float = attrs.field(kw_only=True)
    """Mean F of unique pairs."""
    rouge_l: float = attrs.field(kw_only=True)
    """Mean F of unique tokens in a longest common subsequence."""
    restoration_1: Overlap = attrs.field(kw_only=True)
    """Words restored from the history."""
    restoration_2: Overlap = attrs.field(kw_only=True)
    """Pairs with a word restored from the history."""
    restoration_3: Overlap = attrs.field(kw_only=True)
    """Triples with a word restored from the history."""
    addition_1: Overlap = attrs.field(kw_only=True)
    """Added words, said before or not: RUN's published P1, R1 and F1."""
    addition_2: Overlap = attrs.field(kw_only=True)
    """Pairs with an added word: RUN's published P2, R2 and F2."""
    addition_3: Overlap = attrs.field(kw_only=True)
    """Triples with an added word: RUN's published P3, R3 and F3."""

    def to_dict(self) -> dict[str, Any]:
        """Return every score under its own name, overlaps as precision, recall and f."""
        fields: dict[str, Any] = attrs.asdict(self, recurse=False)
        for name, value in fields.items():
            if isinstance(value, Overlap):
                fields[name] = {**attrs.asdict(value), "f": value.f}
        return fields


def score(
    predictions: Sequence[Tokens],
    references: Sequence[Tokens],
    utterances: Sequence[Tokens],
    histories: Sequence[Tokens],
) -> Scores:
    """Return every score of `predictions`.

    Raises:
        InvalidArgumentError: if the four differ in length, or are empty.
    """
    restoration = [restored(predictions, references, utterances, histories, n=n) for n in (1, 2, 3)]
    addition = [added(predictions, references, utterances, n=n) for n in (1, 2, 3)]
    return Scores(
        exact_match(predictions, references),
        bleu_1=bleu(predictions, references, n=1),
        bleu_2=bleu(predictions, references, n=2),
        bleu_3=bleu(predictions, references, n=3),
        bleu_4=bleu(predictions, references, n=4),
        rouge_1=rouge_n(predictions, references, n=1),
        rouge_2=rouge_n(predictions, references, n=2),
        rouge_l=rouge_l(predictions, references),
        restoration_1=restoration[0],
        restoration_2=restoration[1],
        restoration_3=restoration[2],
        addition_1=addition[0],
        addition_2=addition[1],
        addition_3=addition[2],
    )


def exact_match(predictions: Sequence[Tokens], references: Sequence[Tokens]) -> float:
    """Return the share of predictions that are their reference, token by token."""
    _check_parallel(predictions, references)
    equal = sum(list(p) == list(r) for p, r in zip(predictions, references, strict=True))
    return 100 * equal / len(references)


def bleu(predictions: Sequence[Tokens], references: Sequence[Tokens], *, n: int) -> float:
    """Return corpus BLEU-`n`, 1 to 4, one reference each, without smoothing, as NLTK defines it.

    Matches and totals are summed over the corpus before they are divided. A prediction shorter
    than k tokens adds 1 to the total of k-grams, as it does in NLTK. With no match at all for some
    k up to `n`, the score is 0.
    """
    _check_parallel(predictions, references)
    if n not in _BLEU_WEIGHTS:
        raise InvalidArgumentError(f"n must be 1, 2, 3 or 4, got {n}.")
    log_precision = 0.0
    for order in range(1, n + 1):
        matched = total = 0
        for prediction, reference in zip(predictions, references, strict=True):
            counts = Counter(_ngrams(prediction, order))
            matched += (counts & Counter(_ngrams(reference, order))).total()
            total += max(1, counts.total())
        if not matched:
            return 0.0
        log_precision += _BLEU_WEIGHTS[n] * math.log(matched / total)
    shortfall = 1 - sum(map(len, references)) / sum(map(len, predictions))
    return 100 * math.exp(log_precision + min(0.0, shortfall))


def rouge_n(predictions: Sequence[Tokens], references: Sequence[Tokens], *, n: int) -> float:
    """Return the mean ROUGE-`n` F of the examples, as `rouge` 1.0.1 defines it.

    An n-gram counts once per text, however often it stands there. Full stops are cut out first
    (see `rouge_l`), but n-grams run on across them. An empty text scores 0.
    """
    _check_parallel(predictions, references)
    total = 0.0
    for prediction, reference in zip(predictions, references, strict=True):
        predicted, wanted = (
            set(_ngrams([word for sentence in _sentences(text) for word in sentence], n))
            for text in (prediction, reference)
        )
        total += _overlap(len(predicted & wanted), len(predicted), len(wanted)).f
    return total / len(references)


def rouge_l(predictions: Sequence[Tokens], references: Sequence[Tokens]) -> float:
    """Return the mean ROUGE-L F of the examples, as `rouge` 1.0.1 defines it.

    Both texts are cut into sentences at every full stop, also one inside a token ("u.s."), and
    the stops are dropped. Each reference sentence is compared with each predicted one; the words
    of all those longest common subsequences together, each word once, are the matches, out of the
    unique words of either text. An empty text scores 0.
    """
    _check_parallel(predictions, references)
    total = 0.0
    for prediction, reference in zip(predictions, references, strict=True):
        predicted, wanted = _sentences(prediction), _sentences(reference)
        common = {w for r in wanted for p in predicted for w in _common_subsequence(r, p)}
        total += _overlap(
            len(common), len({w for p in predicted for w in p}), len({w for r in wanted for w in r})
        ).f
    return total / len(references)


def restored(
    predictions: Sequence[Tokens],
    references: Sequence[Tokens],
    utterances: Sequence[Tokens],
    histories: Sequence[Tokens],
    *,
    n: int,
) -> Overlap:
    """Compare the n-grams that contain a restored word, as the papers describe it.

    A restored word of a text (prediction or reference, each on its own) is in the history and not
    in the utterance. Of each text, the different n-grams with at least one restored word are
    counted; those counted on both sides match; the three counts are summed over the corpus before
    they are divided. An example whose reference has no restored word is left out altogether, so
    that an edit nobody wanted costs nothing here.
    """
    _check_parallel(predictions, references, utterances, histories)
    candidates = [set(h) - set(u) for u, h in zip(utterances, histories, strict=True)]
    marked_predictions = [c & set(p) for c, p in zip(candidates, predictions, strict=True)]
    marked_references = [c & set(r) for c, r in zip(candidates, references, strict=True)]
    return _marked_overlap(predictions, references, marked_predictions, marked_references, n)


def added(
    predictions: Sequence[Tokens],
    references: Sequence[Tokens],
    utterances: Sequence[Tokens],
    *,
    n: int,
) -> Overlap:
    """Compare the n-grams that contain an added word, as RUN's released code does.

    An added word of a text is not in the utterance; whether the history has it is not asked. All
    else is as in `restored`. These are the figures published for RUN.
    """
    _check_parallel(predictions, references, utterances)
    marked_predictions = [set(p) - set(u) for u, p in zip(utterances, predictions, strict=True)]
    marked_references = [set(r) - set(u) for u, r in zip(utterances, references, strict=True)]
    return _marked_overlap(predictions, references, marked_predictions, marked_references, n)


def _marked_overlap(
    predictions: Sequence[Tokens],
    references: Sequence[Tokens],
    marked_predictions: Sequence[set[str]],
    marked_references: Sequence[set[str]],
    n: int,
) -> Overlap:
    matched = predicted_total = wanted_total = 0
    for prediction, reference, in_prediction, in_reference in zip(
        predictions, references, marked_predictions, marked_references, strict=True
    ):
        if not in_reference:
            continue
        predicted = {g for g in _ngrams(prediction, n) if not in_prediction.isdisjoint(g)}
        wanted = {g for g in _ngrams(reference, n) if not in_reference.isdisjoint(g)}
        matched += len(predicted & wanted)
        predicted_total += len(predicted)
        wanted_total += len(wanted)
    return _overlap(matched, predicted_total, wanted_total)


def _check_parallel(*columns: Collection[Tokens]) -> None:
    lengths = [len(column) for column in columns]
    if len(set(lengths)) != 1:
        raise InvalidArgumentError(
            f"one list of tokens per example is needed in each argument, got {lengths}."
        )
    if not lengths[0]:
        raise InvalidArgumentError("at least one example is needed to score, got none.")


def _ngrams(tokens: Tokens, n: int) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(n)), strict=False)


def _overlap(matched: int, predicted: int, wanted: int) -> Overlap:
    return Overlap(
        precision=100 * matched / predicted if predicted else 0.0,
        recall=100 * matched / wanted if wanted else 0.0,
    )


def _sentences(tokens: Tokens) -> list[list[str]]:
    # The package joins by blanks and cuts at stops; a blank between two stops is an empty word.
    return [piece.split() or [""] for piece in " ".join(tokens).split(".") if piece]


def _common_subsequence(reference: Tokens, prediction: Tokens) -> Iterator[str]:
    """Yield the words of a longest common subsequence, last first.

    Of several, the one found from the ends backwards, where a tie gives up the predicted word:
    which one it is decides how many different words it has.
    """
    rows = [[0] * (len(prediction) + 1)]
    for wanted in reference:
        row = [0]
        for j, word in enumerate(prediction):
            row.append(rows[-1][j] + 1 if word == wanted else max(rows[-1][j + 1], row[-1]))
        rows.append(row)
    i, j = len(reference), len(prediction)
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            i, j = i - 1, j - 1
            yield reference[i]
        elif rows[i - 1][j] > rows[i][j - 1]:
            i -= 1
        else:
            j -= 1
