"""Training and export of a parser on a handful of trees."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

import attrs
import torch
from transformers import AutoModel

from queen_sdk.data.treebanks import Sentence
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.parsing import decide
from queen_sdk.parsing import ellipsis_ends
from queen_sdk.parsing.embedded import COMBINATION_ENDS, EmbeddedParser
from queen_sdk.parsing.inputs import ParserInputs
from queen_sdk.parsing.rule import Word
from queen_sdk.training.parsers.examples import NONE, ExampleMaker, Loosened, relations
from queen_sdk.training.parsers.export import export_parser, parser_notice
from queen_sdk.training.parsers.learning import balance, examples_of, judge, merit
from queen_sdk.training.parsers.teacher import (
    Teacher,
    TeacherSettings,
    load_teacher,
    save_teacher,
    train_teacher,
)
from queen_sdk.training.parsers.teaching import annotate
from queen_sdk.training.parsers.trainer import (
    ParserSettings,
    TrainedParser,
    train_best,
    train_parser,
)
from queen_sdk.training.parsers.vectors import without_crossing

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
        rows = torch.from_numpy(inputs.encode(text.split()))[None]
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


def chinese(*words: tuple[str, str, int | None, str]) -> Sentence:
    made: list[Word] = []
    text = ""
    for form, pos, head, label in words:
        made.append(Word(form, pos=pos, head=head, label=label, start=len(text)))
        text += form
    return Sentence(text, tuple(made))


FILMS = chinese(
    ("我", "PRON", 2, "nsubj"),
    ("不", "ADV", 2, "advmod"),
    ("喜欢", "VERB", None, "root"),
    ("电影", "NOUN", 2, "obj"),
)


@pytest.mark.parametrize(
    ("vocabulary", "heads", "roles", "relation_names"),
    [
        (["喜欢", "电影"], [2, 2, 2, 2], (0, 2, 3), ["nsubj", "advmod", "root", "obj"]),
        (["不喜欢", "电影"], [1, 1, 1], (0, 1, 2), ["nsubj", "root", "obj"]),
        (["我不", "喜欢电影"], [1, 1], (0, 1, 1), ["nsubj", "root"]),
        (["欢电"], [2, 2, 2, 2, 3], (0, 2, 3), ["nsubj", "advmod", "root", "obj", "obj"]),
    ],
)
def test_a_unit_that_crosses_words_stands_for_the_uppermost_that_begins_in_it(
    vocabulary: list[str], heads: list[int], roles: tuple[int, ...], relation_names: list[str]
) -> None:
    labels = relations([FILMS], least=1)
    example = ExampleMaker(ParserInputs(["[UNK]", *vocabulary]), labels).make(FILMS)
    assert example is not None
    assert example.heads.tolist() == heads
    assert example.roles == roles
    assert [labels[k].split()[-1] for k in example.labels] == relation_names


def test_words_are_taken_apart_by_chance() -> None:
    inputs = ParserInputs(["[UNK]", "喜欢", "电影"])
    cut = inputs.cut(FILMS.text)
    assert Loosened(inputs, 0.0, random.Random(1)).cut(FILMS.text) == cut
    assert Loosened(inputs, 1.0, random.Random(1)).cut(FILMS.text) == [(k, k + 1) for k in range(6)]
    lengths = {len(Loosened(inputs, 0.5, random.Random(k)).cut(FILMS.text)) for k in range(20)}
    assert lengths == {4, 5, 6}


def test_words_that_cross_those_of_the_trees_are_left_out() -> None:
    words = ("[UNK]", "我不", "喜欢", "影视", "the")
    assert without_crossing(words, [FILMS]) == ("[UNK]", "喜欢", "影视", "the")


def test_an_utterance_without_tokens_or_roles() -> None:
    maker = ExampleMaker(ParserInputs(["[UNK]"]), ("other",))
    assert maker.make(sentence(("\u200b", "X", None, "root"))) is None
    example = maker.make(sentence(("hello", "INTJ", None, "root")))
    assert example is not None
    assert example.roles == (NONE, NONE, NONE)


def test_a_neglected_decision_is_favoured_until_it_is_found(trained: TrainedParser) -> None:
    network = copy.deepcopy(trained.network)
    last = network.structure[-1]
    assert isinstance(last, torch.nn.Linear)
    maker = ExampleMaker(ParserInputs(trained.vocabulary), ("other",))
    examples = examples_of(treebank(), maker)
    rare = torch.tensor([float(ends == "end") for ends in COMBINATION_ENDS])
    with torch.no_grad():
        last.weight *= 0.05  # so that the beliefs are close to one another
        last.bias *= 0.05
        last.bias -= 0.6 * rare
    neglecting = judge(network, examples).macro_f1
    balance(network, examples)
    assert judge(network, examples).macro_f1 > neglecting


def test_the_same_seed_gives_the_same_parser() -> None:
    settings = ParserSettings(language="en", epochs=1, width=8, word_width=4)
    sentences = random.Random(1).sample(treebank(), 12)
    first, second = (
        train_parser(settings, sentences, sentences, progress=False).network.state_dict()
        for _ in range(2)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_of_several_seeds_the_best_is_kept() -> None:
    settings = ParserSettings(
        language="en", epochs=2, batch_size=8, learning_rate=0.02, width=8, word_width=4, seed=1
    )
    trees = treebank()
    alone = [
        train_parser(attrs.evolve(settings, seed=seed), trees, trees, progress=False)
        for seed in (1, 2, 3)
    ]
    merits = [merit(one.decisions) for one in alone]
    assert len(set(merits)) > 1
    best = alone[merits.index(max(merits))].network.state_dict()
    kept = train_best(settings, trees, trees, seeds=3, progress=False).network.state_dict()
    assert all(torch.equal(best[name], kept[name]) for name in best)


def test_the_notice_names_what_it_derives_from() -> None:
    notice = parser_notice("zh", "an-encoder", ["rewrite"])
    assert "Chinese GSD and GSDSimp: CC BY-SA 4.0" in notice
    assert "word vectors of an-encoder: unknown" in notice
    assert "texts of REWRITE (Su et al., ACL 2019), released for research" in notice


class TestTeaching:
    @pytest.fixture(scope="class")
    def teacher(self, encoder_dir: Path) -> Teacher:
        torch.set_num_threads(1)
        settings = TeacherSettings(epochs=8, batch_size=8, learning_rate=5e-3, frozen_layers=0)
        trees = treebank() * 2
        return train_teacher(settings, trees, treebank(), encoder=encoder_dir, progress=False)

    def test_it_learns_from_trees(self, teacher: Teacher) -> None:
        assert teacher.decisions.accuracy > teacher.decisions.majority_accuracy

    def test_the_lower_layers_stay_as_they_are(self, encoder_dir: Path) -> None:
        settings = TeacherSettings(epochs=1, frozen_layers=1)
        trees = treebank()[:16]
        taught = train_teacher(settings, trees, trees, encoder=encoder_dir, progress=False)
        before = AutoModel.from_pretrained(encoder_dir).encoder.layer
        after = taught.network.encoder.encoder.layer
        first, second = (
            [torch.equal(a, b) for a, b in zip(x.parameters(), y.parameters(), strict=True)]
            for x, y in zip(before, after, strict=True)
        )
        assert all(first)
        assert not any(second)

    def test_padding_changes_nothing(self, teacher: Teacher) -> None:
        texts = ("we see", "Anna likes the restaurant nearby, does she not")
        rows = [torch.from_numpy(teacher.inputs.encode(text.split())) for text in texts]
        lengths = torch.tensor([len(row) for row in rows])
        with torch.inference_mode():
            alone = teacher.network.hidden(rows[0][None], lengths[:1])[0]
            padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
            together = teacher.network.hidden(padded, lengths)[0, : len(rows[0])]
        assert torch.allclose(alone, together, atol=1e-5)

    def test_what_it_reads_becomes_examples(self, teacher: Teacher) -> None:
        made = annotate(
            teacher, ["she likes it", "", "pizza"], ParserInputs(["[UNK]"]), progress=False
        )
        assert [len(example.inputs) for example in made] == [1, 3]
        for example in made:
            assert sum(example.shares) == pytest.approx(1.0, abs=1e-5)
            assert example.combination == max(range(8), key=lambda k: example.shares[k])
            assert example.heads.tolist().count(example.root) >= 1
            assert [k for k, head in enumerate(example.heads) if head == k] == [example.root]

    def test_units_take_what_it_says_of_their_first_tokens(self, teacher: Teacher) -> None:
        texts = ["他喜欢电影院"]
        by_token, by_unit = (
            annotate(teacher, texts, ParserInputs(["[UNK]", *words]), progress=False)[0]
            for words in ((), ("喜欢", "电影院"))
        )
        assert (len(by_token.inputs), len(by_unit.inputs)) == (6, 3)
        own = [0, 1, 1, 2, 2, 2]
        assert by_unit.labels.tolist() == [by_token.labels[k] for k in (0, 1, 3)]
        assert by_unit.root == own[by_token.root]
        assert [k for k, head in enumerate(by_unit.heads) if head == k] == [by_unit.root]
        assert by_unit.roles == tuple(NONE if k == NONE else own[k] for k in by_token.roles)
        assert by_unit.shares == by_token.shares

    def test_it_can_be_kept(self, teacher: Teacher, encoder_dir: Path, tmp_path: Path) -> None:
        save_teacher(teacher, tmp_path)
        again = load_teacher(tmp_path, encoder_dir)
        assert again.decisions.counts == teacher.decisions.counts
        inputs = ParserInputs(["[UNK]"])
        first, second = (
            annotate(one, ["we eat pizza"], inputs, progress=False) for one in (teacher, again)
        )
        assert first[0].shares == pytest.approx(second[0].shares)

    def test_none_there_and_one_of_another_encoder(
        self, teacher: Teacher, encoder_dir: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(InvalidArgumentError, match="queen parser teach writes one"):
            load_teacher(tmp_path, encoder_dir)
        save_teacher(teacher, tmp_path)
        with pytest.raises(InvalidArgumentError, match="got other"):
            load_teacher(tmp_path, tmp_path / "other")

    def test_the_parser_learns_what_the_teacher_says(self, teacher: Teacher) -> None:
        """The words of the texts are in no tree, so that only the teacher can have said it."""
        settings = ParserSettings(
            language="en", epochs=3, batch_size=8, learning_rate=0.02, width=16, word_width=8,
            dropout=0.0, taught=2.0, kept=0.9,
        )  # fmt: skip
        texts = ["what restaurant"] * 30
        wanted = annotate(teacher, texts[:1], ParserInputs(["[UNK]"]), progress=False)[0]
        untold = train_parser(settings, treebank(), treebank(), progress=False)
        told = train_parser(
            settings, treebank(), treebank(), teacher=teacher, texts=texts, progress=False
        )

        def distance(trained: TrainedParser) -> float:
            rows = ParserInputs(trained.vocabulary).encode(texts[0].split())
            with torch.inference_mode():
                structure, _ = trained.network(torch.from_numpy(rows)[None])
            found = torch.softmax(structure[0], dim=-1)
            return float((found - torch.tensor(wanted.shares)).abs().sum())

        assert distance(told) < distance(untold)
