import attrs
import numpy as np
import pytest

pytestmark = pytest.mark.train
pytest.importorskip("torch", reason="needs the extra train")

from handmade import row_span, rows_of  # noqa: E402

from queen_sdk.confidence import confidence  # noqa: E402
from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.data.readers import complete_examples  # noqa: E402
from queen_sdk.decoding import DecodingSettings  # noqa: E402
from queen_sdk.evaluation.metric_tokens import metric_tokens  # noqa: E402
from queen_sdk.features import Features  # noqa: E402
from queen_sdk.tokenization import tokenize  # noqa: E402
from queen_sdk.training.preparation import TrainingExample  # noqa: E402
from queen_sdk.training.selection import (  # noqa: E402
    Scored,
    decode_scored,
    evaluate_thresholds,
    fit_confidence,
    select_thresholds,
)
from queen_sdk.values import Turn  # noqa: E402

EXAMPLE = Example(
    (Turn("Anna sings"),), utterance="is she good", reference="is Anna good", id="x:1"
)
(COMPLETE,) = complete_examples([EXAMPLE])


def scored(example: Example, score: float) -> Scored:
    """An example of which one cell scores so high: Anna for "she", or else for the last word."""
    words = tokenize(example.utterance)
    place = 1 if words[1].text == "she" else 2
    rows = rows_of("Anna sings")
    features = Features((), 0, (), (), rows, words)
    scores = np.full((2, len(rows), len(words) + 1), -9.0, dtype=np.float32)
    scores[0, next(k for k, row in enumerate(rows) if row.token.text == "Anna"), place] = score
    prepared = TrainingExample(example, features, features, (), (), True)
    return Scored(prepared, scores, metric_tokens(example.reference, "en"))


def claimed(settings: object, example: Scored) -> float:
    return confidence(decode_scored(example, DecodingSettings()), settings)  # type: ignore[arg-type]


def test_the_threshold_parts_right_edits_from_wrong_ones() -> None:
    right = [scored(EXAMPLE, 1.8)] * 10
    wrong = [scored(COMPLETE, 1.3)] * 10
    found = select_thresholds(right + wrong, "en")
    assert (found.exact_match, found.untouched) == (100, 100)
    assert found.decoding.substitute_threshold == 1.5


@pytest.mark.parametrize(("odd", "threshold"), [(1, 0.0), (10, 0.5)])
def test_a_few_odd_examples_do_not_move_the_threshold(odd: int, threshold: float) -> None:
    usual = [scored(EXAMPLE, 3.0)] * 200 + [scored(COMPLETE, -3.0)] * 300
    found = select_thresholds(usual + [scored(COMPLETE, 0.3)] * odd, "en")
    assert found.decoding.substitute_threshold == threshold


def test_more_restraint_can_be_asked_for() -> None:
    usual = [scored(EXAMPLE, 0.8)] * 50 + [scored(COMPLETE, -1.0)] * 49 + [scored(COMPLETE, 1.3)]
    relaxed = select_thresholds(usual, "en", least_untouched=97)
    assert (relaxed.exact_match, relaxed.untouched, relaxed.asked) == (100, 98, 97)
    strict = select_thresholds(usual, "en", least_untouched=99)
    assert (strict.exact_match, strict.untouched, strict.asked) == (0, 100, 99)


def test_a_span_may_reach_as_far_below_the_threshold_as_right_ones_do() -> None:
    whole = attrs.evolve(EXAMPLE, reference="is Anna sings good")
    right = scored(whole, 1.8)
    right.scores[0, [k for k, row in enumerate(rows_of("Anna sings")) if row.token.text == "sings"],
                 1] = 0.9  # fmt: skip
    found = select_thresholds([right] * 10 + [scored(COMPLETE, 1.3)] * 10, "en")
    assert (found.exact_match, found.untouched) == (100, 100)
    assert (found.decoding.substitute_threshold, found.decoding.span_slack) == (1.5, 1.0)


def test_results_as_clear_as_those_that_were_wrong_get_little_confidence() -> None:
    seen = [scored(EXAMPLE, 6.0)] * 50 + [scored(COMPLETE, 0.5)] * 500
    fitted = fit_confidence(seen, DecodingSettings(), "en")
    assert claimed(fitted, scored(EXAMPLE, 6.0)) > 0.9
    assert claimed(fitted, scored(EXAMPLE, 0.5)) < 0.1


