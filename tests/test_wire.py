"""JSON from outside, and results that went through it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queen_sdk import Rewriter, RewriteResult
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.wire import json_text, json_value, result_of


@pytest.fixture
def result(rewriter: Rewriter) -> RewriteResult:
    return rewriter.rewrite(["Smith is here"], "Does he care?")


def _sent(result: RewriteResult) -> Any:
    return json_value(json_text(result.to_dict()).encode())


def test_a_result_comes_back_as_it_was_sent(result: RewriteResult) -> None:
    received = result_of(_sent(result))
    assert received == result
    assert received.changed
    assert received.timings == result.timings


def test_an_unchanged_utterance_is_one_object_again(rewriter: Rewriter) -> None:
    received = result_of(_sent(rewriter.rewrite([], "he")))
    assert received.text is received.original
    assert received.skip_reason == "no_history"


def test_fields_of_a_newer_server_are_left_out(result: RewriteResult) -> None:
    fields = _sent(result)
    fields["mood"] = "fine"
    fields["timings"]["dreaming"] = 3
    assert result_of(fields) == result


def test_fields_that_only_inform_may_be_absent() -> None:
    fields = {"text": "a", "original": "a", "edits": [], "confidence": None, "skip_reason": None}
    assert result_of(fields) == RewriteResult("a", original="a")


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "something else"},
        {"edits": 3},
        {"edits": [{}]},
        {"edits": [[]]},
        {"confidence": "high"},
        {"timings": []},
        {"original": None},
    ],
)
def test_what_is_no_result_is_refused(result: RewriteResult, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="is not the result of a rewrite"):
        result_of({**_sent(result), **wrong})


@pytest.mark.parametrize("value", [None, "text", [], {}, {"text": "a"}])
def test_what_is_something_else_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="is not the result of a rewrite"):
        result_of(value)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [(b"{", "is not JSON"), (b"\xff", r"is not UTF-8 \(byte 1\)"), (b"[" * 100_000, "is not JSON")],
)
def test_bytes_that_are_no_json_are_refused(raw: bytes, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        json_value(raw)


def test_characters_are_escaped_only_where_they_must_be() -> None:
    assert json_text("他") == '"他"'
    assert json_text("他", "ascii") == '"\\u4ed6"'
    assert json.loads(json_text("\ud800")) == "\ud800"
    assert json_text("\ud800").isascii()
