"""Judging: what a network is judged by, and that a finished run can be judged again."""

import json
import shutil
from pathlib import Path

import attrs
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.bundle import load_bundle, write_manifest  # noqa: E402
from queen_sdk.cli import main  # noqa: E402
from queen_sdk.confidence import ConfidenceSettings  # noqa: E402
from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.decoding import DecodingSettings  # noqa: E402
from queen_sdk.rows import ExtraWords  # noqa: E402
from queen_sdk.training.corpora import split_examples  # noqa: E402
from queen_sdk.training.export import export_bundle  # noqa: E402
from queen_sdk.training.judging import judged_examples, load_selected  # noqa: E402
from queen_sdk.training.preparation import build_pipeline, prepare  # noqa: E402
from queen_sdk.training.scorer import QueenScorer  # noqa: E402
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
    fields["selected"]["asked"] = 96.0
    file.write_text(json.dumps(fields), encoding="utf-8")
    assert main(["select", str(run), "--path", str(corpus), "--only-confidence"]) == 0
    assert load_selected(run).decoding.insert_threshold == 77
    assert load_selected(run).asked == 96
    assert main(["select", str(run), "--path", str(corpus)]) == 0
    assert load_selected(run) == before
    assert file.read_text(encoding="utf-8") == whole
    assert f"exact match {before.exact_match:.1f} %" in capsys.readouterr().out
    assert main(["select", str(run), "--path", str(corpus), "--least-untouched", "99"]) == 0
    assert load_selected(run).asked == 99


def test_the_last_pass_of_a_run_can_take_the_place_of_the_best(
    encoder_dir: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    settings = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, max_length=96,
        learning_rate=5e-3, held_out=0.2,
    )  # fmt: skip
    before = train(settings, *split_examples(settings, corpus), run, progress=False)
    best = QueenScorer.from_pretrained(run / "best")
    last = {name: values.clone() for name, values in best.state_dict().items()}
    torch.nn.init.zeros_(best.projection.weight)
    best.save_pretrained(run / "best")
    assert main(["select", str(run), "--path", str(corpus), "--last"]) == 0
    found = QueenScorer.from_pretrained(run / "best").state_dict()
    assert all(torch.equal(values, last[name]) for name, values in found.items())
    assert load_selected(run) == before

    other = QueenScorer.from_pretrained(run / "best")
    torch.nn.init.zeros_(other.projection.weight)
    shutil.copytree(run, tmp_path / "other")
    other.save_pretrained(tmp_path / "other" / "best")
    options = ["--mean-with", str(tmp_path / "other")]
    assert main(["select", str(run), "--path", str(corpus), *options]) == 0
    mean = QueenScorer.from_pretrained(run / "best").state_dict()
    halved = "projection.weight"
    assert torch.equal(mean.pop(halved), last[halved] / 2)
    assert all(torch.allclose(values, last[name]) for name, values in mean.items())

    place = run / "checkpoint" / "place.json"
    place.write_text(place.read_text().replace('"step": 0', '"step": 3'), encoding="utf-8")
    assert main(["select", str(run), "--path", str(corpus), "--last"]) == 2
    assert "stopped 3 steps into" in capsys.readouterr().err
    assert main(["select", "en", "--path", str(corpus), "--last"]) == 2
    assert "weights of a RUN" in capsys.readouterr().err


def test_some_of_the_corpora_can_judge(
    encoder_dir: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    settings = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, max_length=96,
        held_out=0.2,
    )  # fmt: skip
    before = train(settings, *split_examples(settings, corpus), run, progress=False)
    assert main(["select", str(run), "--path", str(corpus), "--data", "jsonl"]) == 0
    assert load_selected(run) == before
    assert main(["select", str(run), "--path", str(corpus), "--data", "task"]) == 2
    assert "held out of training (jsonl), got task" in capsys.readouterr().err


def test_no_more_restraint_than_all_of_it_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TrainSettings(data=("jsonl",), language="en", encoder="x").save(tmp_path / "settings.json")
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "selected.json").touch()
    assert main(["select", str(tmp_path), "--path", "x", "--least-untouched", "101"]) == 2
    assert "must be <= 100: 101" in capsys.readouterr().err


def test_kept_thresholds_cannot_be_asked_for_more_restraint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["select", "zh", "--only-confidence", "--least-untouched", "99"]) == 2
    assert "give one of the two" in capsys.readouterr().err


def test_a_bundle_is_judged_by_the_graph_that_it_serves(
    encoder_dir: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    settings = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, max_length=96,
        learning_rate=5e-3, held_out=0.2,
    )  # fmt: skip
    training, held_out = split_examples(settings, corpus)
    before = train(settings, training, held_out, run, progress=False)
    export_bundle(run, out, name="t", version="1", precisions=("float32",), check_on=held_out)
    bundle = load_bundle(out)
    spoilt = attrs.evolve(
        bundle.manifest,
        decoding=DecodingSettings(77.0, 77.0),
        confidence=ConfidenceSettings(),
        scores={
            **bundle.manifest.scores,
            "selection": {**bundle.manifest.scores["selection"], "asked": 96.0},
            "evaluation": {"jsonl": {"exact_match": 1.0}},
        },
    )
    write_manifest(out, spoilt, files=bundle.manifest.files)
    assert main(["select", str(out), "--path", str(corpus), "--only-confidence"]) == 0
    manifest = load_bundle(out).manifest
    assert manifest.decoding == DecodingSettings(77.0, 77.0)
    assert manifest.scores["selection"]["asked"] == 96
    assert manifest.confidence != ConfidenceSettings()
    assert "evaluation" not in manifest.scores
    write_manifest(out, spoilt, files=bundle.manifest.files)
    assert main(["select", str(out), "--path", str(corpus)]) == 0
    manifest = load_bundle(out).manifest
    assert manifest.decoding == before.decoding
    assert manifest.confidence != ConfidenceSettings()
    assert "evaluation" not in manifest.scores
    assert f"exact match {before.exact_match:.1f} %" in capsys.readouterr().out


def test_what_is_neither_run_nor_bundle_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", str(tmp_path), "--path", str(tmp_path)]) != 0
    assert "not a model bundle" in capsys.readouterr().err


def test_a_bundle_that_does_not_say_how_it_was_trained_is_refused(
    tiny_bundle_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", str(tiny_bundle_dir), "--path", str(tmp_path)]) == 2
    assert "how it was trained" in capsys.readouterr().err


def test_a_run_without_a_finished_epoch_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TrainSettings(data=("jsonl",), language="en", encoder="x").save(tmp_path / "settings.json")
    assert main(["select", str(tmp_path), "--path", str(tmp_path)]) == 2
    assert "finished epoch" in capsys.readouterr().err