def test_made_utterances_do_not_speak_for_missed_edits() -> None:
    missed, complete = [scored(EXAMPLE, -3.0)] * 50, [scored(COMPLETE, -3.0)] * 50
    fitted = fit_confidence(missed + complete, DecodingSettings(), "en")
    assert 0.05 < claimed(fitted, scored(EXAMPLE, -3.0)) < 0.15


def test_each_corpus_counts_alike_and_made_utterances_only_for_restraint() -> None:
    other = attrs.evolve(EXAMPLE, id="y:1")
    seen = [scored(EXAMPLE, 1.0)] * 3 + [scored(other, -1.0)] + [scored(COMPLETE, -1.0)] * 2
    found = evaluate_thresholds(seen, DecodingSettings(), "en")
    assert (found.exact_match, found.incomplete_exact_match, found.untouched) == (50, 50, 100)


def test_restraint_of_small_corpora_counts_alike() -> None:
    other = attrs.evolve(COMPLETE, id=COMPLETE.id.replace("x:", "y:"))
    seen = [scored(COMPLETE, -1.0)] * 9 + [scored(other, 1.0)]
    assert evaluate_thresholds(seen, DecodingSettings(), "en").untouched == 50


def test_thresholds_rise_with_the_history_where_long_ones_tempt() -> None:
    text = " ".join(["word"] * 126) + " Anna sings"
    told = attrs.evolve(EXAMPLE, history=(Turn(text),), reference=EXAMPLE.utterance)
    tempted, rows = scored(told, 2.8), rows_of(text)
    scores = np.full((2, len(rows), tempted.scores.shape[2]), -9.0, dtype=np.float32)
    scores[0, row_span(rows, "Anna")[0]] = tempted.scores[0].max(axis=0)
    features = attrs.evolve(tempted.example.features, rows=rows)
    prepared = attrs.evolve(tempted.example, features=features)
    long = attrs.evolve(tempted, scores=scores, example=prepared)
    found = select_thresholds([scored(EXAMPLE, 0.3)] * 20 + [long] * 20, "en")
    assert (found.exact_match, found.untouched) == (100, 100)
    assert found.decoding.history_rise > 1


def test_a_corpus_with_enough_complete_utterances_speaks_for_itself() -> None:
    few, many = (attrs.evolve(COMPLETE, id=COMPLETE.id.replace("x:", f"{c}:")) for c in "yz")
    seen = [scored(COMPLETE, -1.0)] * 400 + [scored(few, 1.0)] * 30
    assert evaluate_thresholds(seen, DecodingSettings(), "en").untouched == 100
    seen += [scored(many, -1.0)] * 150 + [scored(many, 1.0)] * 50
    assert evaluate_thresholds(seen, DecodingSettings(), "en").untouched == 75


def test_learnt_ends_count_where_they_help() -> None:
    whole = attrs.evolve(EXAMPLE, reference="is Anna sings good")
    examples = []
    for wanted, last in ((EXAMPLE, "Anna"), (whole, "sings")):
        one = scored(wanted, 5.0)
        texts = [row.token.text for row in rows_of("Anna sings")]
        one.scores[0, texts.index("sings"), 1] = 0.2 if wanted is EXAMPLE else -0.2
        ends = np.zeros_like(one.scores)
        ends[0, texts.index("Anna"), 1] = ends[1, texts.index(last), 1] = 4.0
        examples += [attrs.evolve(one, scores=np.concatenate((one.scores, ends)))] * 10
    found = select_thresholds([*examples, *[scored(COMPLETE, -3.0)] * 10], "en")
    assert found.decoding.ends_share > 0
    assert found.exact_match == 100


def test_thresholds_are_judged_by_what_people_said() -> None:
    made_up = attrs.evolve(COMPLETE, id="followups-en:1.1")
    seen = [scored(EXAMPLE, 1.0), scored(COMPLETE, -1.0), scored(made_up, 1.0)]
    found = evaluate_thresholds(seen, DecodingSettings(), "en")
    assert (found.exact_match, found.untouched) == (100, 100)
    assert evaluate_thresholds(seen[2:], DecodingSettings(), "en").untouched == 0
