"""LangChain: runnables and retrievers, with a real vector store and a fake chat model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from queen_adapters.frame import turns_of
from queen_adapters.langchain import (
    RewritingRetriever,
    history_aware_retriever,
    query_rewriter,
    utterance_rewriter,
)

from queen_sdk import Middleware, Policy, RewriteResult, Turn
from queen_sdk.asking import Rewrites
from queen_sdk.errors import InvalidArgumentError
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
    make: dict[str, Callable[[str], BaseMessage]] = {
        "user": HumanMessage,
        "assistant": AIMessage,
        "system": SystemMessage,
        "tool": lambda text: ToolMessage(text, tool_call_id="1"),
    }
    return [make[turn.role](turn.text) for turn in history]


QUESTION = {"input": "And in July?", "chat_history": as_messages(ENGLISH)}
OFF: RunnableConfig = {"configurable": {"queen_enabled": False}}


class Watching(BaseCallbackHandler):
    """Notes what is searched for, and the metadata and tags of the runs."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.metadata: list[dict[str, Any]] = []
        self.tags: list[list[str]] = []
        self.names: list[str] = []

    def on_retriever_start(
        self, serialized: Any, query: str, *, tags: Any = None, metadata: Any = None, **rest: Any
    ) -> None:
        self.queries.append(query)
        self.metadata.append(metadata)
        self.tags.append(tags)

    def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> None:
        self.names.append(rest.get("name", ""))


def vector_store(*texts: str) -> BaseRetriever:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_texts(texts or [ANSWER])
    return store.as_retriever(search_kwargs={"k": 1})


class Asking:
    """Asks a runnable that takes `{"input", "chat_history"}` and gives documents or a text."""

    def __init__(self, chain: Runnable[Any, Any]) -> None:
        self.chain = chain

    def prepare(
        self, history: Sequence[Turn], utterance: Content, enabled: bool
    ) -> tuple[Watching, list[BaseMessage], RunnableConfig]:
        watching = Watching()
        config: RunnableConfig = {"callbacks": [watching], **({} if enabled else OFF)}
        return watching, as_messages(history), config

    def seen(self, watching: Watching, messages: list[BaseMessage], shown: Any) -> Observed:
        if not isinstance(shown, str):
            shown = "".join(document.page_content for document in shown)
        queen = watching.metadata[-1]["queen"]
        return Observed(
            used=watching.queries[-1],
            original=queen["original"],
            shown=shown,
            history=tuple(turns_of(messages)),
            edits=queen["edits"],
            skip_reason=queen["skip_reason"],
        )

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        watching, messages, config = self.prepare(history, utterance, enabled)
        shown = self.chain.invoke({"input": utterance, "chat_history": messages}, config)
        return self.seen(watching, messages, shown)

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        watching, messages, config = self.prepare(history, utterance, enabled)
        shown = await self.chain.ainvoke({"input": utterance, "chat_history": messages}, config)
        return self.seen(watching, messages, shown)


class TestHistoryAwareRetriever(AdapterContract):
    multimodal = False

    def make(self, rewriter: Rewrites) -> Driver:
        return Asking(history_aware_retriever(rewriter, vector_store(), policy=PATIENT))


class Streaming(Asking):
    """Asks a chain as a chat window does, piece by piece."""

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        watching, messages, config = self.prepare(history, utterance, enabled)
        pieces = list(self.chain.stream({"input": utterance, "chat_history": messages}, config))
        assert len(pieces) > 1
        return self.seen(watching, messages, "".join(pieces))

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        watching, messages, config = self.prepare(history, utterance, enabled)
        asked = {"input": utterance, "chat_history": messages}
        pieces = [piece async for piece in self.chain.astream(asked, config)]
        return self.seen(watching, messages, "".join(pieces))


