"""The door of the command line: exit codes, messages, pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk import QueenError, __version__
from queen_sdk.cli import COMMANDS, main
from queen_sdk.errors import (
    ClosedError,
    InvalidArgumentError,
    MissingExtraError,
    UnknownBundleError,
)

Queen = Callable[..., Any]


def _failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("queen_sdk.cli.rewrite.Rewriter", fail)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InvalidArgumentError("threshold is odd"), 2, "queen: threshold is odd\n"),
        (UnknownBundleError("no such bundle"), 2, "queen: no such bundle\n"),
        (MissingExtraError("pip install it"), 2, "queen: pip install it\n"),
        (ClosedError("closed"), 1, "queen: closed\n"),
        (QueenError("two\n  lines"), 1, "queen: two lines\n"),
        (FileNotFoundError(2, "No such file", "in.jsonl"), 1, "queen: in.jsonl: No such file\n"),
        (OSError("disk full"), 1, "queen: disk full\n"),
        (KeyboardInterrupt(), 130, "queen: interrupted\n"),
    ],
)
def test_errors_become_a_line_and_an_exit_code(
    queen: Queen, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    _failing(monkeypatch, error)
    assert queen("rewrite", "he") == (code, "", message)


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    _failing(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["rewrite", "he"])


@pytest.mark.parametrize("arguments", [(), ("fly",), ("rewrite",), ("rewrite", "--threshold", "x")])
def test_misuse_of_the_parser_is_code_2(queen: Queen, arguments: tuple[str, ...]) -> None:
    outcome = queen(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("usage: queen")


@pytest.mark.parametrize("command", ["", *(command.name for command in COMMANDS)])
def test_every_command_explains_itself(queen: Queen, command: str) -> None:
    outcome = queen(*filter(None, [command]), "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"usage: queen {command}".rstrip())


def test_the_version_is_that_of_the_package(queen: Queen) -> None:
    assert queen("--version").out == f"queen-sdk {__version__}\n"


def _process(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "queen_sdk.cli", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUTF8": "1"},
        **options,
    )


def test_it_runs_as_a_process_with_bytes_that_are_no_text(tiny_bundle_dir: Path) -> None:
    process = subprocess.run(
        [
            *(sys.executable, "-m", "queen_sdk.cli", "rewrite", "--bundle", str(tiny_bundle_dir)),
            *("--history", "Smith", b"caf\xe9 he"),
        ],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert process.stdout.splitlines()[0] == rb"caf\udce9 Smith"
    assert process.stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_goes_away_is_no_error_message(tiny_bundle_dir: Path, tmp_path: Path) -> None:
    line = '{"history": ["Smith"], "utterance": "Is he?"}\n'
    (tmp_path / "in.jsonl").write_text(line * 2_000)
    process = _process("batch", "--bundle", tiny_bundle_dir, tmp_path / "in.jsonl", "-")
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals are otherwise there")
def test_control_c_leaves_no_half_file(tiny_bundle_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    process = _process(
        *("batch", "--bundle", tiny_bundle_dir, "-", output),
        stdin=subprocess.PIPE,
        # A suite that runs in the background inherits a deaf ear for this signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(600):  # until the output is open, and so the loop is entered
        if list(tmp_path.iterdir()):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"queen: interrupted\n")
    assert list(tmp_path.iterdir()) == []
