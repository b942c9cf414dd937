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

from queen_sdk.decoding import Scores
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.features import Features
from queen_sdk.pipeline import Prepared
from queen_sdk.rows import Row
from queen_sdk.training.judging import torch_score
from queen_sdk.training.preparation import TrainingExample, build_pipeline
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.selection import score_features
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.vocabulary import load_vocabulary

Lesson = npt.NDArray[np.float16]
"""Operations × rows × columns of the pupil."""

_FILE = "lessons.npz"
_AT_ONCE = 2_048
"""Examples that are scored between two moves of the progress bar."""


def taught(
    examples: Sequence[TrainingExample], teacher: Path, run: Path, *, progress: bool
) -> list[TrainingExample]:
    """Return the examples with the teacher's scores, which `run` keeps.

    Raises:
        InvalidArgumentError: The teacher is no run with a finished epoch.
    """
    file = run / _FILE
    shapes = [_shape(example.features) for example in examples]
    if file.exists():
        flat = np.load(file)["scores"]
    else:
        lessons = list(_lessons(examples, teacher, progress=progress))
        flat = np.concatenate([lesson.ravel() for lesson in lessons])
        fresh = run / f"new-{_FILE}"
        np.savez(fresh, scores=flat)
        fresh.rename(file)  # whole or not at all: asking a teacher takes long
    sizes = np.array([int(np.prod(shape)) for shape in shapes])
    if len(flat) != sizes.sum():
        raise InvalidArgumentError(
            f"{file} is of other examples; remove it to ask the teacher anew"
        )
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    return [
        attrs.evolve(example, lesson=part.reshape(shape))
        for example, part, shape in zip(examples, parts, shapes, strict=True)
    ]


def _shape(features: Features) -> tuple[int, int, int]:
    return 2, len(features.history_index), len(features.utterance_index)


def _lessons(
    examples: Sequence[TrainingExample], teacher: Path, *, progress: bool
) -> Iterator[Lesson]:
    if not (teacher / "best" / "selected.json").exists():
        raise InvalidArgumentError(f"teacher must be a run with a finished epoch, got {teacher}")
    settings = TrainSettings.load(teacher / "settings.json")
    pipeline = build_pipeline(teacher / "tokenizer.json", settings, load_vocabulary(teacher))
    score = torch_score(QueenScorer.from_pretrained(teacher / "best"))
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
            lesson[:, k] = scores[:2, theirs[key]]
    return lesson


def _keys(rows: Sequence[Row]) -> list[Hashable]:
    """Say of each row what it is: a word of a turn, or an extra word before or behind them."""
    first = next((k for k, row in enumerate(rows) if row.turn is not None), len(rows))
    return [
        (row.token.text, k < first) if row.turn is None else (row.turn, row.token.start)
        for k, row in enumerate(rows)
    ]
