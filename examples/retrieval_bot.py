"""A small retrieval bot, and how often it finds the right answer with and without rewriting.

The bot knows about 120 answers in each language (a museum, a shop, a bank, a clinic, …) and finds
them by BM25, the full-text search of SQLite. It is asked follow-up questions, most of which make
no sense without their history: as they were typed, rewritten, and, as the ceiling, written out by
hand. Shown is how often the first answer is the right one.

$ python examples/retrieval_bot.py
top-1 accuracy  questions  as asked  rewritten  written out by hand  gain
en                    100      49.0       93.0                 99.0  +44.0
zh                    100      52.0       96.0                100.0  +44.0

`--show` prints every question, `--chat en` or `--chat zh` lets you talk to the bot, `--engine
bm25s` searches with bm25s (`pip install bm25s`), and `--bundle` rewrites with a bundle of yours.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from queen_adapters.retrieval import RewritingRetriever

from queen_sdk import Policy, Rewriter, Turn
from queen_sdk.tokenization import tokenize

DATA = Path(__file__).parent / "retrieval_bot_data"
LANGUAGES = ("en", "zh")

Entry = dict[str, Any]
Search = Callable[[str], str]
"""From a query to the id of the best answer."""


def read(language: str, kind: str) -> list[Entry]:
    """Read what the bot knows ("answers"), or is asked ("questions")."""
    lines = (DATA / f"{language}.{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def terms(text: str) -> list[str]:
    """Return what is searched for: words, and of Chinese each two neighbouring characters."""
    tokens = tokenize(text.lower(), marks=False)
    found = [token.text for token in tokens if token.text.isascii()]
    for first, second in pairwise(tokens):
        if first.end == second.start and not (first.text + second.text).isascii():
            found.append(first.text + second.text)
    return found or [token.text for token in tokens]


def fts5(entries: Sequence[Entry]) -> Search:
    """Search with SQLite."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("CREATE VIRTUAL TABLE answers USING fts5(terms, tokenize='porter unicode61')")
    for row, entry in enumerate(entries):
        words = " ".join(terms(f"{entry['question']} {entry['answer']}"))
        database.execute("INSERT INTO answers (rowid, terms) VALUES (?, ?)", (row, words))

    def search(query: str) -> str:
        words = " OR ".join(f'"{term}"' for term in terms(query))
        best = "SELECT rowid FROM answers WHERE answers MATCH ? ORDER BY rank, rowid LIMIT 1"
        found = database.execute(best, (words,)).fetchone() if words else None
        return str(entries[found[0]]["id"]) if found else ""

    return search


def bm25s(entries: Sequence[Entry]) -> Search:
    """Search with bm25s."""
    import bm25s as engine

    index = engine.BM25()
    corpus = [terms(f"{entry['question']} {entry['answer']}") for entry in entries]
    index.index(corpus, show_progress=False)

    def search(query: str) -> str:
        words = [word for word in terms(query) if word in index.vocab_dict]
        if not words:
            return ""
        found = index.retrieve([words], k=1, show_progress=False, return_as="documents")
        return str(entries[int(found[0, 0])]["id"])

    return search


ENGINES = {"fts5": fts5, "bm25s": bm25s}


def dialogue(lines: Sequence[str], answers: dict[str, str]) -> list[Turn]:
    """Return the turns of a history; `@id` stands for an answer of the bot."""
    return [
        Turn(answers[line[1:]], role="assistant") if line.startswith("@") else Turn(line)
        for line in lines
    ]


def measure(language: str, bot: RewritingRetriever[str], *, show: bool) -> tuple[int, list[float]]:
    """Return how many questions there are, and top-1 accuracy as asked, rewritten, by hand."""
    answers = {entry["id"]: entry["answer"] for entry in read(language, "answers")}
    questions = read(language, "questions")
    right = [0, 0, 0]
    for question in questions:
        history = dialogue(question["history"], answers)
        asked = bot.search(history, question["utterance"], enabled=False)
        rewritten = bot.search(history, question["utterance"])
        by_hand = bot.search((), question["complete"])
        for k, found in enumerate((asked, rewritten, by_hand)):
            right[k] += found.results == question["answer"]
        if show:
            mark = "+" if rewritten.results == question["answer"] else "-"
            print(f"{mark} {question['utterance']} -> {rewritten.rewrite.text}", end="")
            print(f" ({rewritten.results or 'nothing'}; {question['answer']})")
    return len(questions), [100 * count / len(questions) for count in right]


def chat(language: str, bot: RewritingRetriever[str]) -> None:
    """Talk to the bot, until the input ends."""
    answers = {entry["id"]: entry["answer"] for entry in read(language, "answers")}
    history: list[Turn] = []
    for line in sys.stdin:
        found = bot.search(history, line.strip())
        answer = answers.get(found.results, "?")
        if found.rewrite.changed:
            print(f"  ({found.rewrite.text})")
        print(answer)
        history += [Turn(line.strip()), Turn(answer, role="assistant")]


def main() -> None:
    """Measure, or chat."""
    parser = argparse.ArgumentParser(description="A retrieval bot, with and without rewriting.")
    parser.add_argument("--engine", choices=ENGINES, default="fts5")
    parser.add_argument("--bundle", help="name or directory of a bundle; default: the embedded")
    parser.add_argument("--show", action="store_true", help="print every question")
    parser.add_argument("--chat", choices=LANGUAGES, help="talk to the bot")
    arguments = parser.parse_args()
    build = ENGINES[arguments.engine]
    patient = Policy(timeout=None)  # accuracy is measured here, not speed
    with Rewriter(arguments.bundle) as rewriter:
        bots = {
            language: RewritingRetriever(build(read(language, "answers")), rewriter, policy=patient)
            for language in LANGUAGES
        }
        if arguments.chat:
            chat(arguments.chat, bots[arguments.chat])
            return
        rows = [(lang, *measure(lang, bots[lang], show=arguments.show)) for lang in LANGUAGES]
    print("top-1 accuracy  questions  as asked  rewritten  written out by hand  gain")
    for language, count, (asked, rewritten, by_hand) in rows:
        print(f"{language:14}  {count:9}  {asked:8.1f}  {rewritten:9.1f}  {by_hand:19.1f}", end="")
        print(f"  {rewritten - asked:+.1f}")


if __name__ == "__main__":
    main()
