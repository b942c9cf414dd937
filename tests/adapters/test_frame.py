"""What adapters share: versions of frameworks, messages of any form."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from queen_adapters.frame import Front, require, text_of, turns_of

from queen_sdk import Middleware, Policy, Rewriter, Turn
from queen_sdk.errors import InvalidArgumentError, MissingExtraError
from queen_sdk.testing import FakeRewriter

PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}


class TestRequire:
    def test_a_supported_version_is_welcome(self) -> None:
        require("attrs", extra="x", at_least="1.0", below="10000")
        require("attrs", extra="x", at_least=version("attrs"), below="10000")

    def test_a_missing_framework_is_named_with_the_command(self) -> None:
        with pytest.raises(ImportError, match=r"pip install 'queen-sdk\[langchain\]'"):
            require("no-such-framework", extra="langchain", at_least="1", below="2")

    @pytest.mark.parametrize(
        ("at_least", "below"), [("10000", "10001"), ("0.1", "1.0"), ("1", version("attrs"))]
    )
    def test_another_version_is_named_with_the_command(self, at_least: str, below: str) -> None:
        with pytest.raises(MissingExtraError) as raised:
            require("attrs", extra="rasa", at_least=at_least, below=below)
        for part in (version("attrs"), at_least, below, "pip install 'queen-sdk[rasa]'"):
            assert part in str(raised.value)

    @pytest.mark.parametrize(
        ("installed", "welcome"),
        [("1.9", False), ("1.10.0rc1", True), ("1.10", True), ("2.0.0", False), ("2", False)],
    )
    def test_versions_are_compared_as_numbers(
        self, monkeypatch: pytest.MonkeyPatch, installed: str, welcome: bool
    ) -> None:
        monkeypatch.setattr("queen_adapters.frame.version", lambda name: installed)
        if welcome:
            require("attrs", extra="x", at_least="1.10", below="2")
        else:
            with pytest.raises(MissingExtraError):
                require("attrs", extra="x", at_least="1.10", below="2")

    @pytest.mark.parametrize("module", ["langchain", "langchain_agents"])
    @pytest.mark.parametrize("found", [None, "0.3.29"])
    def test_importing_an_adapter_says_the_command(self, module: str, found: str | None) -> None:
        """Without the framework, or with one that is too old, in a process of its own."""
        code = f"""
import importlib.metadata as metadata
def version(name):
    if {found!r} is None:
        raise metadata.PackageNotFoundError(name)
    return {found!r}
metadata.version = version
import queen_adapters.{module}
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 1
        assert "pip install 'queen-sdk[langchain]'" in done.stderr.splitlines()[-1]


class TestTurns:
    def test_every_message_is_a_turn(self) -> None:
        messages = [
            SimpleNamespace(type="system", content="Be brief."),
            SimpleNamespace(type="human", content="a"),
            SimpleNamespace(type="ai", content=""),
            SimpleNamespace(type="tool", content="42"),
            SimpleNamespace(type="ai", content=[{"type": "text", "text": "b"}, PICTURE, "c"]),
            SimpleNamespace(type="chat", role="user", content="d"),
            SimpleNamespace(type="chat", role="narrator", content="e"),
            {"role": "user", "content": [PICTURE, {"type": "text", "text": "f"}]},
            ("ai", "g"),
            Turn("h"),
            "i",
        ]
        turns = turns_of(messages)
        roles = "system user assistant tool assistant user system user assistant user user"
        assert [turn.role for turn in turns] == roles.split()
        texts = ["Be brief.", "a", "", "42", "b\nc", "d", "e", "f", "g", "h", "i"]
        assert [turn.text for turn in turns] == texts

    @pytest.mark.parametrize("wrong", ["a", {"role": "user"}, 3, [3], [("boss", "a")], None])
    def test_what_is_no_history_is_refused(self, wrong: object) -> None:
        with pytest.raises(InvalidArgumentError):
            turns_of(wrong)  # type: ignore[arg-type]

    def test_what_has_no_text_is_empty(self) -> None:
        assert text_of(None) == text_of(b"a") == text_of([PICTURE, 3]) == ""
        assert text_of([{"type": "text", "text": None}]) == ""


class TestFront:
    def test_a_middleware_is_used_as_it_is(self) -> None:
        with Middleware(FakeRewriter(), Policy(mode="retrieval", timeout=30)) as middleware:
            front = Front.around(middleware, None)
            assert front.middleware is middleware
            result = front.rewrite(["a"], "b")
            assert (result.text, front.message(result)) == ("b a", "b")

    def test_the_policy_of_the_adapter_goes_before_that_of_the_middleware(self) -> None:
        with Middleware(FakeRewriter(), Policy(enabled=False)) as middleware:
            front = Front.around(middleware, Policy(timeout=30))
            result = front.rewrite(["a"], "b")
            assert (result.text, front.message(result)) == ("b a", "b a")
            assert front.rewrite(["a"], "b", enabled=False).skip_reason == "disabled"


def test_models_are_loaded_when_the_adapter_is_made(tiny_bundle_dir: Path) -> None:
    # Else the first utterance would wait for them, and time out.
    loaded: list[tuple[str, ...]] = []

    class Watched(Rewriter):
        def warm_up(self, *languages: str) -> None:
            super().warm_up(*languages)
            loaded.append(languages)

    with Watched(tiny_bundle_dir) as rewriter:
        Front.around(rewriter, None)
        assert loaded == [()]
        Front.around(Middleware(rewriter), None)
        assert loaded == [()]
