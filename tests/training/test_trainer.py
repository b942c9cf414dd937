import csv
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk import Rewriter  # noqa: E402
from queen_sdk.bundle import load_bundle, read_card  # noqa: E402
from queen_sdk.bundle.files import sha256_of  # noqa: E402
from queen_sdk.cli import main  # noqa: E402
from queen_sdk.data.examples import Example  # noqa: E402
from queen_sdk.errors import InvalidArgumentError  # noqa: E402
from queen_sdk.training.batches import as_tensors  # noqa: E402
from queen_sdk.training.corpora import split_examples  # noqa: E402
from queen_sdk.training.export import FLOAT32_TOLERANCE, export_bundle  # noqa: E402
from queen_sdk.training.preparation import build_pipeline, prepare  # noqa: E402
from queen_sdk.training.scorer import QueenScorer  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402
from queen_sdk.training.trainer import train  # noqa: E402
from queen_sdk.training.vocabulary import load_vocabulary  # noqa: E402

HISTORY = ["smith needs to find the cuisine nearby", "does smith like the cuisine"]


def settings_for(encoder: Path, **changes: object) -> TrainSettings:
    return attrs.evolve(
        TrainSettings(
            data=("jsonl",),
            language="en",
            encoder=str(encoder),
            epochs=12,
            batch_size=16,
            learning_rate=5e-3,
            head_rate=1.0,
            max_length=96,
            held_out=0.2,
            extra_words=2,
        ),
        **changes,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, encoder_dir: Path, corpus: Path) -> Path:
    folder: Path = tmp_path_factory.mktemp("run")
    settings = settings_for(encoder_dir)
    train(settings, *split_examples(settings, corpus), folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def bundle(run: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("bundle")
    _, held_out = split_examples(TrainSettings.load(run / "settings.json"), corpus)
    export_bundle(
        run,
        out,
        name="tiny",
        version="1",
        precisions=("float32", "float16", "int8"),
        check_on=held_out,
    )
    return out


def read_log(run: Path) -> list[dict[str, str]]:
    with (run / "log.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_training_learns_what_the_corpus_teaches(run: Path) -> None:
    rows = read_log(run)
    assert float(rows[-1]["loss"]) < float(rows[0]["loss"]) / 2
    assert max(float(row["incomplete"]) for row in rows) > 90


def test_a_run_leaves_its_settings_log_and_picture(run: Path, encoder_dir: Path) -> None:
    assert TrainSettings.load(run / "settings.json") == settings_for(encoder_dir)
    assert len(read_log(run)) == 12
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_finished_run_is_not_trained_again(run: Path, encoder_dir: Path, corpus: Path) -> None:
    before = (run / "log.csv").read_text(encoding="utf-8")
    settings = settings_for(encoder_dir)
    train(settings, *split_examples(settings, corpus), run, progress=False)
    assert (run / "log.csv").read_text(encoding="utf-8") == before


def test_a_run_is_not_resumed_with_other_settings(
    run: Path, encoder_dir: Path, corpus: Path
) -> None:
    settings = settings_for(encoder_dir, seed=99)
    with pytest.raises(InvalidArgumentError, match="other settings"):
        train(settings, *split_examples(settings, corpus), run, progress=False)


def test_an_interrupted_run_ends_like_an_uninterrupted_one(
    tmp_path: Path, encoder_dir: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queen_sdk.training import trainer

    settings = settings_for(encoder_dir, epochs=2)
    examples = split_examples(settings, corpus)
    whole = train(settings, *examples, tmp_path / "whole", progress=False)

    update = trainer._Loop._update
    steps = iter(range(1000))

    def failing(loop: object, batch: object) -> float:
        if next(steps) == 13:
            raise KeyboardInterrupt
        return update(loop, batch)

    monkeypatch.setattr(trainer._Loop, "_update", failing)
    with pytest.raises(KeyboardInterrupt):
        train(settings, *examples, tmp_path / "cut", checkpoint_seconds=0, progress=False)
    monkeypatch.setattr(trainer._Loop, "_update", update)
    place = json.loads((tmp_path / "cut" / "checkpoint" / "place.json").read_text())
    assert (place["epoch"], place["step"]) != (0, 0)
    assert train(settings, *examples, tmp_path / "cut", progress=False) == whole
    last_cut, last_whole = read_log(tmp_path / "cut")[-1], read_log(tmp_path / "whole")[-1]
    assert last_cut["exact_match"] == last_whole["exact_match"]


def test_only_the_ends_may_learn(
    run: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    settings = attrs.evolve(
        settings_for(encoder_dir), encoder=None, init=str(run), epochs=1, only_ends=True
    )
    train(settings, *split_examples(settings, corpus), tmp_path, progress=False)
    assert _changed(run, tmp_path) == {"ends.weight", "ends.bias"}


def test_frozen_layers_do_not_learn(
    run: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    layers = QueenScorer.from_pretrained(run / "best").config.num_hidden_layers
    settings = attrs.evolve(
        settings_for(encoder_dir), encoder=None, init=str(run), epochs=1, frozen_layers=layers
    )
    train(settings, *split_examples(settings, corpus), tmp_path, progress=False)
    assert {name.split(".")[0] for name in _changed(run, tmp_path)} == {"projection", "ends"}


def test_passes_with_other_parts_dropped_out_learn_to_agree(
    run: Path, encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    spreads = []
    for weight in (0.0, 20.0):
        settings = attrs.evolve(
            settings_for(encoder_dir, epochs=2, agreement_weight=weight, learning_rate=1e-3),
            encoder=None,
            init=str(run),
        )
        examples = split_examples(settings, corpus)
        train(settings, *examples, tmp_path / str(weight), progress=False)
        spreads.append(_spread(tmp_path / str(weight), settings, examples[1]))
    assert spreads[1] < 0.9 * spreads[0]


def _spread(run: Path, settings: TrainSettings, examples: Sequence[Example]) -> float:
    """Return by how much scores differ when other parts of the network are dropped out."""
    pipeline = build_pipeline(run / "tokenizer.json", settings, load_vocabulary(run))
    features = [one.features for one in prepare(examples, pipeline)]
    model = QueenScorer.from_pretrained(run / "best").train()
    torch.manual_seed(3)
    with torch.inference_mode():
        passes = [model(**as_tensors(pipeline.builder.batch(features))) for _ in range(8)]
    return float(torch.stack(passes).std(dim=0).mean())


def _changed(before: Path, after: Path) -> set[str]:
    """Return the names of the weights that differ between two runs."""
    old, new = (QueenScorer.from_pretrained(run / "best") for run in (before, after))
    pairs = zip(old.named_parameters(), new.parameters(), strict=True)
    return {name for (name, was), now in pairs if not was.equal(now)}


def test_the_ablation_is_remembered_by_the_bundle(
    tmp_path: Path, encoder_dir: Path, corpus: Path
) -> None:
    settings = settings_for(encoder_dir, epochs=1, ablate="no-query")
    examples = split_examples(settings, corpus)
    train(settings, *examples, tmp_path / "run", progress=False)
    manifest = export_bundle(
        tmp_path / "run",
        tmp_path / "out",
        name="x",
        version="1",
        precisions=("float32",),
        check_on=examples[1][:5],
    )
    assert manifest.template.query is False
    assert manifest.training["ablation"] == "no-query"
    with Rewriter(tmp_path / "out") as rewriter:
        assert rewriter.explain(HISTORY, "no he does not care").query == ()


def test_the_export_is_checked_against_torch(bundle: Path) -> None:
    checks = load_bundle(bundle).manifest.scores["export"]
    assert checks["float32"]["max_difference"] < FLOAT32_TOLERANCE
    assert checks["float32"]["batch_difference"] < FLOAT32_TOLERANCE
    assert checks["float32"]["exact_match"] == checks["torch"]["exact_match"]
    assert checks["examples"] > 0
    assert checks["int8"]["exact_match"] >= checks["torch"]["exact_match"] - 10


def test_an_export_over_a_bundle_keeps_what_people_wrote_into_its_card(
    run: Path, bundle: Path, corpus: Path, tmp_path: Path
) -> None:
    pytest.importorskip("spacy", reason="English metric tokens need spaCy")
    out = tmp_path / "out"
    shutil.copytree(bundle, out)
    assert load_bundle(out).manifest.files["CARD.md"] == sha256_of(out / "CARD.md")
    fresh = read_card(load_bundle(out))
    assert "# tiny 1\n" in fresh
    assert "To be filled in" in fresh
    facts = fresh.partition("## Known failures")[0]
    (out / "CARD.md").write_text(f"{facts}## Known failures\nIt knows two names.\n", "utf-8")
    export = ["export", run, out, "--name", "tiny", "--version", "2", "--precision", "int8"]
    record = ["eval", "--bundle", out, "--data", "jsonl", "--language", "en", "--record"]
    for command in (export, record):
        assert main([*map(str, command), "--path", str(corpus)]) == 0
    text = read_card(load_bundle(out))
    assert "# tiny 2\n" in text
    assert "- number formats: int8\n" in text
    assert re.search(r"\| jsonl  \| +160 \|", text)
    assert re.search(r"\| jsonl  \| +0\.9 \|", text)
    assert text.endswith("## Known failures\nIt knows two names.\n")
    assert load_bundle(out).manifest.files["CARD.md"] == sha256_of(out / "CARD.md")


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_an_exported_bundle_rewrites(bundle: Path, precision: str) -> None:
    with Rewriter(bundle, precision=precision) as rewriter:
        assert rewriter.rewrite(HISTORY, "no he does not care").text == "no smith does not care"
        assert rewriter.rewrite(HISTORY, "no smith does not care").changed is False


def test_an_unfinished_run_cannot_be_exported(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="no finished epoch"):
        export_bundle(
            tmp_path, tmp_path / "out", name="x", version="1", precisions=("int8",), check_on=()
        )