class TestRetrievalAugmentedChain(AdapterContract):
    """The usual chain: search, prompt, chat model, streamed text."""

    multimodal = False

    def make(self, rewriter: Rewrites) -> Driver:
        search = history_aware_retriever(rewriter, vector_store(), policy=PATIENT)
        prompt = ChatPromptTemplate.from_messages(
            [("system", "{context}"), ("placeholder", "{chat_history}"), ("human", "{input}")]
        )
        model = FakeListChatModel(responses=[ANSWER])
        chain: Runnable[Any, str] = (
            RunnablePassthrough.assign(context=search) | prompt | model | StrOutputParser()
        )
        return Streaming(chain)


class Remembering(Asking):
    """Asks the wrapped retriever, whose history is kept by conversation."""

    def __init__(self, rewriter: Rewrites) -> None:
        self.kept: dict[str, list[BaseMessage]] = {}

        def provide(config: RunnableConfig) -> Any:
            return self.kept[config["configurable"]["thread_id"]]

        async def aprovide(config: RunnableConfig) -> Any:
            await asyncio.sleep(0)
            return provide(config)

        self.retriever = RewritingRetriever(
            retriever=vector_store(), rewriter=rewriter, history=provide, policy=PATIENT
        )
        self.aretriever = RewritingRetriever(
            retriever=vector_store(), rewriter=rewriter, history=aprovide, policy=PATIENT
        )

    def remember(
        self, conversation: str, history: Sequence[Turn], enabled: bool
    ) -> tuple[Watching, list[BaseMessage], RunnableConfig]:
        watching, self.kept[conversation], config = self.prepare(history, "", enabled)
        config["configurable"] = {**config.get("configurable", {}), "thread_id": conversation}
        return watching, self.kept[conversation], config

    def ask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        watching, messages, config = self.remember(conversation, history, enabled)
        assert isinstance(utterance, str)
        return self.seen(watching, messages, self.retriever.invoke(utterance, config))

    async def aask(
        self,
        conversation: str,
        history: Sequence[Turn],
        utterance: Content,
        *,
        enabled: bool = True,
    ) -> Observed:
        watching, messages, config = self.remember(conversation, history, enabled)
        assert isinstance(utterance, str)
        return self.seen(watching, messages, await self.aretriever.ainvoke(utterance, config))


class TestRewritingRetriever(AdapterContract):
    multimodal = False

    def make(self, rewriter: Rewrites) -> Driver:
        return Remembering(rewriter)


class TestRunnables:
    def test_the_result_or_its_text_is_given(self) -> None:
        result = utterance_rewriter(FakeRewriter(), policy=PATIENT).invoke(QUESTION)
        assert isinstance(result, RewriteResult)
        assert (result.text, result.original) == (REWRITTEN, "And in July?")
        assert query_rewriter(FakeRewriter(), policy=PATIENT).invoke(QUESTION) == REWRITTEN

    def test_a_batch_is_answered_in_its_order(self) -> None:
        chain = query_rewriter(FakeRewriter(), policy=PATIENT)
        asked = [{"input": f"{k}?", "chat_history": [("human", f"turn {k}")]} for k in range(9)]
        expected = [f"{k}? turn {k}" for k in range(9)]
        assert chain.batch(asked, {"max_concurrency": 3}) == expected
        assert asyncio.run(chain.abatch(asked)) == expected

    def test_one_of_a_batch_can_be_switched_off(self) -> None:
        chain = query_rewriter(FakeRewriter(), policy=PATIENT)
        assert chain.batch([QUESTION, QUESTION], [OFF, {}]) == ["And in July?", REWRITTEN]

    def test_it_pipes_into_a_retriever(self) -> None:
        chain = query_rewriter(FakeRewriter(), policy=PATIENT) | vector_store(REWRITTEN, "other")
        assert [found.page_content for found in chain.invoke(QUESTION)] == [REWRITTEN]

    @pytest.mark.parametrize("history", [[], (), None, ""])
    def test_there_need_not_be_a_history(self, history: Any) -> None:
        chain = query_rewriter(FakeRewriter(), policy=PATIENT)
        assert chain.invoke({"input": "a", "chat_history": history}) == "a"
        assert chain.invoke({"input": "a"}) == "a"

    @pytest.mark.parametrize("wrong", ["a", {"question": "a"}, {"input": [{"type": "text"}]}])
    def test_misuse_is_loud(self, wrong: Any) -> None:
        chain = history_aware_retriever(FakeRewriter(), vector_store())
        with pytest.raises(InvalidArgumentError, match="chat_history"):
            chain.invoke(wrong)

    def test_callbacks_tags_and_metadata_are_passed_on(self) -> None:
        chain = history_aware_retriever(FakeRewriter(), vector_store(), policy=PATIENT)
        for call in (chain.invoke, lambda *a: asyncio.run(chain.ainvoke(*a))):
            watching = Watching()
            call(
                QUESTION,
                {"callbacks": [watching], "tags": ["shop"], "metadata": {"user": "anna"}},
            )
            assert watching.names == ["chat_retriever_chain", "rewrite_utterance"]
            assert watching.queries == [REWRITTEN]
            assert "shop" in watching.tags[0]
            assert watching.metadata[0]["user"] == "anna"
            assert watching.metadata[0]["queen"]["edits"][0]["sources"][0]["turn"] == 1

    def test_a_middleware_of_ones_own_is_used(self) -> None:
        events = []
        with Middleware(FakeRewriter(), PATIENT, after=events.append) as middleware:
            assert query_rewriter(middleware).invoke(QUESTION) == REWRITTEN
        assert [event.result.text for event in events] == [REWRITTEN]


