from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")

from queen_sdk.bundle.files import EMBEDDED  # noqa: E402
from queen_sdk.errors import InvalidArgumentError  # noqa: E402
from queen_sdk.runtime import Scorer  # noqa: E402
from queen_sdk.training.graphs import export_float16, export_float32, export_int8  # noqa: E402
from queen_sdk.training.scorer import QueenScorer  # noqa: E402
from queen_sdk.training.thawing import thaw  # noqa: E402


def largest_difference(one: QueenScorer, other: QueenScorer) -> float:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


def test_a_float32_graph_gives_back_the_very_weights(scorer: QueenScorer, tmp_path: Path) -> None:
    export_float32(scorer, tmp_path / "model.onnx")
    thawed = thaw(tmp_path / "model.onnx")
    assert largest_difference(scorer, thawed) == 0
    for name in ("num_attention_heads", "num_hidden_layers", "intermediate_size", "hidden_size"):
        assert getattr(thawed.config, name) == getattr(scorer.config, name)
    assert thawed.config.layer_norm_eps == pytest.approx(scorer.config.layer_norm_eps)


def test_a_float16_graph_gives_them_back_rounded(scorer: QueenScorer, tmp_path: Path) -> None:
    export_float32(scorer, tmp_path / "model.onnx")
    export_float16(scorer, tmp_path / "model.onnx", tmp_path / "half.onnx")
    assert 0 < largest_difference(scorer, thaw(tmp_path / "half.onnx")) < 1e-2


def test_an_int8_graph_gives_back_what_its_numbers_stand_for(
    scorer: QueenScorer, tmp_path: Path
) -> None:
    export_int8(scorer, tmp_path / "int8.onnx")
    assert 0 < largest_difference(scorer, thaw(tmp_path / "int8.onnx")) < 2e-2


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_embedded_bundle_scores_alike_when_thawed(language: str) -> None:
    path = EMBEDDED / language / "model.int8.onnx"
    model = thaw(path).eval()
    ids = torch.arange(200, 240).unsqueeze(0)
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
        "history_index": torch.arange(2, 20).unsqueeze(0),
        "utterance_index": torch.arange(22, 38).unsqueeze(0),
    }
    from queen_sdk.features import EncodedBatch

    with torch.inference_mode(), Scorer(path) as runtime:
        thawed = model(**inputs).numpy()
        served = runtime.run(EncodedBatch(**{k: v.numpy() for k, v in inputs.items()}))
    # Not equal: the activations of the one are rounded to eight bits as well.
    planes = served.shape[1]  # older bundles do not say where spans begin and end
    assert np.corrcoef(thawed[:, :planes].ravel(), served.ravel())[0, 1] > 0.9


def test_a_foreign_graph_is_refused(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [])
    onnx.save(helper.make_model(graph), str(tmp_path / "foreign.onnx"))
    with pytest.raises(InvalidArgumentError, match="not a graph of queen export"):
        thaw(tmp_path / "foreign.onnx")
