"""`queen serve`, as a process of its own."""

from __future__ import annotations

import builtins
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.client import RemoteRewriter
from queen_sdk.errors import RemoteError

Queen = Callable[..., Any]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def _served(*arguments: object) -> Iterator[RemoteRewriter]:
    """Run `queen serve` until the block ends, by the signal that supervisors send."""
    pytest.importorskip("uvicorn", reason="needs the extra: pip install 'queen-sdk[server]'")
    port = _free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "queen_sdk.cli", "serve", "--port", str(port), *map(str, arguments)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    try:
        yield RemoteRewriter(f"http://127.0.0.1:{port}", timeout=30)
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err, err.decode()


def _ask(remote: RemoteRewriter, history: list[str], utterance: str) -> Any:
    ends = time.monotonic() + 120
    while True:
        try:
            return remote.rewrite(history, utterance)
        except RemoteError:
            assert time.monotonic() < ends
            time.sleep(0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are otherwise there")
def test_it_answers_and_stops_when_told(tiny_bundle_dir: Path, tmp_path: Path) -> None:
    options = ("--bundle", tiny_bundle_dir, "--timeout", "30", "--store", tmp_path / "sessions.db")
    with _served(*options) as remote:
        assert _ask(remote, ["Smith is here"], "Does he care?").text == "Does Smith care?"
    assert (tmp_path / "sessions.db").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--timeout", "0"), "timeout must be a positive number"),
        (("--max-history", "0"), "max_history must be"),
        (("--max-body", "0"), "max_body must be"),
        (("--min-confidence", "2"), "between 0 and 1"),
        (("--bundle", "nowhere"), "nowhere"),
    ],
)
def test_misuse_is_told_before_it_serves(
    queen: Queen, tiny_bundle_dir: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    pytest.importorskip("fastapi", reason="needs the extra: pip install 'queen-sdk[server]'")
    outcome = queen("serve", "--bundle", tiny_bundle_dir, *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err


def test_without_the_extra_it_says_what_to_install(
    queen: Queen, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = builtins.__import__

    def imports(name: str, *rest: Any, **more: Any) -> Any:
        if name == "uvicorn":
            raise ImportError(name)
        return genuine(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", imports)
    outcome = queen("serve")
    assert outcome.code == 2
    assert "pip install 'queen-sdk[server]'" in outcome.err
