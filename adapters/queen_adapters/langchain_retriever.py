"""LangChain: a retriever that finds the history of a bare query itself, and rewrites it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from queen_adapters.langchain import Question, history_aware_retriever  # checks the version
from queen_sdk import Policy

# isort: split
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config, patch_config
from pydantic import PrivateAttr

_LOG = logging.getLogger("queen_adapters.langchain")
_CONFIG: ContextVar[RunnableConfig] = ContextVar("queen_adapters.langchain.config")


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


def _no_history(error: Exception) -> tuple[()]:
    _LOG.warning("the history of a query could not be had: %s", type(error).__name__)
    return ()
