from __future__ import annotations

import math
import os
import random
import warnings

import attrs
import pytest

from queen_sdk.data.readers import load
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.baselines import copy
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.evaluation.metrics import (
    Overlap,
    added,
    bleu,
    exact_match,
    restored,
    rouge_l,
    rouge_n,
    score,
)

Corpus = list[list[str]]


def words(*texts: str) -> Corpus:
    return [text.split() for text in texts]


def random_corpus(seed: int, *, vocabulary: str, longest: int) -> tuple[Corpus, Corpus]:
    """Pairs that share much: a reference, and the same with words changed, dropped and added."""
    draw = random.Random(seed)
    tokens = vocabulary.split()
    predictions, references = [], []
    for _ in range(draw.randint(1, 12)):
        reference = draw.choices(tokens, k=draw.randint(1, longest))
        prediction = [
            word
            for token in reference
            for word in draw.choice([[token], [token], [token], [], [token, draw.choice(tokens)]])
        ]
        predictions.append(prediction or [draw.choice(tokens)])
        references.append(reference)
    return predictions, references


def test_exact_match_is_the_share_of_equal_token_lists() -> None:
    assert exact_match(words("a b", "a", "b a", "c"), words("a b", "a", "a b", "c")) == 75.0


def test_bleu_of_equal_texts_is_full() -> None:
    texts = words("what does smith want", "i do not know that")
    assert [bleu(texts, texts, n=n) for n in (1, 2, 3, 4)] == [100.0] * 4


def test_bleu_pools_clipped_counts_over_the_corpus() -> None:
    predictions = words("the the cat", "a dog runs here")
    references = words("the cat sat", "a dog runs")
    # Single words: "the" counts once, so 2 of 3, and 3 of 4. Pairs: 1 of 2, and 2 of 3. Longer
    # than the references: no penalty.
    assert bleu(predictions, references, n=1) == pytest.approx(100 * 5 / 7)
    assert bleu(predictions, references, n=2) == pytest.approx(100 * math.sqrt(5 / 7 * 3 / 5))


def test_bleu_punishes_shortness() -> None:
    assert bleu(words("a b"), words("a b c"), n=1) == pytest.approx(100 * math.exp(1 - 3 / 2))


def test_bleu_3_weighs_by_a_third_cut_short() -> None:
    expected = 100 * (3 / 4 * 2 / 3 * 1 / 2) ** 0.33
    assert bleu(words("a b c x"), words("a b c d"), n=3) == pytest.approx(expected)


def test_bleu_counts_one_missing_ngram_for_a_prediction_too_short_to_have_any() -> None:
    predictions, references = words("a", "a b c"), words("a", "a b c")
    assert bleu(predictions, references, n=2) == pytest.approx(100 * math.sqrt(2 / 3))


@pytest.mark.parametrize("prediction", [[], ["x"]])
def test_bleu_without_a_match_is_zero(prediction: list[str]) -> None:
    assert bleu([prediction], words("a b"), n=1) == 0.0


@pytest.mark.parametrize("n", [0, 5])
def test_bleu_refuses_other_orders(n: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"1, 2, 3 or 4, got {n}"):
        bleu(words("a"), words("a"), n=n)


def test_rouge_counts_a_repeated_ngram_once() -> None:
    # {a, b} against {a, c, b}: precision 1, recall 2/3.
    assert rouge_n(words("a a b"), words("a c b"), n=1) == pytest.approx(80.0)
    # {aa, ab} against {ac, cb}.
    assert rouge_n(words("a a b"), words("a c b"), n=2) == 0.0


def test_rouge_is_averaged_over_examples() -> None:
    assert rouge_n(words("a", "x"), words("a", "b c"), n=1) == pytest.approx(50.0)
    assert rouge_l(words("a", "x"), words("a", "b c")) == pytest.approx(50.0)


def test_rouge_l_asks_for_order() -> None:
    # Three words are shared, two of them in the same order: precision and recall 2/3.
    assert rouge_n(words("b c a"), words("a b c"), n=1) == pytest.approx(100.0)
    assert rouge_l(words("b c a"), words("a b c")) == pytest.approx(100 * 2 / 3)


def test_rouge_l_compares_sentence_by_sentence() -> None:
    # Cut at the stop, either order of the two sentences finds all four words.
    assert rouge_l(words("c d . a b ."), words("a b . c d")) == pytest.approx(100.0)


def test_rouge_does_not_count_full_stops() -> None:
    assert rouge_n(words("a b ."), words("a b"), n=2) == pytest.approx(100.0)


@pytest.mark.parametrize("prediction", [[], ["."]])
def test_rouge_of_an_empty_prediction_is_zero(prediction: list[str]) -> None:
    assert rouge_n([prediction], words("a"), n=1) == 0.0
    assert rouge_l([prediction], words("a")) == 0.0


def test_restored_counts_ngrams_with_a_word_of_the_history() -> None:
    utterance = words("no he does not care")
    history = words("does smith care about the type of cuisine")
    reference = words("no smith does not care about the cuisine here")
    prediction = words("no smith does not care about him here")
    # Restored in the reference: smith, about, the, cuisine; in the prediction: smith, about.
    # "here" was never said, "him" neither.
    assert restored(prediction, reference, utterance, history, n=1) == Overlap(
        precision=100.0, recall=50.0
    )
    # no-smith smith-does care-about are in both; the prediction also has about-him, the reference
    # about-the the-cuisine cuisine-here.
    assert restored(prediction, reference, utterance, history, n=2) == Overlap(
        precision=75.0, recall=50.0
    )
    # no-smith-does smith-does-not not-care-about; then care-about-him about-him-here against
    # care-about-the about-the-cuisine the-cuisine-here.
    assert restored(prediction, reference, utterance, history, n=3) == Overlap(
        precision=60.0, recall=50.0
    )


