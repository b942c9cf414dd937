import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.train
pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.training.corpora import split_examples  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402


def qrecc(question: str, label: str) -> dict[str, str]:
    return {"conversation": "Q: Who is Ann? A: A poet.", "question": question, "label": label}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shared = ("Who were her parents?", "Who were Ann's parents?")
    own = [qrecc(f"Did she win prize {k}?", f"Did Ann win prize {k}?") for k in range(40)]
    (tmp_path / "qrecc").mkdir()
    lines = map(json.dumps, [qrecc(*shared), *own])
    (tmp_path / "qrecc" / "train-4k.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def canard(data: Path, question: str, rewrite: str) -> None:
    record = {"History": ["Ann", "Life"], "Question": question, "Rewrite": rewrite}
    (data / "canard").mkdir()
    (data / "canard" / "dev.json").write_text(json.dumps([record]), encoding="utf-8")


SETTINGS = TrainSettings(data=("qrecc",), language="en", encoder="x", held_out=0.1)


def test_what_another_corpus_evaluates_on_is_not_trained_on(data: Path) -> None:
    canard(data, "Who were her parents ?", "Who were Ann 's parents ?")
    told: list[str] = []
    training, held_out = split_examples(SETTINGS, data, report=told.append)
    assert len(training) + len(held_out) == 40
    assert "1 examples left out" in told[0]
    assert all("parents" not in e.utterance for e in (*training, *held_out))


def test_the_same_question_about_somebody_else_stays(data: Path) -> None:
    canard(data, "Who were her parents ?", "Who were Bea 's parents ?")
    told: list[str] = []
    training, held_out = split_examples(SETTINGS, data, report=told.append)
    assert len(training) + len(held_out) == 41
    assert told == []


def test_corpora_that_are_not_there_are_not_missed(data: Path) -> None:
    training, held_out = split_examples(SETTINGS, data)
    assert (len(training), len(held_out)) == (37, 4)
