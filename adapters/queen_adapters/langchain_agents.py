"""LangChain 1.x agents: the model reads the rewritten question, the conversation keeps the user's.

Switch one call off by its config: `{"configurable": {"queen_enabled": False}}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from queen_adapters.frame import Front, require
from queen_sdk import Policy
from queen_sdk.asking import Rewrites

require("langchain", extra="langchain", at_least="1.4", below="2")

from langchain.agents.middleware import (  # noqa: E402
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.types import OmitFromInput  # noqa: E402
from langchain_core.messages import AnyMessage, HumanMessage  # noqa: E402
from langchain_core.runnables import RunnableConfig  # noqa: E402
from langgraph.runtime import Runtime  # noqa: E402
from typing_extensions import NotRequired  # noqa: E402

_NO_CONFIG: RunnableConfig = {}


class RewriteState(AgentState[Any]):
    """The state of an agent, and what was made of the user's last words."""

    queen_rewrite: NotRequired[Annotated[dict[str, Any] | None, OmitFromInput]]  # type: ignore[valid-type]
    """`RewriteResult.to_dict()`; None if the last message is not a plain text of the user."""


class RewriteMiddleware(AgentMiddleware[RewriteState, Any]):
    """Rewrites once per turn; for `create_agent(…, middleware=[RewriteMiddleware(rewriter)])`.

    In `replace` mode the model reads the rewrite, at every step of the turn; the messages of the
    state stay as they are. In `retrieval` mode it reads the user's words, and tools take their
    query from `state["queen_rewrite"]["text"]`.
    """

    state_schema = RewriteState

    def __init__(self, rewriter: Rewrites, *, policy: Policy | None = None) -> None:
        """Take a `Rewriter`, or a `Middleware` with settings of its own."""
        super().__init__()
        self._front = Front.around(rewriter, policy)

    def before_agent(
        self, state: RewriteState, runtime: Runtime[Any], config: RunnableConfig = _NO_CONFIG
    ) -> dict[str, Any]:
        """Rewrite the last message and keep the result beside the messages."""
        *history, last = state["messages"]
        if not _plain(last):
            return {"queen_rewrite": None}
        result = self._front.rewrite(history, str(last.content), enabled=_enabled(config))
        return {"queen_rewrite": result.to_dict()}

    async def abefore_agent(
        self, state: RewriteState, runtime: Runtime[Any], config: RunnableConfig = _NO_CONFIG
    ) -> dict[str, Any]:
        """Do what `before_agent` does, without blocking the event loop."""
        *history, last = state["messages"]
        if not _plain(last):
            return {"queen_rewrite": None}
        result = await self._front.arewrite(history, str(last.content), enabled=_enabled(config))
        return {"queen_rewrite": result.to_dict()}

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Let the model read the rewrite, for this call only."""
        return handler(self._rewritten(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Let the model read the rewrite, for this call only."""
        return await handler(self._rewritten(request))

    def _rewritten(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state: dict[str, Any] = {**request.state}
        rewrite = state.get("queen_rewrite")
        if self._front.mode != "replace" or not rewrite or not rewrite["changed"]:
            return request
        messages = list(request.messages)
        said = max((k for k, m in enumerate(messages) if isinstance(m, HumanMessage)), default=None)
        if said is None or messages[said].content != rewrite["original"]:
            return request  # another middleware changed it
        messages[said] = messages[said].model_copy(update={"content": rewrite["text"]})
        return request.override(messages=messages)


def _plain(message: AnyMessage) -> bool:
    return isinstance(message, HumanMessage) and isinstance(message.content, str)


def _enabled(config: RunnableConfig) -> bool:
    return bool((config.get("configurable") or {}).get("queen_enabled", True))
