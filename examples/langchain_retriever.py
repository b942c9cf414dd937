"""The chain of a retrieval bot in LangChain, with the rewriter in the place of a chat model.

Needs: pip install langchain-core

`history_aware_retriever(rewriter, retriever)` stands where `create_history_aware_retriever(llm,
retriever, prompt)` stood. The vector store is real, its embeddings count words, and the chat model
is the fake one of langchain-core, so that this runs anywhere.

$ python examples/langchain_retriever.py
as asked:  The Nova phone comes with a warranty.
rewritten: The Atlas tablet comes with a warranty of three years.
answer: Yes, three years.
the search was told: Does it come with a warranty? -> Does the Atlas tablet come with a warranty?
"""

from __future__ import annotations

import zlib
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from queen_adapters.langchain import history_aware_retriever

from queen_sdk import Policy, Rewriter
from queen_sdk.tokenization import tokenize

DOCUMENTS = [
    "The Nova phone comes with a warranty.",
    "The Nova phone costs 399 euros.",
    "The Atlas tablet comes with a warranty of three years.",
    "The Atlas tablet costs 549 euros.",
]
QUESTION = {
    "input": "Does it come with a warranty?",
    "chat_history": [
        HumanMessage("What does the Atlas tablet cost?"),
        AIMessage("The Atlas tablet costs 549 euros."),
    ],
}
PATIENT = Policy(timeout=10)
"""Instead of half a second, since examples are also run on busy machines."""


class WordCounts(Embeddings):
    """Embeds a text as how often each of its words occurs."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed several texts."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed one."""
        counts = [0.0] * 4096
        for token in tokenize(text.lower(), marks=False):
            counts[zlib.crc32(token.text.rstrip("s").encode()) % len(counts)] += 1
        return counts


class Watching(BaseCallbackHandler):
    """Reads the rewrite from the metadata of the search's run."""

    def on_retriever_start(self, serialized: Any, query: str, **run: Any) -> None:
        """Keep what the search is told."""
        self.told = run["metadata"]["queen"]


def main() -> None:
    """Ask a follow-up question."""
    store = InMemoryVectorStore(WordCounts())
    store.add_texts(DOCUMENTS)
    retriever = store.as_retriever(search_kwargs={"k": 1})
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{context}"), ("placeholder", "{chat_history}"), ("human", "{input}")]
    )
    model = FakeListChatModel(responses=["Yes, three years."])
    with Rewriter() as rewriter:
        search = history_aware_retriever(rewriter, retriever, policy=PATIENT)
        off = {"configurable": {"queen_enabled": False}}
        print("as asked: ", search.invoke(QUESTION, off)[0].page_content)
        print("rewritten:", search.invoke(QUESTION)[0].page_content)

        watching = Watching()
        chain = RunnablePassthrough.assign(context=search) | prompt | model | StrOutputParser()
        print("answer:", chain.invoke(QUESTION, {"callbacks": [watching]}))
    told = watching.told
    print("the search was told:", told["original"], "->", told["text"])


if __name__ == "__main__":
    main()