class TestDropIn:
    def test_it_finds_what_the_chain_with_a_chat_model_finds(self) -> None:
        """A model that answers with the rewrite searches for the same."""
        chains = pytest.importorskip("langchain_classic.chains", reason="no langchain_classic")
        retriever = vector_store(REWRITTEN, "And in July?", "other")
        prompt = ChatPromptTemplate.from_messages(
            [("placeholder", "{chat_history}"), ("human", "{input}")]
        )
        theirs = chains.create_history_aware_retriever(
            FakeListChatModel(responses=[REWRITTEN]), retriever, prompt
        )
        ours = history_aware_retriever(FakeRewriter(), retriever, policy=PATIENT)
        for question in (QUESTION, {"input": "And in July?", "chat_history": []}):
            found = [document.page_content for document in ours.invoke(question)]
            assert found == [document.page_content for document in theirs.invoke(question)]


class TestHistoryProvider:
    def make(self, provide: Callable[[RunnableConfig], Any]) -> RewritingRetriever:
        return RewritingRetriever(
            retriever=vector_store(), rewriter=FakeRewriter(), history=provide, policy=PATIENT
        )

    def test_if_it_fails_the_query_is_used_as_it_is(self) -> None:
        def broken(config: RunnableConfig) -> Any:
            raise ConnectionError("no database")

        for call in (self.make(broken).invoke, self.make(broken).ainvoke):
            watching = Watching()
            found = call("And in July?", {"callbacks": [watching]})
            found = asyncio.run(found) if asyncio.iscoroutine(found) else found
            assert [document.page_content for document in found] == [ANSWER]
            assert watching.queries == ["And in July?"] * 2

    def test_it_may_return_any_form_of_history(self) -> None:
        watching = Watching()
        retriever = self.make(lambda config: [{"role": "user", "content": "a"}, "b"])
        documents: list[Document] = retriever.invoke("c", {"callbacks": [watching]})
        assert len(documents) == 1
        assert watching.queries == ["c", "c b"]

    def test_inside_a_chain_it_gets_the_config_of_the_chain(self) -> None:
        threads = []

        def provide(config: RunnableConfig) -> list[str]:
            threads.append(config["configurable"]["thread_id"])
            return ["a"]

        chain: Runnable[str, Any] = RunnablePassthrough() | self.make(provide)
        chain.invoke("b", {"configurable": {"thread_id": "anna"}})
        asyncio.run(chain.ainvoke("b", {"configurable": {"thread_id": "otto"}}))
        assert threads == ["anna", "otto"]
