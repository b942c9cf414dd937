"""A teacher's scores as soft targets: computed once, and kept beside the run.

Teacher and pupil may have other word pieces, extra words and windows; what both see are words of
the dialogue. A cell that only the pupil has gets no target (nan).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np
import numpy.typing as npt
from tqdm.auto import tqdm

from queen_sdk.data.splitting import corpus_of
from queen_sdk.decoding import Scores
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.features import Features
from queen_sdk.pipeline import Prepared
from queen_sdk.rows import Row
from queen_sdk.training.judging import torch_score
from queen_sdk.training.preparation import TrainingExample, build_pipeline
from queen_sdk.training.scorer import PLANES, QueenScorer
from queen_sdk.training.selection import score_features
from queen_sdk.training.settings import Precision, TrainSettings
from queen_sdk.training.vocabulary import load_vocabulary

Lesson = npt.NDArray[np.float16]
"""Planes × rows × columns of the pupil."""

_FILE = "lessons.npz"
_AT_ONCE = 2_048
"""Examples that are scored between two moves of the progress bar."""


def taught(
    examples: Sequence[TrainingExample], settings: TrainSettings, run: Path, *, progress: bool
) -> list[TrainingExample]:
    """Return the examples with the teacher's scores, which `run` keeps.

    A teacher is asked only about corpora that it was trained on itself; examples of others stay as
    they are, or go if nobody else knows what is to be done with them.

    Raises:
        InvalidArgumentError: The teacher is no run with a finished epoch.
    """
    file = run / _FILE
    if not file.exists():
        _ask(examples, settings, file, progress=progress)
    with np.load(file) as kept:
        flat, known = kept["scores"], set(kept["corpora"].tolist())
    asked = [example for example in examples if corpus_of(example.example) in known]
    shapes = [_shape(example.features) for example in asked]
    sizes = np.array([int(np.prod(shape)) for shape in shapes], dtype=np.int64)
    if len(flat) != sizes.sum():
        raise InvalidArgumentError(
            f"{file} is of other examples; remove it to ask the teacher anew"
        )
    behind = np.cumsum(sizes)
    lessons = [
        attrs.evolve(example, lesson=flat[end - size : end].reshape(shape))
        for example, size, end, shape in zip(asked, sizes, behind, shapes, strict=True)
    ]
    others = (example for example in examples if corpus_of(example.example) not in known)
    return [*lessons, *(example for example in others if example.labelled)]


def _ask(
    examples: Sequence[TrainingExample], settings: TrainSettings, file: Path, *, progress: bool
) -> None:
    teacher = Path(str(settings.teacher))
    if not (teacher / "best" / "selected.json").exists():
        raise InvalidArgumentError(f"teacher must be a run with a finished epoch, got {teacher}")
    known = TrainSettings.load(teacher / "settings.json").data
    asked = [example for example in examples if corpus_of(example.example) in known]
    lessons = _lessons(asked, teacher, settings.precision, progress=progress)
    flat = [lesson.ravel() for lesson in lessons]
    fresh = file.with_name(f"new-{_FILE}")
    scores = np.concatenate([np.zeros(0, dtype=np.float16), *flat])
    np.savez_compressed(fresh, scores=scores, corpora=np.array(known))
    fresh.rename(file)  # whole or not at all: asking a teacher takes long


def _shape(features: Features) -> tuple[int, int, int]:
    return PLANES, len(features.history_index), len(features.utterance_index)


def _lessons(
    examples: Sequence[TrainingExample], teacher: Path, precision: Precision, *, progress: bool
) -> Iterator[Lesson]:
    settings = TrainSettings.load(teacher / "settings.json")
    pipeline = build_pipeline(teacher / "tokenizer.json", settings, load_vocabulary(teacher))
    score = torch_score(QueenScorer.from_pretrained(teacher / "best"), precision)
    with tqdm(total=len(examples), desc="teacher", disable=not progress) as bar:
        for start in range(0, len(examples), _AT_ONCE):
            chosen = examples[start : start + _AT_ONCE]
            asked = [pipeline.prepare(e.example.history, e.example.utterance) for e in chosen]
            seen = [one.features if isinstance(one, Prepared) else None for one in asked]
            scores = iter(score_features([f for f in seen if f], score, pipeline.builder))
            for example, features in zip(chosen, seen, strict=True):
                found = None if features is None else (features, next(scores))
                yield _lesson(example.features, found)
            bar.update(len(chosen))


def _lesson(own: Features, found: tuple[Features, Scores] | None) -> Lesson:
    """Lay the teacher's scores out in the pupil's rows; nan where it has nothing to say."""
    lesson: Lesson = np.full(_shape(own), np.nan, dtype=np.float16)
    if found is None or found[0].utterance != own.utterance:
        return lesson
    teachers, scores = found
    theirs = {key: k for k, key in enumerate(_keys(teachers.rows))}
    for k, key in enumerate(_keys(own.rows)):
        if key in theirs:
            lesson[:, k] = scores[:, theirs[key]]
    lesson[0, :, -1] = np.nan  # END cannot be replaced
    return lesson


def _keys(rows: Sequence[Row]) -> list[Hashable]:
    """Say of each row what it is: a word of a turn, or an extra word before or behind them."""
    first = next((k for k, row in enumerate(rows) if row.turn is not None), len(rows))
    return [
        (row.token.text, k < first) if row.turn is None else (row.turn, row.token.start)
        for k, row in enumerate(rows)
    ]
