"""Teaching: a pupil learns a teacher's scores, though it reads other word pieces."""

import json
from pathlib import Path

import attrs
import numpy as np
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.errors import InvalidArgumentError  # noqa: E402
from queen_sdk.rows import ExtraWords  # noqa: E402
from queen_sdk.training.batches import collate  # noqa: E402
from queen_sdk.training.corpora import split_examples  # noqa: E402
from queen_sdk.training.judging import torch_score  # noqa: E402
from queen_sdk.training.loss import lesson_loss  # noqa: E402
from queen_sdk.training.preparation import (  # noqa: E402
    build_pipeline,
    prepare,
    without_labels,
)
from queen_sdk.training.scorer import QueenScorer  # noqa: E402
from queen_sdk.training.selection import score_features  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402
from queen_sdk.training.teaching import taught  # noqa: E402
from queen_sdk.training.trainer import train  # noqa: E402
from queen_sdk.training.vocabulary import Vocabulary, load_vocabulary  # noqa: E402


def settings_for(encoder: Path, **changes: object) -> TrainSettings:
    plain = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder), epochs=3, learning_rate=5e-3,
        head_rate=1.0, max_length=96, held_out=0.2, batch_size=16,
    )  # fmt: skip
    return attrs.evolve(plain, **changes)


@pytest.fixture(scope="module")
def teacher(encoder_dir: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run: Path = tmp_path_factory.mktemp("teacher")
    settings = settings_for(encoder_dir, epochs=6)
    train(settings, *split_examples(settings, corpus), run, progress=False)
    return run


def test_its_scores_stand_where_the_pupil_has_the_same_words(
    teacher: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(encoder_dir)
    examples = split_examples(settings, corpus)[1][:5]
    known = load_vocabulary(teacher)
    further = Vocabulary(ExtraWords(("about",), ("of",)), known.collection)
    pupils = build_pipeline(encoder_dir / "tokenizer.json", settings, further)
    teachers = build_pipeline(teacher / "tokenizer.json", settings, known)
    score = torch_score(QueenScorer.from_pretrained(teacher / "best"))
    wanted = score_features(
        [one.features for one in prepare(examples, teachers)], score, teachers.builder
    )
    asking = attrs.evolve(settings, teacher=str(teacher))
    found = taught(prepare(examples, pupils), asking, tmp_path, progress=False)
    words = len(known.extra_words.before)
    for example, scores in zip(found, wanted, strict=True):
        lesson = example.lesson
        assert lesson is not None
        assert np.isnan(lesson[:, 0]).all()  # "about", which the teacher does not know
        assert np.isnan(lesson[:, -1]).all()
        said = scores[:, words : words + lesson.shape[1] - 2].copy()
        said[0, :, -1] = np.nan  # END cannot be replaced
        np.testing.assert_allclose(lesson[:, 1:-1], said, rtol=1e-2, atol=1e-2)


def test_a_taught_pupil_comes_nearer_to_its_teacher(
    teacher: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    """Gold cells alone leave it to the pupil how sure it is."""
    distances = []
    for name, weight in (("alone", 0.0), ("taught", 3.0)):
        run = tmp_path / name
        # One long pass, so that what is kept is the end of the training and not a lucky epoch.
        settings = settings_for(
            encoder_dir, teacher=str(teacher), teacher_weight=weight, epochs=1, repeats={"jsonl": 8}
        )
        training, held_out = split_examples(settings, corpus)
        train(settings, training, held_out, run, progress=False)
        pipeline = build_pipeline(run / "tokenizer.json", settings, load_vocabulary(run))
        examples = taught(prepare(held_out, pipeline), settings, run / "best", progress=False)
        model = QueenScorer.from_pretrained(run / "best").eval()
        batch = collate([(e.features, e) for e in examples], pipeline.builder)
        with torch.inference_mode():
            scores = model(**batch.inputs)[:, :2]
        distances.append(float(lesson_loss(scores, batch.lessons[:, :2])))
    assert distances[1] < distances[0] / 2


def test_lessons_are_kept_with_the_run_and_must_fit(
    teacher: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(encoder_dir, teacher=str(teacher))
    pipeline = build_pipeline(teacher / "tokenizer.json", settings, load_vocabulary(teacher))
    examples = prepare(split_examples(settings, corpus)[1], pipeline)
    first = taught(examples, settings, tmp_path, progress=False)
    again = taught(examples, attrs.evolve(settings, teacher="gone"), tmp_path, progress=False)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.lesson, other.lesson)
    with pytest.raises(InvalidArgumentError, match="other examples"):
        taught(examples[:3], settings, tmp_path, progress=False)


def test_a_teacher_speaks_only_of_corpora_it_knows(
    teacher: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(encoder_dir, teacher=str(teacher))
    pipeline = build_pipeline(teacher / "tokenizer.json", settings, load_vocabulary(teacher))
    known, other, unlabelled = prepare(split_examples(settings, corpus)[1][:3], pipeline)
    foreign = attrs.evolve(other, example=attrs.evolve(other.example, id="task:1.1"))
    nobodys = attrs.evolve(
        unlabelled, example=attrs.evolve(unlabelled.example, id="task:2.1"), labelled=False
    )
    found = taught([foreign, known, nobodys], settings, tmp_path, progress=False)
    assert [(one.example.id, one.lesson is None) for one in found] == [
        (known.example.id, False),
        ("task:1.1", True),
    ]


def test_turns_of_histories_are_learnt_from_the_teacher_alone(
    teacher: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    settings = settings_for(encoder_dir, teacher=str(teacher), unlabelled_share=0.5)
    pipeline = build_pipeline(teacher / "tokenizer.json", settings, load_vocabulary(teacher))
    training, _ = split_examples(settings, corpus)
    made = without_labels(training, settings, pipeline)
    assert 0 < len(made) <= round(len(training) / 2)
    said = {(e.history[:-1], e.history[-1].text) for e in training}
    assert all((one.example.history, one.example.utterance) in said for one in made)
    batch = collate(
        [(e.features, e) for e in taught(made, settings, tmp_path, progress=False)],
        pipeline.builder,
    )
    assert not batch.valid.any()
    assert not batch.positive.any()
    assert torch.isfinite(batch.lessons).any()


def test_turns_without_labels_need_a_teacher(encoder_dir: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="needs a teacher"):
        settings_for(encoder_dir, unlabelled_share=0.5)


def test_a_teacher_must_have_been_trained(encoder_dir: Path, corpus: Path, tmp_path: Path) -> None:
    settings = settings_for(encoder_dir, teacher=str(tmp_path / "nobody"))
    with pytest.raises(InvalidArgumentError, match="finished epoch"):
        train(settings, *split_examples(settings, corpus), tmp_path / "run", progress=False)
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["teacher"]
