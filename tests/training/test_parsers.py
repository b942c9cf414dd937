"""Training and export of a parser on a handful of trees."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

import torch

from queen_sdk.data.treebanks import Sentence
from queen_sdk.evaluation.parsing import decide
from queen_sdk.parsing import ellipsis_ends
from queen_sdk.parsing.embedded import COMBINATION_ENDS, EmbeddedParser
from queen_sdk.parsing.inputs import ParserInputs
from queen_sdk.parsing.rule import Word
from queen_sdk.tokenization import tokenize
from queen_sdk.training.parsers.examples import NONE, ExampleMaker, relations
from queen_sdk.training.parsers.export import export_parser, parser_notice
from queen_sdk.training.parsers.trainer import ParserSettings, TrainedParser, train_parser

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

SUBJECTS = ("he", "she", "Anna", "we")
VERBS = ("eats", "sees", "likes")
OBJECTS = ("pizza", "it", "films")


def sentence(*words: tuple[str, str, int | None, str]) -> Sentence:
    made: list[Word] = []
    place = 0
    for text, pos, head, label in words:
        made.append(Word(text, pos=pos, head=head, label=label, start=place))
        place += len(text) + 1
    return Sentence(" ".join(word.text for word in made), tuple(made))


def treebank() -> list[Sentence]:
    found: list[Sentence] = []
    for subject in SUBJECTS:
        for verb in VERBS:
            pair = ((subject, "PRON", 1, "nsubj"), (verb, "VERB", None, "root"))
            found.append(sentence(*pair))
            for thing in OBJECTS:
                found.append(sentence(*pair, (thing, "NOUN", 1, "obj")))
                found.append(sentence((verb, "VERB", None, "root"), (thing, "NOUN", 0, "obj")))
    return found


@pytest.fixture(scope="module")
def trained() -> TrainedParser:
    torch.set_num_threads(1)
    settings = ParserSettings(
        language="en", epochs=6, batch_size=8, learning_rate=0.02, width=16, word_width=8,
        dropout=0.0,
    )  # fmt: skip
    return train_parser(settings, treebank() * 2, treebank(), progress=False)


@pytest.fixture(scope="module")
def exported(trained: TrainedParser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("parser")
    export_parser(trained.network, trained.vocabulary, directory, notice="by a test")
    return directory


def test_the_trees_are_learnt(trained: TrainedParser) -> None:
    assert trained.decisions.macro_f1 > 0.95


def test_the_graph_decides_as_the_network_does(trained: TrainedParser, exported: Path) -> None:
    parser = EmbeddedParser(exported)
    assert decide(parser, treebank()).macro_f1 == pytest.approx(
        trained.decisions.macro_f1, abs=0.02
    )
    inputs = ParserInputs(trained.vocabulary)
    for text in ("she likes films", "Pizza", "we see"):
        rows = torch.from_numpy(inputs.encode(tokenize(text)))[None]
        with torch.inference_mode():
            structure, _ = trained.network(rows)
        shares = torch.softmax(structure[0], dim=-1)
        by_end = {
            end: float(sum(s for s, e in zip(shares, COMBINATION_ENDS, strict=True) if e == end))
            for end in set(COMBINATION_ENDS)
        }
        assert ellipsis_ends(parser.parse(text)) == max(by_end, key=lambda end: by_end[end])


def test_the_tokens_are_learnt_too(exported: Path) -> None:
    found = EmbeddedParser(exported).parse("Anna sees films")
    assert found.object_token is not None
    assert found.object_token.text == "films"


def test_an_example_points_at_first_tokens() -> None:
    tree = sentence(
        ("我", "PRON", 1, "nsubj"), ("喜欢", "VERB", None, "root"), ("电影", "NOUN", 1, "obj")
    )
    labels = relations([tree], least=1)
    example = ExampleMaker(ParserInputs(["[UNK]"]), labels).make(tree)
    assert example is not None
    assert example.heads.tolist() == [1, 1, 1, 1, 3]
    assert example.roles == (0, 1, 3)
    assert example.combination == 7
    assert [labels[k] for k in example.labels[1:3]] == ["B VERB root", "I VERB root"]


def test_an_utterance_without_tokens_or_roles() -> None:
    maker = ExampleMaker(ParserInputs(["[UNK]"]), ("other",))
    assert maker.make(sentence(("\u200b", "X", None, "root"))) is None
    example = maker.make(sentence(("hello", "INTJ", None, "root")))
    assert example is not None
    assert example.roles == (NONE, NONE, NONE)


def test_the_same_seed_gives_the_same_parser() -> None:
    settings = ParserSettings(language="en", epochs=1, width=8, word_width=4)
    sentences = random.Random(1).sample(treebank(), 12)
    first, second = (
        train_parser(settings, sentences, sentences, progress=False).network.state_dict()
        for _ in range(2)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_notice_names_what_it_derives_from() -> None:
    notice = parser_notice("zh", "an-encoder", ["rewrite"])
    assert "Chinese GSD and GSDSimp: CC BY-SA 4.0" in notice
    assert "word vectors of an-encoder: unknown" in notice
    assert "texts of REWRITE (Su et al., ACL 2019), released for research" in notice
