"""Train a small spaCy pipeline on the same treebanks: the yardstick of the embedded parsers.

    python benchmarks/spacy_yardstick.py --lang en|zh --out DIR [--path FOLDER] [--epochs N]
                                         [--limit N]
    queen parser eval --lang en|zh --spacy DIR

The pipelines that spaCy publishes are not on PyPI, and are trained on other trees. This one has a
tok2vec layer of width 96, parts of speech and a dependency parser, each as in spaCy's own small
pipelines; it sees the treebank sentences as they are. Chinese is segmented by jieba when it
serves, and learns from the words of the trees. The epoch is chosen on the development part.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from queen_sdk.data.treebanks import TREEBANKS, Sentence, read_treebanks
from queen_sdk.evaluation.parsing import Decisions, decide
from queen_sdk.parsing.spacy_parser import SpacyParser

_WIDTH = 96
_LISTENER = {
    "@architectures": "spacy.Tok2VecListener.v1",
    "width": _WIDTH,
    "upstream": "tok2vec",
}
_TOKENIZERS = {"zh": {"@tokenizers": "spacy.zh.ChineseTokenizer", "segmenter": "jieba"}}


def pipeline(language: str) -> Any:
    """Return an untrained pipeline."""
    own = _TOKENIZERS.get(language)
    nlp = spacy.blank(language, config={"nlp": {"tokenizer": own}} if own else {})
    nlp.add_pipe("tok2vec")
    for name, model in (
        ("morphologizer", {"@architectures": "spacy.Tagger.v2", "tok2vec": _LISTENER}),
        (
            "parser",
            {
                "@architectures": "spacy.TransitionBasedParser.v2",
                "state_type": "parser",
                "extra_state_tokens": False,
                "hidden_width": 64,
                "maxout_pieces": 2,
                "use_upper": True,
                "tok2vec": _LISTENER,
            },
        ),
    ):
        nlp.add_pipe(name, config={"model": model})
    return nlp


def examples(nlp: Any, sentences: Sequence[Sentence]) -> Iterator[Example]:
    """Yield the sentences with their trees."""
    for sentence in sentences:
        words = sentence.words
        ends = [word.start + len(word.text) for word in words]
        spaces = [
            end < following.start for end, following in zip(ends, words[1:], strict=False)
        ] + [False]
        texts = [word.text for word in words]
        gold = Doc(
            nlp.vocab,
            words=texts,
            spaces=spaces,
            pos=[word.pos if word.pos != "_" else "X" for word in words],
            heads=[k if word.head is None else word.head for k, word in enumerate(words)],
            deps=["ROOT" if word.head is None else word.label for word in words],
        )
        yield Example(Doc(nlp.vocab, words=texts, spaces=spaces), gold)


def train(
    language: str, training: list[Sentence], development: list[Sentence], out: Path, epochs: int
) -> Decisions:
    """Train, write the best epoch to `out` and return its decisions on the development part."""
    nlp = pipeline(language)
    made = list(examples(nlp, training))
    optimizer = nlp.initialize(lambda: made)
    chance = random.Random(13)
    best: Decisions | None = None
    for epoch in range(epochs):
        chance.shuffle(made)
        for batch in minibatch(made, 32):
            nlp.update(batch, sgd=optimizer, drop=0.1)
        with nlp.use_params(optimizer.averages):
            found = decide(SpacyParser(nlp), development)
            print(f"epoch {epoch + 1}: macro-F1 {found.macro_f1:.3f}", flush=True)
            if best is None or found.macro_f1 > best.macro_f1:
                best = found
                nlp.to_disk(out)
    assert best is not None  # there is at least one epoch
    return best


def main() -> None:
    """Train one language's yardstick."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--lang", choices=tuple(TREEBANKS), required=True)
    parser.add_argument("--path", type=Path, metavar="FOLDER", help="(default: ud in $QUEEN_DATA)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--epochs", type=int, default=8, metavar="N")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences")
    arguments = parser.parse_args()
    path = arguments.path or Path(os.environ["QUEEN_DATA"]) / "ud"
    found = train(
        arguments.lang,
        read_treebanks(arguments.lang, path, "train")[: arguments.limit],
        read_treebanks(arguments.lang, path, "dev")[: arguments.limit],
        arguments.out,
        arguments.epochs,
    )
    print(
        f"{arguments.out}: macro-F1 {found.macro_f1:.3f}, accuracy {found.accuracy:.3f} on the "
        "development part"
    )


if __name__ == "__main__":
    main()
