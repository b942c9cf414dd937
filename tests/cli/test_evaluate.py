"""`queen eval`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from tiny_parser import build_parser

from queen_sdk import Rewriter
from queen_sdk.bundle import ParserSpec, read_manifest, write_manifest
from queen_sdk.evaluation import metric_tokens
from queen_sdk.evaluation.other_parser import with_parser
from queen_sdk.parsing.embedded import EmbeddedParser
from queen_sdk.parsing.registry import CARRIED

Queen = Callable[..., Any]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write three lines of REWRITE's form, the only three of the evaluation part."""
    train = "谁\t\t我\t\t他\t\t我\n" * 18_000
    lines = (
        "史密斯是谁\t\t我喜欢史密斯\t\t他好吗\t\t史密斯好吗",
        "北京怎样\t\t北京好\t\t上海\t\t上海怎样",
        "天气好吗\t\t好\t\t好\t\t好",
    )
    file = tmp_path / "corpus.txt"
    file.write_text(train + "\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_a_table_and_a_file_are_written(
    queen: Queen, tiny_bundle_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    figures = tmp_path / "figures.json"
    call = ("eval", "--bundle", tiny_bundle_dir, "--data", "rewrite", "--path", corpus)
    outcome = queen(*call, "--json", figures)
    assert outcome.code == 0
    assert outcome.out.startswith("## tiny 1 on rewrite, 3 examples\n")
    assert "| QUEEN " in outcome.out
    found = json.loads(figures.read_text("utf-8"))
    assert found["examples"] == 3
    assert {"exact_match", "bleu_1", "rouge_l", "restoration_3"} <= found["scores"].keys()
    assert {"p50", "p95"} <= found["latency_ms"].keys()
    assert found["untouched"]["references"]["examples"] == 3


def test_json_may_go_to_stdout_and_options_arrive(
    queen: Queen, tiny_bundle_dir: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEEN_DATA", str(corpus))
    options = ("--limit", 2, "--threshold", 99, "--no-untouched", "--json", "-")
    outcome = queen("eval", "--bundle", tiny_bundle_dir, "--data", "rewrite", *options)
    found = json.loads(outcome.out)
    assert (found["examples"], found["threshold"]) == (2, 99)
    assert found["skip_reasons"] == {"already_complete": 2}
    assert found["untouched"]["references"] is None


def test_the_main_figures_can_be_recorded_in_the_bundle(
    queen: Queen, altered_bundle: Callable[..., Path], corpus: Path
) -> None:
    bundle = altered_bundle()
    outcome = queen("eval", "--bundle", bundle, "--data", "rewrite", "--path", corpus, "--record")
    assert outcome.code == 0
    recorded = read_manifest(bundle).scores["evaluation"]["rewrite"]
    assert recorded["examples"] == 3
    assert recorded["exact_match"] is not None
    assert "latency_ms" not in recorded
    assert list(recorded["at_min_confidence"]) == ["0.5", "0.7", "0.9"]
    rows = [line.split() for line in (bundle / "CARD.md").read_text("utf-8").splitlines()]
    assert [row[3] for row in rows if row[1:2] == ["rewrite"]] == ["3", "0.5", "0.7", "0.9"]


def test_figures_at_another_threshold_are_not_recorded(
    queen: Queen, altered_bundle: Callable[..., Path], corpus: Path
) -> None:
    bundle = altered_bundle()
    call = ("eval", "--bundle", bundle, "--data", "rewrite", "--path", corpus, "--record")
    outcome = queen(*call, "--threshold", 1)
    assert (outcome.code, "leave --threshold out" in outcome.err) == (2, True)
    assert read_manifest(bundle).scores == {}


def test_wrong_results_are_written_with_their_causes(
    queen: Queen, tiny_bundle_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.jsonl"
    call = ("eval", "--bundle", tiny_bundle_dir, "--data", "rewrite", "--path", corpus)
    outcome = queen(*call, "--threshold", 99, "--wrong", file)
    assert "| nothing edited |     2 |     66.7 |" in outcome.out
    first, second = map(json.loads, file.read_text("utf-8").splitlines())
    assert (first["id"], second["id"]) == ("rewrite:18001", "rewrite:18002")
    assert first["cause"] == "nothing edited"
    assert first["rewrite"] == first["utterance"] == "他好吗"
    assert first["reference"] == "史密斯好吗"


def test_one_bit_per_example_tells_what_was_right(
    queen: Queen, tiny_bundle_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "bits.txt"
    call = ("eval", "--bundle", tiny_bundle_dir, "--data", "rewrite", "--path", corpus)
    outcome = queen(*call, "--threshold", 99, "--bits", file)
    assert (outcome.code, file.read_text("utf-8")) == (0, "0\n0\n1\n")


def test_several_corpora_have_an_overview_and_share_the_files(
    queen: Queen, altered_bundle: Callable[..., Path], corpus: Path, tmp_path: Path
) -> None:
    bits, figures, bundle = tmp_path / "bits.txt", tmp_path / "figures.json", altered_bundle()
    call = ("eval", "--bundle", bundle, "--data", "followups-zh", "--data", "rewrite")
    outcome = queen(
        *call, "--path", corpus, "--limit", 2, "--bits", bits, "--json", figures, "--record"
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert [line for line in outcome.out.splitlines() if line.startswith("## ")] == [
        "## tiny 1 on followups-zh, 2 examples",
        "## tiny 1 on rewrite, 2 examples",
        "## tiny 1 on all of them",
    ]
    assert len(bits.read_text("utf-8").splitlines()) == 4
    assert json.loads(figures.read_text("utf-8"))["together"]["examples"] == 4
    assert {"followups-zh", "rewrite"} <= read_manifest(bundle).scores["evaluation"].keys()


def test_the_held_out_part_is_what_the_bundle_was_not_trained_on(
    queen: Queen, altered_bundle: Callable[..., Path], corpus: Path
) -> None:
    bundle = altered_bundle()
    call = ("eval", "--bundle", bundle, "--data", "rewrite", "--path", corpus)
    outcome = queen(*call, "--part", "held-out")
    assert (outcome.code, "did not hold out any of rewrite" in outcome.err) == (2, True)
    held_out = {"rewrite": "17 18000", "restoration": "3"}
    write_manifest(bundle, attrs.evolve(read_manifest(bundle), training={"held_out": held_out}))
    outcome = queen(*call, "--part", "held-out", "--no-untouched", "--json", "-")
    assert json.loads(outcome.out)["examples"] == 2
    outcome = queen(*call, "--part", "held-out", "--record")
    assert (outcome.code, "leave --part out" in outcome.err) == (2, True)


class TestAnotherParser:
    @pytest.fixture
    def trained_with_one(
        self, altered_bundle: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        """Return a bundle that carries a tiny parser; the package has the same one."""
        models = tmp_path / "models"
        parser = build_parser(models / "zh")
        monkeypatch.setattr("queen_sdk.parsing.embedded.MODELS", models)
        bundle = altered_bundle()
        shutil.copytree(parser, bundle / CARRIED)
        spec = ParserSpec("embedded:zh", sha256=EmbeddedParser(parser).sha256)
        write_manifest(bundle, attrs.evolve(read_manifest(bundle), parser=spec))
        return bundle

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ("none", "tiny 1 (parser none; trained with embedded:zh)"),
            ("embedded:zh", "tiny 1 (parser embedded:zh; trained with embedded:zh)"),
        ],
    )
    def test_the_table_says_which_one_served(
        self, queen: Queen, trained_with_one: Path, corpus: Path, asked: str, said: str
    ) -> None:
        before = read_manifest(trained_with_one)
        call = ("eval", "--bundle", trained_with_one, "--data", "rewrite", "--path", corpus)
        outcome = queen(*call, "--parser", asked)
        assert outcome.code == 0
        assert outcome.out.startswith(f"## {said} on rewrite, 3 examples\n")
        assert read_manifest(trained_with_one) == before

    def test_the_query_is_built_with_it(self, trained_with_one: Path) -> None:
        def query(bundle: Path) -> tuple[str, ...]:
            with Rewriter(bundle, providers=["cpu"], threads=1) as rewriter:
                return rewriter.explain(["史密斯是谁"], "吃饭").query

        with with_parser(trained_with_one, "none") as copy:
            assert query(copy) == ("[ELLIP]", "吃", "饭", "[ELLIP]")
            assert not (copy / CARRIED).exists()
        assert query(trained_with_one) == ("[ELLIP]", "吃", "饭")
        assert not copy.exists()

    def test_it_cannot_be_recorded(
        self, queen: Queen, trained_with_one: Path, corpus: Path
    ) -> None:
        call = ("eval", "--bundle", trained_with_one, "--data", "rewrite", "--path", corpus)
        outcome = queen(*call, "--parser", "none", "--record")
        assert (outcome.code, "leave --parser out" in outcome.err) == (2, True)

    def test_an_unknown_one_is_refused(
        self, queen: Queen, trained_with_one: Path, corpus: Path
    ) -> None:
        call = ("eval", "--bundle", trained_with_one, "--data", "rewrite", "--path", corpus)
        outcome = queen(*call, "--parser", "stanza:zh")
        assert (outcome.code, "got 'stanza:zh'" in outcome.err) == (2, True)


def test_recording_needs_to_know_the_bundle(queen: Queen, corpus: Path) -> None:
    outcome = queen("eval", "--data", "rewrite", "--path", corpus, "--record")
    assert outcome.code == 2
    assert "--record needs --bundle" in outcome.err


def test_your_own_lines_need_a_language(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path
) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text('{"history": ["史密斯"], "utterance": "他", "rewrite": "史密斯"}\n', "utf-8")
    call = ("eval", "--bundle", tiny_bundle_dir, "--data", "jsonl", "--path", file)
    assert queen(*call) == (2, "", "queen: jsonl: give --language, zh or en\n")
    outcome = queen(*call, "--language", "zh", "--json", "-")
    assert json.loads(outcome.out)["scores"]["exact_match"] == 100
    assert "QUEEN" not in outcome.out


def test_a_missing_tokenizer_is_said_before_the_run(
    queen: Queen, tiny_bundle_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric_tokens._english_tokenizer.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    call = ("eval", "--bundle", tiny_bundle_dir, "--data", "task", "--path", tmp_path / "absent")
    outcome = queen(*call)
    assert outcome.code == 2
    assert "pip install 'queen-sdk[eval]'" in outcome.err


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        ((), 2, "give --path, or set QUEEN_DATA"),
        (("--path", "nowhere"), 1, "nowhere: got no such file"),
        (("--path", "nowhere", "--limit", "0"), 2, "--limit must be a whole number"),
        (("--path", "nowhere", "--language", "en"), 2, "one language is needed, got en and zh"),
        (("--path", "nowhere", "--json", "no/f.json"), 2, "--json: there is no directory no"),
    ],
)
def test_misuse_is_found_early(
    queen: Queen,
    tiny_bundle_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    problem: str,
) -> None:
    monkeypatch.delenv("QUEEN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    outcome = queen("eval", "--bundle", tiny_bundle_dir, "--data", "rewrite", *options)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith(f"queen: {problem}")
