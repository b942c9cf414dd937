"""What clients may ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queen_sdk import CallOptions, Turn
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.server.bodies import read_rewrite, read_session, read_turn
from queen_sdk.server.schema import body_of


def _raw(fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_a_rewrite_with_its_history_is_read() -> None:
    body = read_rewrite(
        _raw(
            {
                "history": ["a", ["bot", "b"], {"role": "user", "content": "c"}],
                "utterance": "d",
                "enabled": False,
                "threshold": 1,
                "min_confidence": 0.5,
                "protect": ["e"],
            }
        )
    )
    assert body.history == (Turn("a"), Turn("b", role="assistant"), Turn("c"))
    assert (body.utterance, body.session, body.key, body.enabled) == ("d", None, None, False)
    assert body.options == CallOptions(threshold=1, min_confidence=0.5, protect=("e",))


def test_a_rewrite_of_a_session_is_read() -> None:
    body = read_rewrite(_raw({"session": "anna/1", "utterance": "d", "key": "k"}))
    assert (body.session, body.key, body.history, body.enabled) == ("anna/1", "k", (), True)
    assert body.options == CallOptions()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ([], "must be a JSON object, got list"),
        ("he", "must be a JSON object, got str"),
        ({}, "'utterance' is missing"),
        ({"utterance": "a"}, "'history' is missing; or give a 'session'"),
        ({"utterance": "a", "history": [], "session": "b"}, "not both"),
        ({"utterance": "a", "history": [], "key": "b"}, "give 'session' too"),
        ({"utterance": 1, "history": []}, "utterance must be a str, got int"),
        ({"utterance": "a", "history": "b"}, "history must be a sequence of turns, got str"),
        ({"utterance": "a", "history": [1]}, r"history\[0\] is a int"),
        ({"utterance": "a", "history": [["king", "b"]]}, "unknown role 'king'"),
        ({"utterance": "a", "session": "b//c"}, "no empty part"),
        ({"utterance": "a", "session": 7}, "must be a str, got int"),
        ({"utterance": "a", "session": "b", "key": 7}, "key must be None or"),
        ({"utterance": "a", "history": [], "enabled": "no"}, "enabled must be true or false"),
        ({"utterance": "a", "history": [], "threshold": "x"}, "threshold must be a finite number"),
        ({"utterance": "a", "history": [], "min_confidence": 2}, "between 0 and 1"),
        ({"utterance": "a", "history": [], "protect": "b"}, "protect must be a sequence"),
        ({"utterance": "a", "history": [], "histroy": []}, "no key 'histroy'; allowed are utter"),
    ],
)
def test_what_is_wrong_is_said(fields: Any, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint):
        read_rewrite(_raw(fields))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff", b"[" * 100_000, b'{"utterance": "a", "threshold": ' + b"9" * 5000]
)
def test_what_is_not_json_is_said(raw: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="the body is not"):
        read_rewrite(raw)


def test_a_turn_is_the_bot_s_unless_it_says_otherwise() -> None:
    assert read_turn(_raw({"session": "a", "text": "b"})).turn == Turn("b", role="assistant")
    body = read_turn(_raw({"session": "a", "text": "b", "role": "user", "key": "k"}))
    assert (body.session, body.turn, body.key) == ("a", Turn("b"), "k")
    with pytest.raises(InvalidArgumentError, match="'text' is missing"):
        read_turn(_raw({"session": "a"}))


def test_a_session_to_forget_is_read() -> None:
    assert read_session(_raw({"session": "anna"})) == "anna"
    with pytest.raises(InvalidArgumentError, match="no key 'id'"):
        read_session(_raw({"session": "anna", "id": 1}))


def test_the_schema_names_the_keys_that_are_read() -> None:
    def keys(path: str) -> set[str]:
        content = body_of(path)["requestBody"]["content"]["application/json"]
        return set(content["schema"]["properties"])

    for path, read in (
        ("/rewrite", read_rewrite),
        ("/turns", read_turn),
        ("/forget", read_session),
    ):
        fields = {"utterance": "a", "history": []} if path == "/rewrite" else {"session": "a"}
        with pytest.raises(InvalidArgumentError) as caught:
            read(_raw({**fields, "text": "b", "?": 1} if path == "/turns" else {**fields, "?": 1}))
        allowed = str(caught.value).partition("allowed are ")[2].split(", ")
        assert keys(path) == set(allowed)
