from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="needs the extra train")
onnx = pytest.importorskip("onnx", reason="needs the extra train")

from queen_sdk.features import EncodedBatch  # noqa: E402
from queen_sdk.runtime import Scorer  # noqa: E402
from queen_sdk.training.batches import as_tensors  # noqa: E402
from queen_sdk.training.graphs import export_float32, export_int8, save_graph  # noqa: E402
from queen_sdk.training.scorer import QueenScorer  # noqa: E402
from queen_sdk.training.smoothing import smooth  # noqa: E402
from queen_sdk.training.thawing import thaw  # noqa: E402


def batch() -> EncodedBatch:
    ids = np.arange(40).reshape(2, 20)
    history, utterance = (np.arange(a, b)[None].repeat(2, axis=0) for a, b in ((2, 11), (13, 20)))
    return EncodedBatch(ids, ids * 0 + 1, ids * 0, history, utterance)


def scores_of(model: QueenScorer) -> np.ndarray:
    with torch.inference_mode():
        return model(**as_tensors(batch())).numpy()


def test_without_eight_bits_nothing_changes(scorer: QueenScorer, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export_float32(scorer, path)
    graph = onnx.load(str(path))
    smooth(graph, [batch()])
    save_graph(graph, path)
    with Scorer(path, providers=["cpu"]) as served:
        assert served.run(batch()) == pytest.approx(scores_of(scorer), abs=1e-4)


def test_nothing_is_divided_behind_an_attention(scorer: QueenScorer, tmp_path: Path) -> None:
    export_float32(scorer, tmp_path / "model.onnx")
    graph = onnx.load(str(tmp_path / "model.onnx"))
    before = {t.name: onnx.numpy_helper.to_array(t) for t in graph.graph.initializer}
    smooth(graph, [batch()])
    divided = [n.input[0] for n in graph.graph.node if n.input and ".factors" in n.input[-1]]
    # In two layers: what each attention and both feed-forward products read, and the projections.
    assert len(divided) == 2 * 3 + 1
    assert not any("attention/self" in name for name in divided)
    # Queries and keys keep their bias, the values do not.
    after = {t.name: onnx.numpy_helper.to_array(t) for t in graph.graph.initializer}
    kept = before["Attention_0_qkv_bias"] == after["Attention_0_qkv_bias"]
    assert kept[:64].all()
    assert not kept[64:].any()


def test_a_smoothed_int8_graph_thaws_to_the_same_scorer(
    scorer: QueenScorer, tmp_path: Path
) -> None:
    export_int8(scorer, tmp_path / "int8.onnx", calibration=[batch()])
    thawed = scores_of(thaw(tmp_path / "int8.onnx").eval())
    expected = scores_of(scorer)
    assert np.abs(thawed - expected).max() < 0.05 * np.abs(expected).max()
