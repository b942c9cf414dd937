"""Retrieval bots: any search behind a rewriter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from queen_adapters.retrieval import Retrieved, RewritingRetriever

from queen_sdk import Middleware, Policy, RewriteResult, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.policy import Mode
from queen_sdk.testing import (
    ANSWER,
    ENGLISH,
    AdapterContract,
    Content,
    Driver,
    FakeRewriter,
    Observed,
)

PATIENT = Policy(timeout=30)


def find(query: str) -> tuple[str, str]:
    return query, ANSWER


async def afind(query: str) -> tuple[str, str]:
    await asyncio.sleep(0)
    return query, ANSWER


class Bot:
    """A retrieval bot: its search gives its query back beside the answer."""

    def __init__(self, retriever: RewritingRetriever[tuple[str, str]]) -> None:
        self.retriever = retriever

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        kept = list(history)
        assert isinstance(utterance, str)
        return seen(self.retriever.search(kept, utterance, enabled=enabled), kept)

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        kept = list(history)
        assert isinstance(utterance, str)
        return seen(await self.retriever.asearch(kept, utterance, enabled=enabled), kept)


def seen(found: Retrieved[tuple[str, str]], history: list[Turn]) -> Observed:
    query, answer = found.results
    assert query == found.rewrite.text
    return Observed(
        used=query,
        original=found.rewrite.original,
        shown=answer,
        history=tuple(history),
        edits=found.rewrite.edits,
        skip_reason=found.rewrite.skip_reason,
    )


class TestRetriever(AdapterContract):
    multimodal = False

    def make(self, rewriter: Rewrites) -> Driver:
        return Bot(RewritingRetriever(find, rewriter, policy=PATIENT))


class TestRetrieverWithAnAsyncSearch(AdapterContract):
    multimodal = False

    def make(self, rewriter: Rewrites) -> Driver:
        return Bot(RewritingRetriever(find, rewriter, asearch=afind, policy=PATIENT))


class TestModes:
    @pytest.mark.parametrize(
        ("mode", "message"), [("replace", f"And in July? {ENGLISH[-1].text}"), ("retrieval", None)]
    )
    def test_the_mode_decides_on_the_message_and_not_on_the_query(
        self, mode: Mode, message: str | None
    ) -> None:
        retriever = RewritingRetriever(find, FakeRewriter(), policy=Policy(mode=mode, timeout=30))
        found = retriever.search(ENGLISH, "And in July?")
        assert found.results[0] == f"And in July? {ENGLISH[-1].text}"
        assert found.message == (message or "And in July?")

    def test_the_mode_of_a_middleware_holds(self) -> None:
        with Middleware(FakeRewriter(), Policy(mode="retrieval", timeout=30)) as middleware:
            found = RewritingRetriever(find, middleware).search(ENGLISH, "And in July?")
        assert found.message == "And in July?"


class TestSearches:
    def test_a_coroutine_function_is_awaited(self) -> None:
        retriever: RewritingRetriever[Any] = RewritingRetriever(
            afind, FakeRewriter(), policy=PATIENT
        )
        found = asyncio.run(retriever.asearch(["a"], "b"))
        assert found.results == ("b a", ANSWER)
        with pytest.raises(InvalidArgumentError, match="asearch"):
            retriever.search(["a"], "b")

    def test_what_the_search_raises_is_raised(self) -> None:
        def broken(query: str) -> str:
            raise ConnectionError("no engine")

        retriever = RewritingRetriever(broken, FakeRewriter(), policy=PATIENT)
        with pytest.raises(ConnectionError):
            retriever.search(["a"], "b")
        with pytest.raises(ConnectionError):
            asyncio.run(retriever.asearch(["a"], "b"))

    @pytest.mark.parametrize(("history", "utterance"), [("a", "b"), ([3], "b"), (["a"], None)])
    def test_misuse_is_loud(self, history: Any, utterance: Any) -> None:
        with pytest.raises(InvalidArgumentError):
            RewritingRetriever(find, FakeRewriter()).search(history, utterance)

    def test_the_result_is_that_of_the_rewriter(self) -> None:
        found = RewritingRetriever(find, FakeRewriter(), policy=PATIENT).search(["a"], "b")
        assert isinstance(found.rewrite, RewriteResult)
        assert found.rewrite == FakeRewriter().rewrite(["a"], "b")
