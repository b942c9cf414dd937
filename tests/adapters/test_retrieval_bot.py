"""The retrieval bot of the examples: what it knows, what it finds, what rewriting gains."""

from __future__ import annotations

import io
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from queen_adapters.retrieval import RewritingRetriever

from queen_sdk import Policy, Rewriter
from queen_sdk.bundle import embedded_bundles
from queen_sdk.testing import FakeRewriter

PATH = Path(__file__).parent.parent.parent / "examples" / "retrieval_bot.py"
LEAST_GAIN = 15
"""In points of top-1 accuracy, in every language."""


@pytest.fixture(scope="module")
def bot() -> dict[str, Any]:
    """Return the names of the example."""
    return runpy.run_path(str(PATH))


@pytest.mark.parametrize("language", ["en", "zh"])
class TestData:
    def test_there_are_a_hundred_answers_and_follow_ups(
        self, bot: dict[str, Any], language: str
    ) -> None:
        answers, questions = bot["read"](language, "answers"), bot["read"](language, "questions")
        assert len(answers) >= 100
        assert len(questions) == 100
        assert len({entry["id"] for entry in answers}) == len(answers)
        assert len({entry["question"] for entry in answers}) == len(answers)

    def test_dialogues_alternate_and_name_known_answers(
        self, bot: dict[str, Any], language: str
    ) -> None:
        answers = {entry["id"]: entry["answer"] for entry in bot["read"](language, "answers")}
        for question in bot["read"](language, "questions"):
            assert question["answer"] in answers
            turns = bot["dialogue"](question["history"], answers)
            assert [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2)
            assert len(turns) in (2, 4)

    @pytest.mark.parametrize("engine", ["fts5", "bm25s"])
    def test_a_known_question_finds_its_answer(
        self, bot: dict[str, Any], language: str, engine: str
    ) -> None:
        if engine == "bm25s":
            pytest.importorskip("bm25s", reason="bm25s is not installed")
        entries = bot["read"](language, "answers")
        search = bot["ENGINES"][engine](entries)
        assert [search(entry["question"]) for entry in entries] == [e["id"] for e in entries]
        assert search("...") == search("xyzzy") == ""


@pytest.mark.skipif(
    not {"en", "zh"} <= set(embedded_bundles()), reason="this copy has no embedded bundles"
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_rewriting_gains(bot: dict[str, Any], language: str) -> None:
    search = bot["fts5"](bot["read"](language, "answers"))
    with Rewriter(language) as rewriter:
        retriever = RewritingRetriever(search, rewriter, policy=Policy(timeout=None))
        _, (asked, rewritten, by_hand) = bot["measure"](language, retriever, show=False)
    assert rewritten - asked >= LEAST_GAIN
    assert by_hand >= 95


def test_one_can_talk_to_it(
    bot: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fake puts the last answer behind the question, so the subject is known."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("张医生哪天出诊？\n挂号费多少？\n"))
    search = bot["fts5"](bot["read"]("zh", "answers"))
    bot["chat"]("zh", RewritingRetriever(search, FakeRewriter(), policy=Policy(timeout=30)))
    assert capsys.readouterr().out.splitlines() == [
        "张医生周一、周二和周四出诊。",
        "  (挂号费多少？ 张医生周一、周二和周四出诊。)",
        "张医生周一、周二和周四出诊。",
    ]
