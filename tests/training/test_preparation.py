from pathlib import Path

import attrs
import pytest

pytestmark = pytest.mark.train
pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.rows import ExtraWords  # noqa: E402
from queen_sdk.training.preparation import (  # noqa: E402
    augment,
    build_pipeline,
    prepare,
    sample_of_each,
    worth_training,
)
from queen_sdk.training.settings import TrainSettings  # noqa: E402
from queen_sdk.training.vocabulary import Vocabulary  # noqa: E402
from queen_sdk.values import Turn  # noqa: E402

SETTINGS = TrainSettings(data=("task",), language="en", encoder="x", most_judged=7)


def dialogues(corpus: str, count: int) -> list[Example]:
    return [
        Example((Turn("hello"),), utterance="a", reference="b", id=f"{corpus}:{k}.{turn}")
        for k in range(count)
        for turn in range(3)
    ]


def test_so_many_examples_of_every_corpus_are_judged() -> None:
    examples = dialogues("task", 2) + dialogues("qrecc", 20)
    chosen = sample_of_each(examples, SETTINGS)
    assert chosen == [e for e in examples if e in chosen]
    assert sum(e.id.startswith("task") for e in chosen) == 6
    assert sum(e.id.startswith("qrecc") for e in chosen) == 7
    assert sample_of_each(examples, attrs.evolve(SETTINGS, seed=5)) != chosen


def test_some_examples_stand_at_the_end_of_a_long_conversation() -> None:
    settings = attrs.evolve(SETTINGS, complete_share=0.0, distractor_share=0.3, long_share=0.2)
    examples = dialogues("task", 200)
    seen = augment(examples, settings)
    assert len(seen) == len(examples)
    assert all(now.history[-1:] == e.history for now, e in zip(seen, examples, strict=True))
    foreign = [len(example.history) - 1 for example in seen]
    assert 0.25 < sum(0 < count <= 3 for count in foreign) / len(seen) < 0.35
    assert 0.15 < sum(6 <= count <= 21 for count in foreign) / len(seen) < 0.25
    assert 0.45 < foreign.count(0) / len(seen) < 0.55


def test_omissions_come_with_the_turns_they_were_made_of() -> None:
    pytest.importorskip("jieba")
    said = (Turn("你知道北京大学吗"), Turn("北京大学在哪里"))
    examples = [
        Example(said[:1] * k + said, utterance="好", reference="好", id=f"{corpus}:{k}.1")
        for corpus in ("rewrite", "restoration")
        for k in range(6)
    ]
    plain = attrs.evolve(SETTINGS, language="zh", data=("rewrite", "restoration"))
    plain = attrs.evolve(plain, complete_share=0.0, distractor_share=0.0, long_share=0.0)
    seen = augment(examples, attrs.evolve(plain, omissions={"restoration": 0.5}))
    assert seen[:12] == examples
    omitted, whole = seen[12:15], seen[15:]
    assert {(e.utterance, e.reference) for e in omitted} == {("在哪里", "北京大学在哪里")}
    assert {(e.utterance, e.reference) for e in whole} == {("北京大学在哪里",) * 2}
    assert [e.history for e in whole] == [e.history for e in omitted]
    assert {e.id.split(":")[0] for e in seen[12:]} == {"restoration"}
    assert not any(e in examples for e in seen[12:])


def test_a_long_conversation_is_made_of_whole_dialogues() -> None:
    settings = attrs.evolve(SETTINGS, complete_share=0.0, distractor_share=0.0, long_share=1.0)
    for example in augment(dialogues("task", 3), settings):
        *foreign, own = (turn.text for turn in example.history)
        assert own == "hello"
        assert foreign == ["hello", "b"] * (len(foreign) // 2)


def test_a_corpus_comes_as_often_as_the_settings_say(encoder_dir: Path) -> None:
    pipeline = build_pipeline(
        encoder_dir / "tokenizer.json", SETTINGS, Vocabulary(ExtraWords(), ())
    )
    history, utterance = (Turn("smith is here"),), "does he like"
    few = [
        Example(history, utterance=utterance, reference="does smith like", id=f"{corpus}:1.1")
        for corpus in ("task", "qrecc")
    ]
    settings = attrs.evolve(SETTINGS, data=("task", "qrecc"), repeats={"qrecc": 3})
    seen = worth_training(prepare(few, pipeline), settings)
    assert [example.example for example in seen] == [few[0], *[few[1]] * 3]


def test_a_part_of_a_corpus_can_come(encoder_dir: Path) -> None:
    pipeline = build_pipeline(
        encoder_dir / "tokenizer.json", SETTINGS, Vocabulary(ExtraWords(), ())
    )
    example = Example(
        (Turn("smith is here"),), utterance="does he like", reference="does smith like", id="task:1"
    )
    prepared = prepare([example], pipeline) * 400
    settings = attrs.evolve(SETTINGS, data=("task",), repeats={"task": 1.5})
    assert 540 < len(worth_training(prepared, settings)) < 660


def test_complete_utterances_of_a_corpus_can_come_more_often(encoder_dir: Path) -> None:
    pipeline = build_pipeline(
        encoder_dir / "tokenizer.json", SETTINGS, Vocabulary(ExtraWords(), ())
    )
    history = (Turn("smith is here"),)
    incomplete, complete, other = (
        Example(history, utterance=said, reference="does smith like", id=f"{corpus}:1.1")
        for corpus, said in (
            ("task", "does he like"),
            ("task", "does smith like"),
            ("qrecc", "does smith like"),
        )
    )
    settings = attrs.evolve(
        SETTINGS, data=("task", "qrecc"), repeats={"task": 2}, complete_repeats={"task": 3}
    )
    seen = worth_training(prepare([incomplete, complete, other], pipeline), settings)
    assert [e.example for e in seen] == [*[incomplete] * 2, *[complete] * 6, other]
