"""LangChain agents: real ones, with a fake chat model."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="LangChain is not installed")

from typing import Annotated

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from queen_adapters.frame import turns_of
from queen_adapters.langchain_agents import RewriteMiddleware

from queen_sdk import Policy, Turn
from queen_sdk.asking import Rewrites
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
REWRITTEN = f"And in July? {ENGLISH[-1].text}"


def as_messages(history: Sequence[Turn]) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for turn in history:
        if turn.role == "tool":
            messages.append(ToolMessage(turn.text, tool_call_id="1"))
        elif turn.role == "assistant":
            messages.append(AIMessage(turn.text))
        else:
            kind = HumanMessage if turn.role == "user" else SystemMessage
            messages.append(kind(turn.text))
    return messages


class Reading(BaseCallbackHandler):
    """Notes what the chat model is given."""

    def __init__(self) -> None:
        self.given: list[list[BaseMessage]] = []

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], **rest: Any
    ) -> None:
        self.given += messages


class Agent:
    """An agent without tools, streamed token by token as a chat window does it."""

    def __init__(self, rewriter: Rewrites, **settings: Any) -> None:
        model = FakeListChatModel(responses=[ANSWER])
        middleware = RewriteMiddleware(rewriter, policy=PATIENT)
        self.agent = create_agent(model, [], middleware=[middleware], **settings)

    def prepare(
        self, history: Sequence[Turn], utterance: Content, enabled: bool
    ) -> tuple[Reading, dict[str, Any], RunnableConfig]:
        said = utterance if isinstance(utterance, str) else [dict(part) for part in utterance]
        messages = [*as_messages(history), HumanMessage(said)]  # type: ignore[arg-type]
        reading = Reading()
        config: RunnableConfig = {"callbacks": [reading]}
        if not enabled:
            config["configurable"] = {"queen_enabled": False}
        return reading, {"messages": messages}, config

    def seen(self, reading: Reading, events: list[Any]) -> Observed:
        pieces = [value[0] for mode, value in events if mode == "messages"]
        state = [value for mode, value in events if mode == "values"][-1]
        *before, said, _ = state["messages"]
        *given, asked = reading.given[-1]
        assert turns_of(given) == turns_of(before)
        queen = state["queen_rewrite"] or {}
        return Observed(
            used=asked.content,  # type: ignore[arg-type]
            original=queen.get("original", said.content),
            shown="".join(p.text for p in pieces if isinstance(p, AIMessageChunk)),
            history=tuple(turns_of(given)),
            edits=queen.get("edits", ()),
            skip_reason=queen.get("skip_reason"),
        )

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        reading, asked, config = self.prepare(history, utterance, enabled)
        events = list(self.agent.stream(asked, config, stream_mode=["messages", "values"]))
        return self.seen(reading, events)

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        reading, asked, config = self.prepare(history, utterance, enabled)
        stream = self.agent.astream(asked, config, stream_mode=["messages", "values"])
        return self.seen(reading, [event async for event in stream])


class TestAgent(AdapterContract):
    def make(self, rewriter: Rewrites) -> Driver:
        return Agent(rewriter)


class ToolModel(GenericFakeChatModel):
    """A chat model that calls the tool first, and then answers."""

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        return self


@tool
def search(query: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Find something."""
    return str(state["queen_rewrite"]["text"])


def tool_agent(rewriter: Rewrites, policy: Policy) -> Any:
    call = {"name": "search", "args": {"query": "July"}, "id": "1"}
    answers = itertools.cycle([AIMessage("", tool_calls=[call]), AIMessage(ANSWER)])
    model = ToolModel(messages=answers)
    return create_agent(model, [search], middleware=[RewriteMiddleware(rewriter, policy=policy)])


ASKED = {"messages": [*as_messages(ENGLISH), HumanMessage("And in July?")]}


def said_by_user(messages: Sequence[BaseMessage]) -> list[Any]:
    return [message.content for message in messages if isinstance(message, HumanMessage)]


class TestLoop:
    @pytest.mark.parametrize("way", ["sync", "async"])
    def test_every_step_of_a_turn_reads_the_one_rewrite(self, way: str) -> None:
        rewriter, reading = FakeRewriter(), Reading()
        agent = tool_agent(rewriter, PATIENT)
        config = {"callbacks": [reading]}
        if way == "sync":
            state = agent.invoke(ASKED, config)
        else:
            state = asyncio.run(agent.ainvoke(ASKED, config))
        assert len(rewriter.calls) == 1
        assert [said_by_user(given)[-1] for given in reading.given] == [REWRITTEN] * 2
        assert said_by_user(state["messages"]) == [ENGLISH[0].text, "And in July?"]
        assert state["queen_rewrite"]["edits"]

    def test_in_retrieval_mode_only_tools_get_the_rewrite(self) -> None:
        reading = Reading()
        agent = tool_agent(FakeRewriter(), Policy(mode="retrieval", timeout=30))
        state = agent.invoke(ASKED, {"callbacks": [reading]})
        assert [said_by_user(given)[-1] for given in reading.given] == ["And in July?"] * 2
        found = [m.content for m in state["messages"] if isinstance(m, ToolMessage)]
        assert found == [REWRITTEN]

    def test_a_kept_conversation_keeps_the_users_words(self) -> None:
        rewriter = FakeRewriter()
        agent = Agent(rewriter, checkpointer=InMemorySaver()).agent
        config: RunnableConfig = {"configurable": {"thread_id": "anna"}}
        for said in ("When does it open?", "And in July?", "And in May?"):
            state = agent.invoke({"messages": [HumanMessage(said)]}, config)
        assert said_by_user(state["messages"]) == [
            "When does it open?",
            "And in July?",
            "And in May?",
        ]
        assert state["queen_rewrite"]["text"] == f"And in May? {ANSWER}"
        history = [turn.text for turn in rewriter.calls[-1][0]]
        assert history == ["When does it open?", ANSWER, "And in July?", ANSWER]

    def test_a_rewrite_of_an_earlier_turn_is_not_used_again(self) -> None:
        agent = Agent(FakeRewriter(), checkpointer=InMemorySaver()).agent
        reading = Reading()
        config: RunnableConfig = {
            "configurable": {"thread_id": "anna"},
            "callbacks": [reading],
        }
        agent.invoke(ASKED, config)
        picture = {"type": "image_url", "image_url": {"url": "data:,"}}
        state = agent.invoke({"messages": [HumanMessage([picture])]}, config)
        assert state["queen_rewrite"] is None
        assert said_by_user(reading.given[-1]) == [ENGLISH[0].text, "And in July?", [picture]]

    def test_what_another_middleware_changed_is_left_alone(self) -> None:
        from langchain.agents.middleware import wrap_model_call

        @wrap_model_call
        def shout(request: Any, handler: Any) -> Any:
            last = request.messages[-1]
            new = last.model_copy(update={"content": last.content.upper()})
            return handler(request.override(messages=[*request.messages[:-1], new]))

        reading = Reading()
        ours = RewriteMiddleware(FakeRewriter(), policy=PATIENT)
        model = FakeListChatModel(responses=[ANSWER])
        agent = create_agent(model, [], middleware=[shout, ours])
        agent.invoke(ASKED, {"callbacks": [reading]})  # type: ignore[arg-type]
        assert said_by_user(reading.given[-1])[-1] == "AND IN JULY?"
