from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")
onnx = pytest.importorskip("onnx", reason="needs the extra train")

from queen_sdk.features import EncodedBatch  # noqa: E402
from queen_sdk.runtime import KEPT_APART, Scorer, onnxruntime  # noqa: E402
from queen_sdk.training.batches import as_tensors  # noqa: E402
from queen_sdk.training.graphs import (  # noqa: E402
    export_float32,
    export_int8,
    save_graph,
    split_norms,
)
from queen_sdk.training.scorer import QueenScorer  # noqa: E402


def batch() -> EncodedBatch:
    ids = torch.arange(40).reshape(2, 20).numpy()
    places = [torch.arange(a, b).repeat(2, 1).numpy() for a, b in ((2, 11), (13, 20))]
    return EncodedBatch(ids, ids * 0 + 1, ids * 0, *places)


def operators(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(str(path)).graph.node}


def test_split_norms_compute_the_same(scorer: QueenScorer, tmp_path: Path) -> None:
    fused, split = tmp_path / "fused.onnx", tmp_path / "split.onnx"
    export_float32(scorer, fused)
    graph = onnx.load(str(fused))
    split_norms(graph)
    save_graph(graph, split)
    assert "SkipLayerNormalization" in operators(fused)
    assert "SkipLayerNormalization" not in operators(split)
    with torch.inference_mode():
        expected = scorer(**as_tensors(batch())).numpy()
    for path in (fused, split):
        with Scorer(path, providers=["cpu"]) as served:
            assert served.run(batch()) == pytest.approx(expected, abs=1e-4)


def test_eight_bits_are_served_with_split_norms(scorer: QueenScorer, tmp_path: Path) -> None:
    path = tmp_path / "int8.onnx"
    export_int8(scorer, path)
    assert "SkipLayerNormalization" not in operators(path)
    assert "MatMulInteger" in operators(path)
    # Loading a graph fuses again what it can.
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    for disabled, fused in (((), True), (KEPT_APART, False)):
        options.optimized_model_filepath = str(tmp_path / f"{fused}.onnx")
        onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
        )
        loaded = operators(tmp_path / f"{fused}.onnx")
        assert ("SkipLayerNormalization" in loaded) is fused
