"""The lines of `queen batch`, one by one."""

from __future__ import annotations

import io

import pytest

from queen_sdk.cli.lines import BadLine, Line, read_lines
from queen_sdk.values import Turn


def read(content: bytes) -> list[Line | BadLine]:
    return list(read_lines(io.BytesIO(content), name="in.jsonl"))


@pytest.mark.parametrize(
    "history",
    [b'["Hi"]', b'[["user", "Hi"]]', b'[{"role": "user", "content": "Hi"}]'],
)
def test_every_history_form_is_read(history: bytes) -> None:
    (line,) = read(b'{"history": %s, "utterance": "he"}' % history)
    assert isinstance(line, Line)
    assert (line.history, line.utterance) == ((Turn("Hi"),), "he")


def test_byte_order_mark_and_blank_lines_are_passed_over() -> None:
    content = b'\xef\xbb\xbf{"history": [], "utterance": ""}\r\n\n  \nx\n'
    good, bad = read(content)
    assert isinstance(good, Line)
    assert isinstance(bad, BadLine)
    assert bad.place == "in.jsonl, line 4"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"he", "is not JSON (Expecting value"),
        (b"\xff", "is not UTF-8 (byte 1)"),
        (b"[" * 100_000, "is not JSON ("),
        (b'["he"]', "must be a JSON object, got '[\"he\"]'"),
        (b'{"utterance": "he"}', "the key 'history' is missing"),
        (b'{"history": []}', "the key 'utterance' is missing"),
        (b'{"history": "Hi", "utterance": "he"}', "history must be a sequence of turns, got str"),
        (b'{"history": null, "utterance": "he"}', "history must be a sequence of turns, got Non"),
        (b'{"history": [1], "utterance": "he"}', "history[0] is a int"),
        (b'{"history": [["alien", "x"]], "utterance": "he"}', "unknown role 'alien'"),
        (b'{"history": [], "utterance": 1}', "utterance must be a str, got int"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(content: bytes, problem: str) -> None:
    (line,) = read(content)
    assert isinstance(line, BadLine)
    assert line.problem.startswith(problem)
    assert line.failed()["error"] == line.problem
