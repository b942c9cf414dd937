from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")
onnx = pytest.importorskip("onnx", reason="needs the extra train")

from onnx import TensorProto, helper  # noqa: E402

from queen_sdk.features import EncodedBatch  # noqa: E402
from queen_sdk.runtime import Scorer, onnxruntime  # noqa: E402
from queen_sdk.training.batches import as_tensors  # noqa: E402
from queen_sdk.training.graphs import export_float16, export_float32, export_int8  # noqa: E402
from queen_sdk.training.needed_rows import keep_needed_rows  # noqa: E402
from queen_sdk.training.scorer import QueenConfig, QueenScorer  # noqa: E402

LAST_NORM = "/bert/encoder/layer.{}/output/LayerNorm/LayerNormalization_output_0"


def padded_batch() -> EncodedBatch:
    """Return a dialogue of 20 pieces and a shorter one; padded indices point at place 0."""
    ids, mask = np.arange(40).reshape(2, 20), np.ones((2, 20), dtype=np.int64)
    history, utterance = (np.arange(a, b)[None].repeat(2, axis=0) for a, b in ((2, 9), (14, 18)))
    ids[1, 13:], mask[1, 13:] = 0, 0
    history[1, 4:] = 0
    utterance[1] = [8, 10, 12, 0]
    return EncodedBatch(ids, mask, ids * 0, history, utterance)


def of_layers(count: int) -> QueenScorer:
    torch.manual_seed(count)
    config = QueenConfig(
        projection_size=16,
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=count,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.2,
        attn_implementation="eager",
    )
    return QueenScorer(config).eval()


def rows_of_the_last_layer(path: Path, layer: int, batch: EncodedBatch) -> int:
    graph = onnx.load(str(path))
    name = LAST_NORM.format(layer)
    graph.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return int(session.run([name], batch.as_inputs())[0].shape[1])


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_scores_are_those_of_torch_with_padding_too(layers: int, tmp_path: Path) -> None:
    model, path, batch = of_layers(layers), tmp_path / "model.onnx", padded_batch()
    export_float32(model, path)
    with torch.inference_mode():
        expected = model(**as_tensors(batch)).numpy()
    with Scorer(path, providers=["cpu"]) as served:
        assert served.run(batch) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bits", [8, 32])
def test_the_last_layer_has_a_row_for_each_scored_token(
    layers: int, bits: int, tmp_path: Path
) -> None:
    export: Any = {8: export_int8, 32: export_float32}[bits]
    export(of_layers(layers), tmp_path / "model.onnx")
    assert rows_of_the_last_layer(tmp_path / "model.onnx", layers - 1, padded_batch()) == 7 + 4


def test_half_precision_has_it_too(scorer: QueenScorer, tmp_path: Path) -> None:
    export_float32(scorer, tmp_path / "model.onnx")
    export_float16(scorer, tmp_path / "model.onnx", tmp_path / "half.onnx")
    operators = [node.op_type for node in onnx.load(str(tmp_path / "half.onnx")).graph.node]
    assert operators.count("GatherND") == 2
    batch = padded_batch()
    with torch.inference_mode():
        expected = scorer(**as_tensors(batch)).numpy()
    with Scorer(tmp_path / "half.onnx", providers=["cpu"]) as served:
        assert served.run(batch) == pytest.approx(expected, abs=2e-2)


def test_a_graph_of_another_structure_is_refused(scorer: QueenScorer, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    foreign = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [])
    with pytest.raises(ValueError, match="no fused attention"):
        keep_needed_rows(helper.make_model(foreign))
    export_float32(scorer, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="not picked by one GatherElements"):
        keep_needed_rows(onnx.load(str(tmp_path / "model.onnx")))  # it has been done
