"""`queen train`: from options to settings; the training itself is tested elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Queen = Callable[..., Any]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Write a hundred dialogues of our own form."""
    line = '{"history": ["史密斯是谁"], "utterance": "他好吗", "rewrite": "史密斯好吗"}\n'
    file = tmp_path / "own.jsonl"
    file.write_text(line * 100, encoding="utf-8")
    return file


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the trainer by one that only remembers what it was asked."""
    from queen_sdk.decoding import DecodingSettings
    from queen_sdk.training import trainer
    from queen_sdk.training.selection import Selected

    made: list[Any] = []

    def train(settings: Any, training: Sequence[Any], held_out: Sequence[Any], run: Path) -> Any:
        made.append((settings, len(training), len(held_out), run))
        return Selected(DecodingSettings(), 61.26, 50.0, 97.5)

    monkeypatch.setattr(trainer, "train", train)
    return made


def own(corpus: Path, *options: object) -> tuple[object, ...]:
    fixed = ("--data", "jsonl", "--path", corpus, "--encoder", corpus.parent, "--out", "run")
    return ("train", *fixed, "--language", "zh", *options)


@pytest.mark.train
def test_defaults_are_those_of_the_settings(queen: Queen, corpus: Path, calls: list[Any]) -> None:
    from queen_sdk.training.settings import TrainSettings

    outcome = queen(*own(corpus))
    expected = TrainSettings(data=("jsonl",), language="zh", encoder=str(corpus.parent))
    assert calls == [(expected, 95, 5, Path("run"))]
    assert outcome.code == 0
    assert "exact match 61.3 %" in outcome.out
    assert "left untouched 97.5 %" in outcome.out


@pytest.mark.train
def test_every_option_reaches_its_setting(queen: Queen, corpus: Path, calls: list[Any]) -> None:
    values: dict[str, Any] = {
        "epochs": 2,
        "batch_size": 4,
        "learning_rate": 0.001,
        "seed": 5,
        "limit": 50,
        "max_length": 64,
        "complete_share": 0.3,
        "gold_share": 0.4,
        "extra_words": 3,
        "long_share": 0.25,
        "mean_kept": 0.9,
        "opening": 12,
        "most_judged": 20,
        "least_untouched": 98.0,
        "held_out": 0.5,
        "select_on": "train-split",
        "ablate": "no-query",
        "precision": "bfloat16",
        "teacher": "larger",
        "teacher_weight": 0.5,
        "agreement_weight": 0.6,
        "ends_weight": 0.7,
        "frozen_layers": 1,
        "dropout": 0.2,
        "distractor_share": 0.05,
        "exchange_share": 0.4,
    }
    options = [text for k, v in values.items() for text in (f"--{k.replace('_', '-')}", v)]
    assert queen(*own(corpus, *options)).code == 0
    settings, training, held_out, _ = calls[0]
    assert {name: getattr(settings, name) for name in values} == values
    assert (training, held_out) == (25, 25)


@pytest.mark.train
def test_a_corpus_can_come_several_times_in_a_pass(
    queen: Queen, corpus: Path, calls: list[Any]
) -> None:
    assert queen(*own(corpus, "--repeat", "jsonl=3")).code == 0
    assert calls[0][0].repeats == {"jsonl": 3}


@pytest.mark.train
def test_its_complete_utterances_alone_can_come_more_often(
    queen: Queen, corpus: Path, calls: list[Any]
) -> None:
    assert queen(*own(corpus, "--repeat-complete", "jsonl=2.5")).code == 0
    assert (calls[0][0].repeats, calls[0][0].complete_repeats) == ({}, {"jsonl": 2.5})


@pytest.mark.train
def test_turns_of_a_corpus_can_be_said_without_what_they_repeat(
    queen: Queen, corpus: Path, calls: list[Any]
) -> None:
    assert queen(*own(corpus, "--omit", "jsonl=0.5")).code == 0
    assert calls[0][0].omissions == {"jsonl": 0.5}


@pytest.mark.train
@pytest.mark.parametrize(
    ("option", "setting"),
    [("--repeat", "repeats"), ("--repeat-complete", "complete_repeats"), ("--omit", "omissions")],
)
@pytest.mark.parametrize(
    "value", ["jsonl", "jsonl=", "jsonl=0", "jsonl=-1", "jsonl=nan", "jsonl=inf", "task=2", "=2"]
)
def test_what_is_no_number_for_a_corpus_is_refused(
    queen: Queen, corpus: Path, calls: list[Any], option: str, setting: str, value: str
) -> None:
    outcome = queen(*own(corpus, option, value))
    assert (outcome.code, calls) == (2, [])
    assert option in outcome.err or setting in outcome.err


@pytest.mark.train
def test_going_on_from_a_bundle_keeps_its_template(
    queen: Queen, corpus: Path, calls: list[Any]
) -> None:
    from queen_sdk.bundle import load_bundle

    fixed = ("--data", "jsonl", "--path", corpus, "--language", "zh", "--out", "run")
    assert queen("train", *fixed, "--init", "zh", "--rebuildable", "--only-ends").code == 0
    settings, manifest = calls[0][0], load_bundle("zh").manifest
    assert (settings.init, settings.encoder) == ("zh", None)
    assert (settings.rebuildable, settings.only_ends) == (True, True)
    assert settings.marks is manifest.template.marks
    assert settings.max_length == manifest.max_length
    assert settings.parser == (manifest.parser and manifest.parser.name)
    assert queen("train", *fixed, "--init", "zh", "--max-length", 64).code == 0
    assert calls[1][0].max_length == 64


@pytest.mark.train
def test_selecting_on_the_evaluation_part_trains_on_everything(
    queen: Queen, corpus: Path, calls: list[Any], tmp_path: Path
) -> None:
    data = tmp_path / "corpus.txt"
    data.write_text("谁\t\t我\t\t他\t\t我\n" * 18_010, encoding="utf-8")
    fixed = ("--data", "rewrite", "--path", data, "--encoder", tmp_path, "--out", "run")
    assert queen("train", *fixed, "--select-on", "eval").code == 0
    assert calls[0][1:3] == (18_000, 10)
    assert calls[0][0].language == "zh"


@pytest.mark.train
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--epochs", 0), "epochs"),
        (("--limit", 0), "--limit must be a whole number"),
        (("--threads", 0), "--threads must be a whole number"),
        (("--held-out", 0), "held_out must leave examples on both sides"),
        (("--held-out", 1), "held_out must leave examples on both sides"),
        (("--select-on", "eval"), "jsonl has no evaluation part"),
        (("--encoder", "nowhere"), "--encoder must be the directory"),
        (("--init", "zh"), "not allowed with argument --encoder"),
        (("--data", "task"), "one language is needed, got en and zh"),
    ],
)
def test_misuse_is_code_2(
    queen: Queen, corpus: Path, calls: list[Any], options: tuple[object, ...], problem: str
) -> None:
    outcome = queen(*own(corpus, *options))
    assert outcome.code == 2
    assert problem in outcome.err
    assert calls == []


@pytest.mark.train
def test_threads_are_set_before_torch_is_loaded(
    queen: Queen, corpus: Path, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert queen(*own(corpus, "--threads", 1)).code == 0
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_without_the_extra_the_pip_line_is_printed(
    queen: Queen, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("queen_sdk.training")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("accelerate", "torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    outcome = queen(*own(corpus))
    assert outcome.code == 2
    assert "pip install 'queen-sdk[train]'" in outcome.err
