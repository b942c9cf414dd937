"""LangChain: runnables that rewrite the question before they search.

A retriever that finds the history itself, and a middleware for agents, are in modules of their own
and can be imported from here: `RewritingRetriever`, `RewriteMiddleware`.

Switch one call off by its config: `{"configurable": {"queen_enabled": False}}`. The rewrite and its
edits are in the metadata of the search's run, under `queen`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from queen_adapters.frame import Front, require
from queen_sdk import Policy, RewriteResult
from queen_sdk.asking import Rewrites
from queen_sdk.errors import InvalidArgumentError

require("langchain-core", extra="langchain", at_least="1.0", below="2")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import RetrieverLike  # noqa: E402
from langchain_core.runnables import (  # noqa: E402
    Runnable,
    RunnableConfig,
    RunnableLambda,
)

Question = dict[str, Any]
"""`input`, and the messages before it as `chat_history`, as in create_history_aware_retriever."""

_ELSEWHERE = {
    "RewritingRetriever": "queen_adapters.langchain_retriever",
    "RewriteMiddleware": "queen_adapters.langchain_agents",
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE[name]), name)


def utterance_rewriter(
    rewriter: Rewrites, *, policy: Policy | None = None
) -> Runnable[Question, RewriteResult]:
    """Return a runnable from `{"input", "chat_history"}` to a `RewriteResult`.

    Args:
        rewriter: A `Rewriter`, or a `Middleware` with settings of its own.
        policy: When and how to rewrite; None for that of the middleware.
    """
    front = Front.around(rewriter, policy)

    def rewrite(question: Question, config: RunnableConfig) -> RewriteResult:
        history, utterance = _read(question)
        return front.rewrite(history, utterance, enabled=_enabled(config))

    async def arewrite(question: Question, config: RunnableConfig) -> RewriteResult:
        history, utterance = _read(question)
        return await front.arewrite(history, utterance, enabled=_enabled(config))

    return RunnableLambda(rewrite, afunc=arewrite, name="rewrite_utterance")


def query_rewriter(rewriter: Rewrites, *, policy: Policy | None = None) -> Runnable[Question, str]:
    """Return a runnable from `{"input", "chat_history"}` to the text to search for."""
    return utterance_rewriter(rewriter, policy=policy) | RunnableLambda(_text)


def history_aware_retriever(
    rewriter: Rewrites, retriever: RetrieverLike, *, policy: Policy | None = None
) -> Runnable[Question, list[Document]]:
    """Return what `create_history_aware_retriever(llm, retriever, prompt)` returns, without an LLM.

    It takes `{"input", "chat_history"}` and gives documents.
    """
    rewriting = utterance_rewriter(rewriter, policy=policy)

    def search(question: Question, config: RunnableConfig) -> list[Document]:
        result = rewriting.invoke(question, config)
        return retriever.invoke(result.text, _told(config, result))

    async def asearch(question: Question, config: RunnableConfig) -> list[Document]:
        result = await rewriting.ainvoke(question, config)
        return await retriever.ainvoke(result.text, _told(config, result))

    return RunnableLambda(search, afunc=asearch, name="chat_retriever_chain")


def _text(result: RewriteResult) -> str:
    return result.text


def _read(input: object) -> tuple[Sequence[object], str]:
    if not isinstance(input, Mapping) or not isinstance(input.get("input"), str):
        raise InvalidArgumentError(
            "the input must be a mapping with a str as 'input' and the messages before it as "
            f"'chat_history', got {input!r:.80}"
        )
    return input.get("chat_history") or (), input["input"]


def _enabled(config: RunnableConfig) -> bool:
    return bool((config.get("configurable") or {}).get("queen_enabled", True))


def _told(config: RunnableConfig, result: RewriteResult) -> RunnableConfig:
    """Put the rewrite into the metadata of the runs below."""
    return {**config, "metadata": {**(config.get("metadata") or {}), "queen": result.to_dict()}}
