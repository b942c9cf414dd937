from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]
torch = pytest.importorskip("torch", reason="needs the extra bench")
import numpy as np  # noqa: E402
from ablations import DECODED, Row  # noqa: E402
from baselines.run import INSERT, NOT_A_PIXEL, REPLACE, RunNetwork, UNet, run_loss  # noqa: E402
from baselines.run_examples import (  # noqa: E402
    RunExample,
    blobs,
    decode_run,
    gold_classes,
    prepare_run,
    rewritten_by_run,
    run_inputs,
)
from baselines.run_training import run_pipeline, train_run  # noqa: E402
from measuring.encoders import encoder  # noqa: E402
from measuring.texts import made_up  # noqa: E402
from transformers import BertModel  # noqa: E402

from queen_sdk.data.splitting import carve  # noqa: E402
from queen_sdk.errors import InvalidArgumentError  # noqa: E402
from queen_sdk.pipeline import Pipeline  # noqa: E402
from queen_sdk.training.settings import TrainSettings  # noqa: E402


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> TrainSettings:
    directory, _ = encoder("tiny", None, tmp_path_factory.mktemp("encoder"))
    return TrainSettings(
        data=("rewrite",), language="zh", encoder=str(directory), epochs=2, batch_size=4,
        marks=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pipeline(settings: TrainSettings, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return run_pipeline(settings, tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def examples(pipeline: Pipeline) -> list[RunExample]:
    return prepare_run(made_up("zh"), pipeline)


@pytest.fixture(scope="module")
def network(settings: TrainSettings) -> Any:
    torch.manual_seed(3)
    bert = BertModel.from_pretrained(settings.encoder, add_pooling_layer=False)
    return RunNetwork(bert).eval()


def test_the_picture_has_a_class_score_for_every_pair(
    network: Any, examples: list[RunExample], pipeline: Pipeline
) -> None:
    features = [example.features for example in examples]
    with torch.inference_mode():
        scores = network(**run_inputs(features, pipeline.builder))
    height = max(len(f.history_index) for f in features)
    width = max(8, *(len(f.utterance_index) for f in features))
    assert scores.shape == (len(features), 3, height, width)


def test_the_head_is_as_large_as_its_description(network: Any) -> None:
    hidden = network.bert.config.hidden_size
    lstm = 2 * 4 * 200 * (hidden + 200 + 2)
    convolutions = [(403, 256), (256, 512), (512, 512), (1024, 256), (512, 128)]
    unet = sum((a * b + b * b) * 9 + 2 * 3 * b for a, b in convolutions) + 3 * 129
    assert sum(p.numel() for p in network.head_parameters()) == lstm + 801 + unet


@pytest.mark.parametrize("shape", [(8, 8), (9, 11), (30, 13)])
def test_the_u_net_keeps_the_size_of_a_picture(shape: tuple[int, int]) -> None:
    scores = UNet(5).eval()(torch.zeros(1, 5, *shape))
    assert scores.shape == (1, 3, *shape)


def test_padding_changes_no_token_vector(
    network: Any, examples: list[RunExample], pipeline: Pipeline
) -> None:
    def vectors(chosen: list[RunExample]) -> Any:
        inputs = run_inputs([e.features for e in chosen], pipeline.builder)
        hidden = network.bert(
            **{k: inputs[k] for k in ("input_ids", "attention_mask", "token_type_ids")}
        ).last_hidden_state
        index = inputs["token_index"].unsqueeze(-1).expand(-1, -1, hidden.shape[-1])
        return network._in_context(hidden.gather(1, index), inputs["token_count"]), inputs

    with torch.inference_mode():
        together, _ = vectors(examples)
        for k, example in enumerate(examples):
            alone, inputs = vectors([example])
            count = int(inputs["token_count"][0])
            torch.testing.assert_close(together[k, :count], alone[0, :count], rtol=0, atol=1e-5)
            assert not together[k, count:].any()


def test_the_loss_leaves_padding_out(examples: list[RunExample]) -> None:
    scores = torch.randn(1, 3, 40, 30)
    classes = gold_classes(examples[:1], (40, 30))
    assert (classes == NOT_A_PIXEL).any()
    noisy = torch.where(classes[:, None] == NOT_A_PIXEL, 100 * torch.randn_like(scores), scores)
    assert run_loss(noisy, classes) == pytest.approx(float(run_loss(scores, classes)))


def test_components_are_rectangles_of_one_class() -> None:
    classes = np.zeros((5, 6), dtype=np.int64)
    classes[0:2, 1:3] = REPLACE
    classes[2, 3] = REPLACE  # touches only at a corner
    classes[4, 4] = INSERT
    classes[4, 5] = REPLACE  # beside it, of another class
    found = sorted((kind, r.start, r.stop, c.start, c.stop) for kind, r, c in blobs(classes))
    assert found == [
        (REPLACE, 0, 2, 1, 3),
        (REPLACE, 2, 3, 3, 4),
        (REPLACE, 4, 5, 5, 6),
        (INSERT, 4, 5, 4, 5),
    ]


def test_gold_classes_are_decoded_to_the_reference(
    examples: list[RunExample], pipeline: Pipeline
) -> None:
    """Of those that can be rebuilt by copying; punctuation is none of the model's business."""
    rebuilt = 0
    for example in examples:
        shape = (len(example.features.history_index), len(example.features.utterance_index))
        classes = gold_classes([example], shape)[0]
        scores = torch.nn.functional.one_hot(classes, 3).permute(2, 0, 1).float().numpy()
        text = rewritten_by_run(
            example.example, example.features, decode_run(scores, example.features)
        )
        rebuilt += text == example.example.reference
    assert rebuilt >= 3


def test_overlapping_replacements_leave_the_larger(examples: list[RunExample]) -> None:
    features = examples[0].features
    scores = np.zeros((3, len(features.history_index), len(features.utterance_index)))
    scores[REPLACE, 6:9, 1:3] = 1
    scores[REPLACE, 12, 2:4] = 1
    scores[REPLACE, 15, -1] = 1  # END cannot be replaced
    (edit,) = decode_run(scores.astype(np.float32), features)
    assert (edit.kind, edit.start, edit.end) == ("substitute", 1, 3)


def test_training_goes_on_where_it_was_stopped(
    settings: TrainSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from baselines import run_training

    parts = carve(made_up("zh", 10), 0.2, settings.seed)
    whole = train_run(settings, *parts, tmp_path / "whole", progress=False)
    update, steps = run_training._Loop._update, iter(range(1000))

    def failing(loop: object, batch: object) -> float:
        if next(steps) == 4:
            raise KeyboardInterrupt
        return update(loop, batch)

    monkeypatch.setattr(run_training._Loop, "_update", failing)
    with pytest.raises(KeyboardInterrupt):
        train_run(settings, *parts, tmp_path / "cut", checkpoint_seconds=0, progress=False)
    monkeypatch.setattr(run_training._Loop, "_update", update)
    assert train_run(settings, *parts, tmp_path / "cut", progress=False) == whole
    first, second = (
        torch.load(tmp_path / name / "checkpoint.pt", weights_only=True)["network"]
        for name in ("whole", "cut")
    )
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], msg=name)
    with pytest.raises(InvalidArgumentError, match="other settings"):
        train_run(
            TrainSettings(data=("task",), language="en", encoder=settings.encoder),
            *parts,
            tmp_path / "cut",
        )


def test_parts_are_left_out_one_at_a_time(run_quickly: Callable[..., Any]) -> None:
    done = run_quickly("ablations")
    full, *decoded, no_query = done.figures["rows"]
    assert (full["name"], no_query["name"]) == ("full", "no query")
    assert len(decoded) == len(DECODED)
    assert len({len(row["right"]) for row in done.figures["rows"]}) == 1
    assert "| full |" in done.markdown
    assert "| no query |" in done.markdown


def test_encoders_are_compared_by_match_size_and_time(run_quickly: Callable[..., Any]) -> None:
    done = run_quickly("encoders")
    whole, lowest = done.figures["rows"]
    assert (whole["layers"], lowest["layers"]) == (2, 1)
    assert whole["width"] == lowest["width"]
    assert whole["megabytes"] > lowest["megabytes"] > 0
    assert min(whole["milliseconds"], lowest["milliseconds"]) > 0
    assert "| lowest layer of tiny |" in done.markdown


def test_a_difference_comes_with_its_standard_error() -> None:
    full = Row("full", [True] * 50 + [False] * 50, None)
    other = Row("other", [True] * 40 + [False] * 60, None)
    assert other.beside(full) == (pytest.approx(-10), pytest.approx(3))
    assert full.beside(full) == (0, 0)


def test_both_are_trained_and_judged_side_by_side(run_quickly: Callable[..., Any]) -> None:
    done = run_quickly("run_em")
    assert [row["system"] for row in done.figures["rows"]] == ["RUN", "QUEEN"]
    for row in done.figures["rows"]:
        assert 0 <= row["exact_match"] <= 100
    assert "| system | head parameters |" in done.markdown
