"""The report of a bundle on a corpus."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from queen_sdk import Rewriter, Turn
from queen_sdk.data.examples import Example
from queen_sdk.errors import InvalidArgumentError, MissingExtraError
from queen_sdk.evaluation import metric_tokens
from queen_sdk.evaluation.paper import published
from queen_sdk.evaluation.report import Report, Share, evaluate


def example(utterance: str, reference: str, *history: str) -> Example:
    return Example(tuple(map(Turn, history)), utterance=utterance, reference=reference, id="x:1")


EXAMPLES = [
    example("他好吗", "史密斯好吗", "史密斯是谁"),  # right with the bundle and Pronoun Sub
    example("他好吗", "她好吗", "史密斯是谁"),  # never right
    example("天气好", "天气好", "史密斯是谁"),  # complete
    example("他好", "他好", "史密斯是谁"),  # complete, but the bundle edits it
    example("他好", "他好"),  # no history
]


@pytest.fixture(scope="module")
def rewriter(tiny_bundle_dir: Path) -> Iterator[Rewriter]:
    with Rewriter(tiny_bundle_dir) as rewriter:
        yield rewriter


@pytest.fixture(scope="module")
def report(rewriter: Rewriter) -> Report:
    """Evaluate with a threshold that only a name for a pronoun passes."""
    return evaluate(rewriter, EXAMPLES, language="zh", corpus="rewrite", threshold=3.0)


def test_bundle_and_baselines_are_scored_on_the_same_examples(report: Report) -> None:
    assert report.examples == 5
    assert report.bundle.system == "tiny 1"
    assert report.scores.exact_match == pytest.approx(60)
    copied, substituted = report.baselines
    assert (copied.system, copied.scores.exact_match) == ("Copy", pytest.approx(60))
    assert (substituted.system, substituted.scores.exact_match) == ("Pronoun Sub", 60)
    assert report.published == published("rewrite")


def test_incomplete_utterances_count_on_their_own(report: Report) -> None:
    assert report.bundle.incomplete == Share(1, of=2)
    assert report.baselines[0].incomplete == Share(0, of=2)


def test_untouched_counts_only_what_had_a_history(rewriter: Rewriter, report: Report) -> None:
    assert report.untouched_complete == Share(1, of=2)
    # Of 史密斯好吗, 她好吗, 天气好 and 他好, those with a pronoun are edited.
    assert report.untouched_references == Share(2, of=4)
    without = evaluate(rewriter, EXAMPLES, language="zh", corpus="rewrite", references=False)
    assert without.untouched_references is None


def test_what_was_not_edited_is_counted_by_reason(rewriter: Rewriter) -> None:
    report = evaluate(rewriter, EXAMPLES, language="zh", corpus="rewrite", threshold=99.0)
    assert report.skip_reasons == {"already_complete": 4, "no_history": 1}
    assert report.threshold == 99.0
    assert report.untouched_complete.percent == 100


def test_single_calls_are_timed_where_the_model_was_asked(rewriter: Rewriter) -> None:
    report = evaluate(rewriter, EXAMPLES * 60, language="zh", corpus="rewrite", references=False)
    assert 0 < report.latency.p50 <= report.latency.p95
    assert report.latency.calls == 120  # every second of 240


def test_a_corpus_without_published_rows_has_none(rewriter: Rewriter) -> None:
    assert evaluate(rewriter, EXAMPLES, language="zh", corpus="jsonl").published == ()


def test_without_any_history_there_is_still_a_report(rewriter: Rewriter) -> None:
    report = evaluate(rewriter, EXAMPLES[-1:], language="zh", corpus="jsonl")
    assert report.bundle.system == "no bundle was asked"
    assert report.bundle.incomplete.percent is None
    assert report.untouched_references == Share(0, of=0)
    assert json.loads(json.dumps(report.to_dict()))["incomplete"]["exact_match"] is None


def test_the_dictionary_is_json_with_plain_names(report: Report) -> None:
    found = json.loads(json.dumps(report.to_dict()))
    assert found["bundle"] == "tiny 1"
    assert found["scores"] == json.loads(json.dumps(report.scores.to_dict()))
    assert found["incomplete"] == {"exact_match": 50, "examples": 2}
    assert found["untouched"] == {
        "complete": {"percent": 50, "examples": 2},
        "references": {"percent": 50, "examples": 4},
    }
    assert found["latency_ms"].keys() == {"p50", "p95", "calls"}
    systems = [row["system"] for row in found["rows"]]
    assert systems[:3] == ["tiny 1", "Copy", "Pronoun Sub"]
    assert "QUEEN" in systems
    assert {"measured"} == {row["source"] for row in found["rows"][:3]}
    assert all("exact_match" in row and "bleu_4" in row for row in found["rows"])


def test_the_summary_keeps_what_a_card_needs(report: Report) -> None:
    summary = report.summary()
    assert summary["examples"] == report.examples
    assert summary["exact_match"] == round(report.scores.exact_match, 2)
    assert list(summary["at_min_confidence"]) == ["0.5", "0.7", "0.9"]
    for figures in summary["at_min_confidence"].values():
        assert figures.keys() == {"coverage", "exact_match_covered", "exact_match"}
    assert json.loads(json.dumps(summary)) == summary


def test_bars_are_only_for_terminals(
    rewriter: Rewriter, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(rewriter, EXAMPLES, language="zh", corpus="jsonl", progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    evaluate(rewriter, EXAMPLES, language="zh", corpus="jsonl", progress=False)
    assert capsys.readouterr().err == ""
    evaluate(rewriter, EXAMPLES, language="zh", corpus="jsonl", progress=True)
    assert "rewriting: 100%" in capsys.readouterr().err


def test_nothing_to_evaluate_is_refused(rewriter: Rewriter) -> None:
    with pytest.raises(InvalidArgumentError, match="at least one example"):
        evaluate(rewriter, [], language="zh", corpus="rewrite")
    with pytest.raises(InvalidArgumentError, match="'en' or 'zh', got 'fr'"):
        evaluate(rewriter, EXAMPLES, language="fr", corpus="jsonl")


def test_a_missing_tokenizer_is_found_before_the_run(
    rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric_tokens._english_tokenizer.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setattr(Rewriter, "rewrite_many", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(MissingExtraError, match="queen-sdk\\[eval\\]"):
        evaluate(rewriter, EXAMPLES, language="en", corpus="task")
