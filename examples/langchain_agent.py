"""A LangChain agent whose model reads the rewritten question; the conversation keeps the user's.

Needs: pip install langchain

The chat model is a fake one that repeats what it was asked, so that this runs anywhere.

$ python examples/langchain_agent.py
> What does the Atlas tablet cost?
You asked: What does the Atlas tablet cost?
> Does it come with a warranty?
You asked: Does the Atlas tablet come with a warranty?
in the conversation: Does it come with a warranty?
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from queen_adapters.langchain_agents import RewriteMiddleware

from queen_sdk import Policy, Rewriter

PATIENT = Policy(timeout=10)
"""Instead of half a second, since examples are also run on busy machines."""


class Parrot(FakeListChatModel):
    """A chat model that says what it was asked."""

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        return f"You asked: {messages[-1].text}"


def main() -> None:
    """Have a conversation of two turns."""
    with Rewriter() as rewriter:
        agent = create_agent(
            Parrot(responses=[""]),
            middleware=[RewriteMiddleware(rewriter, policy=PATIENT)],
            checkpointer=InMemorySaver(),
        )
        thread = {"configurable": {"thread_id": "anna"}}
        for question in ("What does the Atlas tablet cost?", "Does it come with a warranty?"):
            state = agent.invoke({"messages": [HumanMessage(question)]}, thread)
            print(">", question)
            print(state["messages"][-1].text)
    print("in the conversation:", state["messages"][-2].text)


if __name__ == "__main__":
    main()
