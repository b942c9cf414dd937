"""LangChain: runnables and a retriever that rewrite the question before they search.

Switch one call off by its config: `{"configurable": {"queen_enabled": False}}`. The rewrite and its
edits are in the metadata of the search's run, under `queen`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from queen_adapters.frame import Front, require
from queen_sdk import Policy, RewriteResult
from queen_sdk.asking import Rewrites
from queen_sdk.errors import InvalidArgumentError

require("langchain-core", extra="langchain", at_least="1.0", below="2")

from langchain_core.callbacks import (  # noqa: E402
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever, RetrieverLike  # noqa: E402
from langchain_core.runnables import (  # noqa: E402
    Runnable,
    RunnableConfig,
    RunnableLambda,
    ensure_config,
    patch_config,
)
from pydantic import PrivateAttr  # noqa: E402

Question = dict[str, Any]
"""`input`, and the messages before it as `chat_history`, as in create_history_aware_retriever."""

_LOG = logging.getLogger("queen_adapters.langchain")
_CONFIG: ContextVar[RunnableConfig] = ContextVar("queen_adapters.langchain.config")


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


class RewritingRetriever(BaseRetriever):
    """A retriever that finds the history of a bare query itself."""

    retriever: Any
    """Searches."""
    rewriter: Any
    """A `Rewriter`, or a `Middleware` with settings of its own."""
    history: Callable[[RunnableConfig], Any]
    """Gets the config of the call, such as its `thread_id`, and returns the messages before it.

    For async calls it may be a coroutine function. If it fails, the query is used as it is."""
    policy: Policy | None = None
    """When and how to rewrite; None for that of the middleware."""
    _chain: Runnable[Question, list[Document]] = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Put the rewriter in front."""
        self._chain = history_aware_retriever(self.rewriter, self.retriever, policy=self.policy)

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Rewrite and search."""
        token = _CONFIG.set(ensure_config(config))
        try:
            return super().invoke(input, config, **kwargs)
        finally:
            _CONFIG.reset(token)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Rewrite and search, without blocking the event loop."""
        token = _CONFIG.set(ensure_config(config))
        try:
            return await super().ainvoke(input, config, **kwargs)
        finally:
            _CONFIG.reset(token)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        config = patch_config(_CONFIG.get(), callbacks=run_manager.get_child())
        try:
            history = self.history(config)
        except Exception as error:
            history = _no_history(error)
        return self._chain.invoke({"input": query, "chat_history": history}, config)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        config = patch_config(_CONFIG.get(), callbacks=run_manager.get_child())
        try:
            history = self.history(config)
            history = await history if inspect.isawaitable(history) else history
        except Exception as error:
            history = _no_history(error)
        return await self._chain.ainvoke({"input": query, "chat_history": history}, config)


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


def _no_history(error: Exception) -> tuple[()]:
    _LOG.warning("the history of a query could not be had: %s", type(error).__name__)
    return ()
