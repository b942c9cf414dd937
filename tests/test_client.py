"""The client, against a real server, against none, and against servers that are something else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fakes import FakeRewriter

from queen_sdk import CircuitBreaker, Middleware, Policy, Rewriter, Turn
from queen_sdk.client import RemoteRewriter
from queen_sdk.errors import InvalidArgumentError, RemoteError

DIALOGUE = ([Turn("Smith is here", role="assistant")], "Does he care?")


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Give one answer to whoever connects, in HTTP or not."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100_000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(30)


def _response(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return head.encode() + body


@pytest.fixture
def nobody() -> str:
    """Return an address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def served(rewriter: Rewriter) -> Iterator[str]:
    pytest.importorskip("fastapi", reason="needs the extra: pip install 'queen-sdk[server]'")
    from http_server import serving

    from queen_sdk.server.app import create_app

    with (
        Middleware(rewriter, Policy(timeout=30)) as middleware,
        serving(create_app(middleware)) as running,
    ):
        yield running.url


class TestServer:
    """A server that `queen_sdk.server` made."""

    def test_the_result_is_that_of_the_rewriter(self, served: str, rewriter: Rewriter) -> None:
        remote = RemoteRewriter(f"{served}/", timeout=30)
        for history, utterance in (
            DIALOGUE,
            ([], "he"),
            (["史密斯"], "他关心吗🙂"),
            (["a"], "\ud800"),
        ):
            here, there = rewriter.rewrite(history, utterance), remote.rewrite(history, utterance)
            assert (there.text, there.edits) == (here.text, here.edits)
            assert there.skip_reason == here.skip_reason
        assert remote.rewrite(*DIALOGUE).changed

    def test_options_are_sent_along(self, served: str) -> None:
        remote = RemoteRewriter(served, timeout=30)
        assert "he" in remote.rewrite(*DIALOGUE, protect=["he"]).text.split()
        assert not remote.rewrite(*DIALOGUE, threshold=1e9).changed
        assert remote.rewrite(*DIALOGUE, min_confidence=1.0).skip_reason == "low_confidence"

    def test_misuse_is_found_before_anything_is_sent(self, nobody: str) -> None:
        for arguments in (("a", "b"), (["a"], None)):
            with pytest.raises(InvalidArgumentError):
                RemoteRewriter(nobody).rewrite(*arguments)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError):
            RemoteRewriter(nobody).rewrite(["a"], "b", min_confidence=2)

    def test_a_wrong_path_is_told_in_the_server_s_words(self, served: str) -> None:
        with pytest.raises(RemoteError, match="answered 404: there is no POST /api/rewrite"):
            RemoteRewriter(f"{served}/api", timeout=30).rewrite(*DIALOGUE)


class TestTrouble:
    """Whatever is wrong with the server, the error is one of ours, and a middleware hides it."""

    def test_nobody_listens(self, nobody: str) -> None:
        with pytest.raises(RemoteError, match=r"no answer from http://127.*queen serve"):
            RemoteRewriter(nobody).rewrite(*DIALOGUE)

    def test_nobody_answers(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with pytest.raises(RemoteError, match="no answer"):
                RemoteRewriter(url, timeout=0.05).rewrite(*DIALOGUE)

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"SSH-2.0-hello\r\n",
            _response(b"<html>"),
            _response(b"[]"),
            _response(b'{"text": "a"}'),
            _response(b"busy", "503 Busy"),
            _response(b'{"error": "no"}', "400 Bad Request"),
            _response(b"", "302 Found"),
            _response(
                b'{"text": "a", "original": "a", "edits": [], "confidence": null, '
                b'"skip_reason": null}'
            ),
        ],
    )
    def test_something_else_answers(self, answer: bytes) -> None:
        with answering(answer) as url, pytest.raises(RemoteError):
            RemoteRewriter(url, timeout=30).rewrite(*DIALOGUE)

    def test_a_middleware_passes_the_utterance_on_and_gives_the_server_a_rest(
        self, nobody: str
    ) -> None:
        breaker = CircuitBreaker(max_failures=2)
        with Middleware(RemoteRewriter(nobody), Policy(timeout=30), breaker=breaker) as middleware:
            results = [middleware.rewrite(*DIALOGUE) for _ in range(3)]
        assert [result.skip_reason for result in results] == ["error", "error", "circuit_open"]
        assert {result.text for result in results} == {DIALOGUE[1]}


def test_headers_are_sent_along() -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                seen.append(connection.recv(100_000))

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(RemoteError):
            RemoteRewriter(url, timeout=30, headers={"x-key": "7"}).rewrite(*DIALOGUE)
        thread.join(30)
    assert b"x-key: 7\r\n" in seen[0]


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8765", "ftp://a", "http://", "http://a:port", "http://a:0", "http://a?b"),
        *("http://a#b", "http://anna@a", "http://a b", "http://a\n", "http://ä", None, 8765),
    ],
)
def test_what_is_no_address_of_a_server_is_refused(url: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="url must be the address"):
        RemoteRewriter(url)


def test_it_stands_where_a_rewriter_can(nobody: str) -> None:
    with Middleware(RemoteRewriter(nobody)) as remote, Middleware(FakeRewriter()) as local:
        assert remote.rewrite([], "he") == local.rewrite([], "he")
