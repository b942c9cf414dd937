"""A rewriter in front of BM25 (bm25s).

Needs: pip install bm25s

$ python examples/retrieval_bm25.py
as asked:  The Nova phone comes with a warranty.
rewritten: The Atlas tablet comes with a warranty of three years.
searched for: Does the Atlas tablet come with a warranty?
"""

from __future__ import annotations

import bm25s
from queen_adapters.retrieval import RewritingRetriever

from queen_sdk import Policy, Rewriter

DOCUMENTS = [
    "The Nova phone comes with a warranty.",
    "The Nova phone costs 399 euros.",
    "The Atlas tablet comes with a warranty of three years.",
    "The Atlas tablet costs 549 euros.",
]
HISTORY = [
    ("user", "What does the Atlas tablet cost?"),
    ("assistant", "The Atlas tablet costs 549 euros."),
]
PATIENT = Policy(timeout=10)
"""Instead of half a second, since examples are also run on busy machines."""


def main() -> None:
    """Ask a follow-up question, without and with the rewriter."""
    index = bm25s.BM25(corpus=DOCUMENTS)
    index.index(bm25s.tokenize(DOCUMENTS, show_progress=False), show_progress=False)

    def search(query: str) -> str:
        words = bm25s.tokenize(query, show_progress=False)
        found = index.retrieve(words, k=1, show_progress=False, return_as="documents")
        return str(found[0, 0])

    with Rewriter() as rewriter:
        retriever = RewritingRetriever(search, rewriter, policy=PATIENT)
        asked = retriever.search(HISTORY, "Does it come with a warranty?", enabled=False)
        rewritten = retriever.search(HISTORY, "Does it come with a warranty?")
    print("as asked: ", asked.results)
    print("rewritten:", rewritten.results)
    print("searched for:", rewritten.rewrite.text)


if __name__ == "__main__":
    main()