def test_added_does_not_ask_whether_a_word_was_said() -> None:
    utterance, reference = words("he runs"), words("smith runs here")
    # Added in the reference: smith, here; in the prediction: smith, there.
    overlap = added(words("smith runs there"), reference, utterance, n=1)
    assert overlap == Overlap(precision=50.0, recall=50.0)
    assert overlap.f == 50.0


def test_examples_that_restore_nothing_are_left_out() -> None:
    predictions, references = words("smith runs", "smith sleeps"), words("he runs", "smith sleeps")
    utterances, histories = words("he runs", "he sleeps"), words("smith", "smith")
    full = Overlap(precision=100.0, recall=100.0)
    assert restored(predictions, references, utterances, histories, n=1) == full
    assert added(predictions, references, utterances, n=1) == full


def test_counts_are_pooled_before_they_are_divided() -> None:
    predictions, references = words("a b c d", "x"), words("a b c d", "e")
    overlap = added(predictions, references, words("", ""), n=1)
    assert overlap == Overlap(precision=80.0, recall=80.0)


def test_nothing_predicted_scores_zero() -> None:
    overlap = added(words("he"), words("smith"), words("he"), n=1)
    assert (overlap.precision, overlap.recall, overlap.f) == (0.0, 0.0, 0.0)


def test_score_gathers_every_metric() -> None:
    predictions, references = words("smith runs here", "yes"), words("smith runs there", "yes")
    utterances, histories = words("he runs", "yes"), words("smith there", "")
    scores = score(predictions, references, utterances, histories)
    assert scores.exact_match == 50.0
    assert scores.bleu_2 == bleu(predictions, references, n=2)
    assert scores.rouge_1 == rouge_n(predictions, references, n=1)
    assert scores.rouge_l == rouge_l(predictions, references)
    assert scores.restoration_1 == Overlap(precision=100.0, recall=50.0)
    assert scores.addition_3 == added(predictions, references, utterances, n=3)


def test_scores_become_a_dict_under_their_own_names() -> None:
    texts = words("smith runs")
    scores = score(texts, texts, words("he runs"), words("smith"))
    fields = scores.to_dict()
    assert list(fields) == [field.name for field in attrs.fields(type(scores))]
    assert fields["exact_match"] == 100.0
    assert fields["restoration_1"] == {"precision": 100.0, "recall": 100.0, "f": 100.0}


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"\[1, 2\]"):
        exact_match(words("a"), words("a", "b"))
    with pytest.raises(InvalidArgumentError, match=r"\[1, 1, 1, 0\]"):
        score(words("a"), words("a"), words("a"), [])


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one example"):
        exact_match([], [])


@pytest.mark.parametrize("seed", range(60))
def test_bleu_agrees_with_nltk(seed: int) -> None:
    module = pytest.importorskip("nltk.translate.bleu_score", reason="NLTK is not installed")
    predictions, references = random_corpus(seed, vocabulary="a b c d e f", longest=9)
    for n, weights in {
        1: (1.0, 0.0, 0.0, 0.0),
        2: (0.5, 0.5, 0.0, 0.0),
        3: (0.33, 0.33, 0.33, 0.0),
        4: (0.25, 0.25, 0.25, 0.25),
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NLTK warns where a score is 0
            expected = module.corpus_bleu([[r] for r in references], predictions, weights=weights)
        assert bleu(predictions, references, n=n) == pytest.approx(100 * expected, abs=1e-9)


@pytest.mark.parametrize("vocabulary", ["a b c d e f g h", "a b c .", "a b c d e u.s. ..."])
@pytest.mark.parametrize("seed", range(60))
def test_rouge_agrees_with_the_package(seed: int, vocabulary: str) -> None:
    package = pytest.importorskip("rouge", reason="rouge is not installed")
    predictions, references = random_corpus(seed, vocabulary=vocabulary, longest=12)
    pairs = [
        (prediction, reference)
        for prediction, reference in zip(
            [["a"], *predictions], [["a", "b"], *references], strict=True
        )
        if " ".join(prediction).strip(".") and " ".join(reference).strip(".")  # it raises on these
    ]
    expected = package.Rouge(exclusive=True).get_scores(
        [" ".join(p) for p, _ in pairs], [" ".join(r) for _, r in pairs], avg=True
    )
    predictions, references = [p for p, _ in pairs], [r for _, r in pairs]
    # The package adds 1e-8 to a denominator; we do not.
    found = {
        "rouge-1": rouge_n(predictions, references, n=1),
        "rouge-2": rouge_n(predictions, references, n=2),
        "rouge-l": rouge_l(predictions, references),
    }
    for name, value in found.items():
        assert value == pytest.approx(100 * expected[name]["f"], abs=1e-4), name


@pytest.mark.skipif("QUEEN_DATA" not in os.environ, reason="QUEEN_DATA does not name the corpora")
def test_copying_scores_what_is_known_on_task() -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    examples = load("task", os.environ["QUEEN_DATA"], part="eval")
    predictions = [metric_tokens(copy(example), "en") for example in examples]
    references = [metric_tokens(example.reference, "en") for example in examples]
    assert len(examples) == 539
    assert exact_match(predictions, references) == pytest.approx(52.7, abs=0.05)
