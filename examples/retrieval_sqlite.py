"""A rewriter in front of the full-text search of SQLite, in Chinese; nothing else is needed.

$ python examples/retrieval_sqlite.py
直接搜索：李医生的挂号费是二十元。
改写之后：张医生的挂号费是三十元。
搜索的是：张医生的挂号费多少？
"""

from __future__ import annotations

import sqlite3

from queen_adapters.retrieval import RewritingRetriever

from queen_sdk import Policy, Rewriter
from queen_sdk.tokenization import tokenize

DOCUMENTS = [
    "李医生的挂号费是二十元。",
    "李医生周一到周五出诊。",
    "张医生的挂号费是三十元。",
    "张医生周一、周二和周四出诊。",
]
HISTORY = [("user", "张医生哪天出诊？"), ("assistant", "张医生周一、周二和周四出诊。")]
POLICY = Policy(mode="retrieval", timeout=10)
"""The prompt of the answer keeps the user's words: `rewritten.message` is what was typed."""


def characters(text: str) -> list[str]:
    """Cut Chinese into characters; FTS5 takes a whole sentence for one word."""
    return [token.text for token in tokenize(text, marks=False)]


def main() -> None:
    """Ask a follow-up question, without and with the rewriter."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE documents USING fts5(terms, text UNINDEXED)")
    rows = [(" ".join(characters(text)), text) for text in DOCUMENTS]
    database.executemany("INSERT INTO documents VALUES (?, ?)", rows)

    def search(query: str) -> str:
        terms = " OR ".join(f'"{character}"' for character in characters(query))
        best = "SELECT text FROM documents WHERE documents MATCH ? ORDER BY rank, rowid LIMIT 1"
        return str(database.execute(best, (terms,)).fetchone()[0])

    with Rewriter() as rewriter:
        # The answer's prompt keeps the user's words: `rewritten.message` is what was typed.
        retriever = RewritingRetriever(
            search, rewriter, policy=Policy(mode="retrieval", timeout=10)
        )
        asked = retriever.search(HISTORY, "他的挂号费多少？", enabled=False)
        rewritten = retriever.search(HISTORY, "他的挂号费多少？")
    print(f"直接搜索：{asked.results}")
    print(f"改写之后：{rewritten.results}")
    print(f"搜索的是：{rewritten.rewrite.text}")


if __name__ == "__main__":
    main()
