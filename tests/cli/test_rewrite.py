"""`queen rewrite`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk import Rewriter
from queen_sdk.cli import main

Queen = Callable[..., Any]
HISTORY = ("Smith needs to find an expensive restaurant.", "Does Smith care?")


def test_text_edits_and_confidence_are_printed(queen: Queen, tiny_bundle_dir: Path) -> None:
    turns = [argument for turn in HISTORY for argument in ("--history", turn)]
    outcome = queen("rewrite", "--bundle", tiny_bundle_dir, *turns, "No, he does not care.")
    with Rewriter(tiny_bundle_dir) as rewriter:
        result = rewriter.rewrite(HISTORY, "No, he does not care.")
    assert result.changed
    expected = [
        result.text,
        *(f"  {edit}" for edit in result.edits),
        f"  confidence {result.confidence:.2f}",
    ]
    assert outcome == (0, "\n".join(expected) + "\n", "")


def test_json_has_the_fields_of_the_result(queen: Queen, tiny_bundle_dir: Path) -> None:
    outcome = queen(
        "rewrite", "--json", "--bundle", tiny_bundle_dir, "--history", "史密斯是谁", "他好"
    )
    with Rewriter(tiny_bundle_dir) as rewriter:
        expected = rewriter.rewrite(["史密斯是谁"], "他好").to_dict()
    found = json.loads(outcome.out)
    del found["timings"], expected["timings"]
    assert found == json.loads(json.dumps(expected))
    assert "史密斯" in outcome.out


def test_an_untouched_utterance_says_why(queen: Queen, tiny_bundle_dir: Path) -> None:
    outcome = queen("rewrite", "--bundle", tiny_bundle_dir, "No, he does not care.")
    assert outcome.out == "No, he does not care.\n  unchanged: no_history\n"


def test_options_reach_the_rewriter(queen: Queen, tiny_bundle_dir: Path) -> None:
    call = ("rewrite", "--bundle", tiny_bundle_dir, "--history", "Smith", "he")
    assert queen(*call).out.startswith("Smith\n")
    assert queen(*call, "--threshold", 99).out.startswith("he\n  unchanged: already_complete (")
    assert queen(*call, "--min-confidence", 1).out.startswith("he\n  unchanged: low_confidence (")
    assert queen(*call, "--protect", "he").out.startswith("he\n")


@pytest.mark.parametrize(
    "option", [("--threshold", "nan"), ("--min-confidence", "2"), ("--protect", " ")]
)
def test_values_out_of_range_are_misuse(
    queen: Queen, tiny_bundle_dir: Path, option: tuple[str, str]
) -> None:
    outcome = queen("rewrite", "--bundle", tiny_bundle_dir, *option, "--history", "Smith", "he")
    assert outcome.code == 2
    assert outcome.err.startswith("queen: ")
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_lone_surrogates_are_printed_as_escapes(
    queen: Queen, tiny_bundle_dir: Path, form: tuple[str, ...]
) -> None:
    outcome = queen(
        "rewrite", *form, "--bundle", tiny_bundle_dir, "--history", "Smith", "\udcff he"
    )
    assert outcome.code == 0
    assert "\\udcff Smith" in outcome.out


def test_a_stream_that_only_takes_ascii_gets_valid_json(
    tiny_bundle_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, encoding="ascii"))
    call = ["--bundle", str(tiny_bundle_dir), "--history", "史密斯😀", "他😀"]
    assert main(["rewrite", "--json", *call]) == 0
    assert json.loads(content.getvalue())["text"] == "史密斯😀"


def test_a_damaged_bundle_is_failure(queen: Queen, altered_bundle: Callable[..., Path]) -> None:
    directory = altered_bundle()
    (directory / "model.onnx").write_bytes(b"")
    outcome = queen("rewrite", "--bundle", directory, "--history", "Smith", "he")
    assert outcome.code == 1
    assert "model.onnx: was altered" in outcome.err
