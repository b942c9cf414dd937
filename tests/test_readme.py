"""The README's examples print exactly what it shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from queen_sdk.bundle import embedded_bundles
from queen_sdk.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.skipif(
    not {"en", "zh"} <= set(embedded_bundles()), reason="this copy has no embedded bundles"
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def rewrite_examples() -> list[tuple[list[str], str]]:
    found = []
    for block in blocks("console"):
        text = block.replace("\\\n", " ")
        line, _, expected = text.partition("\n")
        if "queen rewrite" in line:
            found.append((shlex.split(line.split("queen rewrite", 1)[1]), expected))
    return found


NUMBER = re.compile(r"(?<=score )-?[0-9.]+|(?<=confidence )[0-9.]+")


def assert_shown(printed: str, shown: str) -> None:
    """Compare to the letter; scores may differ a little between releases of ONNX Runtime."""
    assert NUMBER.sub("N", printed) == NUMBER.sub("N", shown)
    for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        assert float(ours) == pytest.approx(float(theirs), abs=0.1)


def test_there_is_an_example_in_each_language() -> None:
    utterances = [arguments[-1] for arguments, _ in rewrite_examples()]
    assert any(utterance.isascii() for utterance in utterances)
    assert any("\u4e00" <= letter <= "\u9fff" for u in utterances for letter in u)


@pytest.mark.parametrize(("arguments", "expected"), rewrite_examples())
def test_a_command_prints_what_the_readme_shows(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rewrite", *arguments]) == 0
    assert_shown(capsys.readouterr().out, expected)
    assert len(expected.splitlines()) >= 2


def test_the_python_example_runs_and_prints_what_the_readme_shows() -> None:
    (code, *_), (shown, *_) = blocks("python"), blocks("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert_shown(printed.getvalue(), shown)
