"""The server as its clients see it: a real uvicorn, real requests."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeRewriter, Gate, fail

from queen_sdk import MemoryStore, Middleware, Policy, Rewriter, SqliteStore, Turn
from queen_sdk.errors import InvalidArgumentError, UnavailableStoreError
from queen_sdk.stores import Record

pytest.importorskip("fastapi", reason="needs the extra: pip install 'queen-sdk[server]'")
from http_server import Running, serving

from queen_sdk.server.app import create_app

CALL = {"history": ["Smith is here"], "utterance": "Does he care?"}


@pytest.fixture(scope="module")
def server(rewriter: Rewriter) -> Iterator[Running]:
    """Serve the tiny bundle."""
    with Middleware(rewriter, Policy(timeout=30)) as middleware:
        app = create_app(middleware, max_body=10_000, body_timeout=1.0, version="7")
        with serving(app) as running:
            yield running


def test_an_utterance_is_rewritten(server: Running, rewriter: Rewriter) -> None:
    status, answer = server.post("/rewrite", CALL)
    assert status == 200
    assert answer["text"] == "Does Smith care?"
    expected = rewriter.rewrite(["Smith is here"], "Does he care?").to_dict()
    for fields in (answer, expected):
        del fields["timings"]
    assert answer == _as_json(expected)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_every_way_to_give_a_history_is_understood(server: Running) -> None:
    for turn in ("Smith", ["bot", "Smith"], {"role": "user", "content": "Smith"}):
        _, answer = server.post("/rewrite", {"history": [turn], "utterance": "he"})
        assert answer["text"] == "Smith"


def test_text_comes_back_as_it_was_sent(server: Running) -> None:
    for utterance in ("他关心吗？🙂", "e\u0301 \u0000", "\ud800 he"):
        _, answer = server.post("/rewrite", {"history": [], "utterance": utterance})
        assert (answer["original"], answer["text"]) == (utterance, utterance)
        assert answer["skip_reason"] == "no_history"


def test_options_hold_for_their_call(server: Running, rewriter: Rewriter) -> None:
    for options in ({"protect": ["he"]}, {"threshold": 1e9}, {"min_confidence": 1.0}, {}):
        _, answer = server.post("/rewrite", {**CALL, **options})
        here = rewriter.rewrite(["Smith is here"], "Does he care?", **options)  # type: ignore[arg-type]
        assert (answer["text"], answer["skip_reason"]) == (here.text, here.skip_reason)
    off = server.post("/rewrite", {**CALL, "enabled": False})[1]
    assert (off["text"], off["skip_reason"]) == ("Does he care?", "disabled")


def test_a_session_remembers_and_forgets(server: Running) -> None:
    def say(utterance: str, session: str) -> Any:
        return server.post("/rewrite", {"session": session, "utterance": utterance})[1]["text"]

    assert say("Who?", "anna/1") == "Who?"
    answer = {"session": "anna/1", "text": "Smith", "key": "k"}
    assert server.post("/turns", answer) == (200, {"recorded": True})
    assert server.post("/turns", answer) == (200, {"recorded": False})
    assert say("he", "anna/2") == "he"
    assert say("he", "anna/1") == "Smith"
    assert server.post("/forget", {"session": "anna"}) == (200, {"sessions": 2})
    assert say("he", "anna/1") == "he"


def test_health_is_told(server: Running) -> None:
    assert server.ask("GET", "/health") == (200, {"status": "ok", "version": "7"})


def test_the_interface_is_described(server: Running) -> None:
    status, answer = server.ask("GET", "/openapi.json")
    assert status == 200
    assert {"/health", "/rewrite", "/turns", "/forget"} == set(answer["paths"])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "complaint"),
    [
        ("POST", "/rewrite", b"{", 400, "the body is not JSON"),
        ("POST", "/rewrite", {"utterance": "a"}, 400, "'history' is missing"),
        ("POST", "/turns", {"session": "", "text": "a"}, 400, "no empty part"),
        ("POST", "/forget", {}, 400, "'session' is missing"),
        ("POST", "/rewrite", b"x" * 10_001, 413, "at most 10000 bytes"),
        ("GET", "/rewrite", None, 405, "there is no GET /rewrite; there are: GET /health, POST"),
        ("GET", "/", None, 404, "there is no GET /; there are: "),
        ("GET", "/docs", None, 404, "there is no GET /docs"),
    ],
)
def test_misuse_is_explained(
    server: Running, method: str, path: str, body: Any, status: int, complaint: str
) -> None:
    found, answer = server.ask(method, path, body)
    assert found == status
    assert complaint in answer["error"]


def test_a_body_that_is_not_declared_as_json_is_refused(server: Running) -> None:
    for headers in ({}, {"content-type": "text/plain"}):
        status, answer = server.ask("POST", "/rewrite", CALL, headers=headers)
        assert status == 415
        assert "send content-type: application/json" in answer["error"]
    typed = {"content-type": "Application/JSON; charset=utf-8"}
    assert server.ask("POST", "/rewrite", CALL, headers=typed)[0] == 200


def test_a_body_in_endless_pieces_is_refused(server: Running) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    pieces = (b"x" * 1000 for _ in range(11))
    connection.request(
        "POST", "/rewrite", pieces, {"content-type": "application/json"}, encode_chunked=True
    )
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_that_does_not_come_is_not_waited_for(server: Running) -> None:
    head = b"POST /rewrite HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(head + b'content-length: 100\r\n\r\n{"utt')
        assert b" 408 " in slow.recv(1000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as gone:
        gone.sendall(head + b'content-length: 100\r\n\r\n{"utt')
    assert server.ask("GET", "/health")[0] == 200


@pytest.mark.parametrize("session", [False, True])
def test_a_model_that_fails_costs_no_answer(session: bool) -> None:
    with Middleware(FakeRewriter(fail)) as middleware:
        store = MemoryStore()
        store.append("anna", Record(Turn("Smith")), max_turns=2)
        call = {"session": "anna"} if session else {"history": ["Smith"]}
        with serving(create_app(middleware, store=store)) as running:
            status, answer = running.post("/rewrite", {**call, "utterance": "he"})
    assert (status, answer["text"], answer["skip_reason"]) == (200, "he", "error")


def test_a_model_that_hangs_costs_the_time_out_and_holds_nobody_else_up() -> None:
    gate = Gate()
    answers: list[Any] = []
    with (
        Middleware(FakeRewriter(gate), Policy(timeout=0.05)) as middleware,
        serving(create_app(middleware)) as running,
    ):
        threads = [
            threading.Thread(target=lambda: answers.append(running.post("/rewrite", CALL)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        assert running.ask("GET", "/health")[0] == 200
        for thread in threads:
            thread.join(30)
        gate.opened.set()
    assert [status for status, _ in answers] == [200] * 4
    assert {answer["skip_reason"] for _, answer in answers} == {"timeout"}
    assert {answer["text"] for _, answer in answers} == {"Does he care?"}


class _BrokenStore(MemoryStore):
    def append(self, session: str, record: Record, *, max_turns: int) -> bool:
        raise UnavailableStoreError("the store is full")

    def load(self, session: str) -> tuple[Record, ...]:
        raise UnavailableStoreError("the store is away")


def test_a_store_that_fails_costs_the_history_and_no_answer() -> None:
    with (
        Middleware(FakeRewriter()) as middleware,
        serving(create_app(middleware, store=_BrokenStore())) as running,
    ):
        status, answer = running.post("/rewrite", {"session": "anna", "utterance": "he"})
        assert (status, answer["text"], answer["skip_reason"]) == (200, "he", "error")
        turn = running.post("/turns", {"session": "anna", "text": "Smith"})
        assert turn == (503, {"error": "the store is full"})


def test_sessions_can_outlive_the_server(tmp_path: Path, rewriter: Rewriter) -> None:
    for path, body in (
        ("/turns", {"session": "anna", "text": "Smith"}),
        ("/rewrite", {"session": "anna", "utterance": "he"}),
    ):
        store = SqliteStore(tmp_path / "sessions.db")
        with (
            Middleware(rewriter, Policy(timeout=30)) as middleware,
            serving(create_app(middleware, store=store)) as running,
        ):
            status, answer = running.post(path, body)
        store.close()
        assert status == 200
    assert answer["text"] == "Smith"


@pytest.mark.parametrize("wrong", [{"max_body": 0}, {"body_timeout": 0}])
def test_bounds_are_checked(rewriter: Rewriter, wrong: dict[str, Any]) -> None:
    with Middleware(rewriter) as middleware, pytest.raises(InvalidArgumentError):
        create_app(middleware, **wrong)
