"""`queen chat`, with a script on stdin."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.cli.chat import marked
from queen_sdk.values import Edit, RewriteResult

Queen = Callable[..., Any]
Typed = Callable[[str | bytes], None]


def test_each_line_is_rewritten_with_what_was_said_before(
    queen: Queen, typed: Typed, tiny_bundle_dir: Path
) -> None:
    typed("Hello\nbot: Smith is here\nDoes he care?\n")
    outcome = queen("chat", "--bundle", tiny_bundle_dir)
    assert outcome.code == 0
    hello, skipped, rewrite, edit, confidence = outcome.out.splitlines()
    assert (hello, skipped) == ("Hello", "  unchanged: no_history")
    assert rewrite == "Does Smith care?"
    assert edit.startswith("  substitute [5:7] 'Smith' from turn 1 [0:5]")
    assert confidence.startswith("  confidence ")


@pytest.mark.parametrize("answer", ["bot: Smith", "Bot：Smith", "/bot Smith", " BOT :  Smith "])
def test_answers_are_recorded_and_shown(
    queen: Queen, typed: Typed, tiny_bundle_dir: Path, answer: str
) -> None:
    typed(f"who?\n{answer}\n/history\n")
    assert queen("chat", "--bundle", tiny_bundle_dir).out.endswith("user: who?\nbot: Smith\n")


def test_reset_forgets_and_quit_ends(queen: Queen, typed: Typed, tiny_bundle_dir: Path) -> None:
    typed("bot: Smith\n/reset\n/history\nhe\n/quit\nnever read\n")
    out = queen("chat", "--bundle", tiny_bundle_dir).out
    assert out == "the dialogue is forgotten\nhe\n  unchanged: no_history\n"


@pytest.mark.parametrize("line", ["/fly", "/bots", "/help", "/bot", "bot:"])
def test_other_orders_are_explained_and_not_rewritten(
    queen: Queen, typed: Typed, tiny_bundle_dir: Path, line: str
) -> None:
    typed(f"{line}\n/history\n")
    out = queen("chat", "--bundle", tiny_bundle_dir).out
    assert "bot: ..." in out
    assert "unchanged" not in out


def test_blank_lines_and_odd_bytes_are_survived(
    queen: Queen, typed: Typed, tiny_bundle_dir: Path
) -> None:
    typed(b"\n  \nbot: Smith\r\n\xff he\r\n")
    outcome = queen("chat", "--bundle", tiny_bundle_dir)
    assert outcome.code == 0
    assert outcome.out.startswith("\\udcff Smith\n")


def test_marks_show_new_text_behind_what_it_replaces() -> None:
    result = RewriteResult(
        "No, Smith does not care about food.",
        original="No, he does not care.",
        edits=(
            Edit("substitute", start=4, end=6, text="Smith", sources=(), score=1.0),
            Edit("insert", start=20, end=20, text=" about food", sources=(), score=1.0),
        ),
    )
    assert marked(result) == (
        "No, \x1b[9;31mhe\x1b[0m→\x1b[32mSmith\x1b[0m does not care\x1b[32m about food\x1b[0m."
    )


@pytest.mark.parametrize(
    ("tty", "variables", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    queen: Queen,
    typed: Typed,
    tiny_bundle_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    tty: bool,
    variables: dict[str, str],
    coloured: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    typed("bot: Smith\nhe\n")
    out = queen("chat", "--bundle", tiny_bundle_dir).out
    assert ("\x1b[" in out) == coloured
    assert out.startswith("\x1b[9;31mhe" if coloured else "Smith\n")
