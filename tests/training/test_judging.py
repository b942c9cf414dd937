"""Judging: what a network is judged by, and that a finished run can be judged again."""

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.cli import main  # noqa: E402
from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.rows import ExtraWords  # noqa: E402
from queen_sdk.training.corpora import split_examples  # noqa: E402
from queen_sdk.training.judging import judged_examples, load_selected  # noqa: E402
from queen_sdk.training.preparation import build_pipeline, prepare  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402
from queen_sdk.training.trainer import train  # noqa: E402
from queen_sdk.training.vocabulary import Vocabulary  # noqa: E402
from queen_sdk.values import Turn  # noqa: E402


def test_what_no_edit_can_rebuild_is_judged_but_not_trained_on(encoder_dir: Path) -> None:
    settings = TrainSettings(data=("task",), language="en", encoder="x")
    pipeline = build_pipeline(
        encoder_dir / "tokenizer.json", settings, Vocabulary(ExtraWords(), ())
    )
    history = (Turn("smith is here"),)
    lost = Example(history, utterance="does he like", reference="why does he like", id="task:1.1")
    assert prepare([lost], pipeline) == []
    judged = judged_examples([lost], settings, pipeline)
    assert [one.example.utterance for one in judged] == ["does he like", "why does he like"]
    assert [one.rebuildable for one in judged] == [False, True]


def test_a_finished_run_can_be_judged_again(
    encoder_dir: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    settings = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, max_length=96,
        learning_rate=5e-3, held_out=0.2, precision="bfloat16",
    )  # fmt: skip
    before = train(settings, *split_examples(settings, corpus), run, progress=False)
    file = run / "best" / "selected.json"
    whole = file.read_text(encoding="utf-8")
    fields = json.loads(whole)
    fields["selected"]["decoding"]["insert_threshold"] = 77.0
    file.write_text(json.dumps(fields), encoding="utf-8")
    assert main(["select", str(run), "--path", str(corpus)]) == 0
    assert load_selected(run) == before
    assert file.read_text(encoding="utf-8") == whole
    assert f"exact match {before.exact_match:.1f} %" in capsys.readouterr().out


def test_a_run_without_a_finished_epoch_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", str(tmp_path), "--path", str(tmp_path)]) == 2
    assert "finished epoch" in capsys.readouterr().err
