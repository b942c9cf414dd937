import json
from pathlib import Path

import attrs
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk import Rewriter  # noqa: E402
from queen_sdk.bundle import load_bundle  # noqa: E402
from queen_sdk.errors import InvalidArgumentError, UnknownBundleError  # noqa: E402
from queen_sdk.training.corpora import split_examples  # noqa: E402
from queen_sdk.training.export import export_bundle  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402
from queen_sdk.training.starting import (  # noqa: E402
    average_with,
    inherited_settings,
    origin_of,
    start,
)
from queen_sdk.training.trainer import train  # noqa: E402
from queen_sdk.training.vocabulary import load_vocabulary  # noqa: E402

HISTORY = ["where is the museum", "it is in the old town"]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A domain that the embedded model was not trained on: "the gadget" means what was named."""
    things = ("lamp", "tent", "phone", "camera", "kettle", "drill", "bike", "printer", "radio")
    asked = ("is the gadget in stock", "send the gadget back please", "how heavy is the gadget")
    lines = [
        {
            "history": [f"i have bought a {colour} {thing}", "what can i do for you"],
            "utterance": utterance,
            "rewrite": utterance.replace("the gadget", f"{colour} {thing}"),
        }
        for thing in things
        for colour in ("red", "blue", "new")
        for utterance in asked
    ]
    path: Path = tmp_path_factory.mktemp("own") / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def settings_from(init: str, **changes: object) -> TrainSettings:
    settings = TrainSettings(
        data=("jsonl",),
        language="en",
        init=init,
        epochs=3,
        batch_size=8,
        learning_rate=3e-4,
        held_out=0.2,
        **inherited_settings(init, "en"),
    )
    return attrs.evolve(settings, **changes)


@pytest.mark.timeout(900)  # it trains the real network
def test_fine_tuning_an_embedded_bundle_teaches_it_a_new_domain(own: Path, tmp_path: Path) -> None:
    settings = settings_from("en")
    training, held_out = split_examples(settings, own)
    train(settings, training, held_out, tmp_path / "run", progress=False)
    tuned = tmp_path / "tuned"
    manifest = export_bundle(
        tmp_path / "run",
        tuned,
        name="gadgets",
        version="1",
        precisions=("int8",),
        check_on=held_out,
        calibrate_on=training[:8],
    )
    with Rewriter("en") as before, Rewriter(tuned) as after:
        right = [
            sum(r.rewrite(e.history, e.utterance).text == e.reference for e in held_out)
            for r in (before, after)
        ]
    assert right[1] > right[0] + len(held_out) / 2
    # It is still the same model in everything that a user would miss.
    embedded = load_bundle("en").manifest
    assert manifest.extra_words == embedded.extra_words
    assert set(embedded.collection) < set(manifest.collection)
    assert "the gadget" in manifest.collection
    assert manifest.template == embedded.template
    assert manifest.training["init"] == {"name": "en", "version": embedded.version}
    assert manifest.training["encoder"] == embedded.training["encoder"]
    assert len(manifest.training["data"]) == len(embedded.training["data"]) + 1


def test_a_run_can_start_from_another_run(
    encoder_dir: Path, corpus: Path, own: Path, tmp_path: Path
) -> None:
    first = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, max_length=96,
        marks=False, opening=9,
    )  # fmt: skip
    train(first, *split_examples(first, corpus), tmp_path / "first", progress=False)
    second = settings_from(str(tmp_path / "first"), epochs=1)
    assert (second.marks, second.max_length, second.opening) == (False, 96, 9)
    begun = start(second)
    assert begun.vocabulary == load_vocabulary(tmp_path / "first")
    train(second, *split_examples(second, own), tmp_path / "second", progress=False)
    assert origin_of(tmp_path / "second")["encoder"]["directory"] == encoder_dir.name


def test_a_run_can_start_from_the_mean_of_two(
    encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    for seed in (1, 2):
        settings = TrainSettings(
            data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, seed=seed,
            max_length=96,
        )  # fmt: skip
        train(settings, *split_examples(settings, corpus), tmp_path / str(seed), progress=False)
    one, two = (str(tmp_path / str(seed)) for seed in (1, 2))
    weights = [start(settings_from(run)).model.projection.weight for run in (one, two)]
    mean = start(settings_from(one, mean_with=two)).model.projection.weight
    assert not weights[0].equal(weights[1])
    assert mean.allclose((weights[0] + weights[1]) / 2)
    model = start(settings_from(one)).model
    average_with(model, [two, two])
    assert model.projection.weight.allclose((weights[0] + 2 * weights[1]) / 3)


def test_a_mean_needs_two_of_the_same_network(
    encoder_dir: Path, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgumentError, match="needs init"):
        TrainSettings(data=("jsonl",), language="en", encoder="x", mean_with="y")
    with pytest.raises(UnknownBundleError, match="no bundle is called 'nowhere'"):
        start(settings_from("en", mean_with="nowhere"))
    alone = start(settings_from("en")).model.projection.weight
    assert start(settings_from("en", mean_with="en")).model.projection.weight.equal(alone)
    settings = TrainSettings(
        data=("jsonl",), language="en", encoder=str(encoder_dir), epochs=1, max_length=96
    )
    train(settings, *split_examples(settings, corpus), tmp_path / "tiny", progress=False)
    with pytest.raises(InvalidArgumentError, match="another network"):
        start(settings_from("en", mean_with=str(tmp_path / "tiny")))


def test_the_dropout_is_that_of_the_new_settings() -> None:
    model = start(settings_from("en", dropout=0.25)).model
    import torch

    rates = {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)}
    assert rates == {0.25}


@pytest.mark.parametrize(
    ("init", "language", "error", "problem"),
    [
        ("nowhere", "en", UnknownBundleError, "no bundle is called"),
        ("zh", "en", InvalidArgumentError, "trained for zh, the data are in en"),
    ],
)
def test_what_cannot_be_started_from_is_refused(
    init: str, language: str, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        inherited_settings(init, language)


def test_a_run_has_one_thing_to_start_from() -> None:
    for both in ({}, {"encoder": "x", "init": "en"}):
        with pytest.raises(InvalidArgumentError, match="either an encoder or init"):
            TrainSettings(data=("jsonl",), language="en", **both)
