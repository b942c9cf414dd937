"""spaCy pipelines as parsers: blank ones, whose trees are set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.errors import InvalidArgumentError, ParserError
from queen_sdk.parsing import ellipsis_ends
from queen_sdk.parsing.spacy_parser import SpacyParser

spacy = pytest.importorskip("spacy", reason="spaCy is not installed")

Trees = dict[str, Sequence[tuple[int, str, str]]]
"""By utterance: head, label and part of speech of each word."""

TREES: Trees = {
    "No, he does not care": (
        (5, "intj", "INTJ"), (5, "punct", "PUNCT"), (5, "nsubj", "PRON"),
        (5, "aux", "AUX"), (5, "neg", "PART"), (5, "ROOT", "VERB"),
    ),
    "I want pizza": ((1, "nsubj", "PRON"), (1, "ROOT", "VERB"), (1, "dobj", "NOUN")),
    "It is cheap": ((1, "nsubj", "PRON"), (1, "ROOT", "AUX"), (1, "acomp", "ADJ")),
    "Thanks. I want pizza": (
        (0, "ROOT", "NOUN"), (0, "punct", "PUNCT"),
        (3, "nsubj", "PRON"), (3, "ROOT", "VERB"), (3, "dobj", "NOUN"),
    ),
}  # fmt: skip


class HandSet:
    """A component that knows the trees above; every other word is a root of its own."""

    def __call__(self, doc: Any) -> Any:
        tree = TREES.get(doc.text) or [(k, "ROOT", "NOUN") for k in range(len(doc))]
        for token, (head, label, pos) in zip(doc, tree, strict=True):
            token.head, token.dep_, token.pos_ = doc[head], label, pos
        return doc


@pytest.fixture(scope="module")
def parser() -> SpacyParser:
    pipeline = spacy.blank("en")
    if not spacy.Language.has_factory("hand_set"):
        spacy.Language.factory("hand_set", func=lambda nlp, name: HandSet())
    pipeline.add_pipe("hand_set")
    return SpacyParser(pipeline)


@pytest.mark.parametrize(
    ("utterance", "ends"),
    [
        ("No, he does not care", "end"),
        ("I want pizza", "both"),
        ("It is cheap", "end"),
        ("Thanks. I want pizza", "both"),
        ("Italian food", "begin"),
    ],
)
def test_labels_of_english_pipelines(parser: SpacyParser, utterance: str, ends: str) -> None:
    assert ellipsis_ends(parser.parse(utterance)) == ends


def test_tokens_have_the_place_they_have_in_the_utterance(parser: SpacyParser) -> None:
    found = parser.parse("Thanks. I want pizza").object_token
    assert found is not None
    assert "Thanks. I want pizza"[found.start : found.end] == found.text == "pizza"


@pytest.mark.parametrize("utterance", ["", " "])
def test_nothing_is_found_in_nothing(parser: SpacyParser, utterance: str) -> None:
    assert ellipsis_ends(parser.parse(utterance)) == "begin"


def test_a_pipeline_that_does_not_parse_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="needs a parser; its components are: none"):
        SpacyParser(spacy.blank("en"))


def test_a_pipeline_that_is_not_there() -> None:
    with pytest.raises(ParserError, match="python -m spacy download no_such_pipeline"):
        SpacyParser("no_such_pipeline")


def test_a_pipeline_trained_here_is_sealed_by_its_files(tmp_path: Path) -> None:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("morphologizer").add_label("POS=VERB")
    pipeline.add_pipe("parser").add_label("nsubj")
    examples = [
        spacy.training.Example.from_dict(
            pipeline.make_doc(text),
            {
                "heads": [head for head, _, _ in tree],
                "deps": [label for _, label, _ in tree],
                "pos": [pos for _, _, pos in tree],
            },
        )
        for text, tree in TREES.items()
    ]
    pipeline.update(examples, sgd=pipeline.initialize(lambda: examples))
    pipeline.to_disk(tmp_path / "small")
    loaded = SpacyParser(str(tmp_path / "small"))
    assert loaded.parse("I want pizza") == loaded.parse("I want pizza")
    before = loaded.sha256
    assert SpacyParser(tmp_path / "small").sha256 == before
    (tmp_path / "small" / "meta.json").write_text("{}")
    assert loaded.sha256 != before
