"""The scorer as ONNX graphs: exported by optimum, fused, and in smaller number formats."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model
from optimum.exporters.onnx import export
from optimum.exporters.onnx.model_configs import BertOnnxConfig

from queen_sdk.features import EncodedBatch
from queen_sdk.training.needed_rows import keep_needed_rows
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.smoothing import smooth

_OPSET = 17
_FUSED_OPERATORS = "com.microsoft"
_IR_VERSION = 10
"""Old enough for every ONNX Runtime that the package allows."""


class _ScorerOnnxConfig(BertOnnxConfig):
    """Inputs, outputs and example inputs of the scorer."""

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        """Name the inputs and their dynamic axes."""
        sequence = {0: "batch", 1: "sequence"}
        return {
            "input_ids": sequence,
            "attention_mask": sequence,
            "token_type_ids": sequence,
            "history_index": {0: "batch", 1: "history"},
            "utterance_index": {0: "batch", 1: "utterance"},
        }

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """Name the output and its dynamic axes."""
        return {"scores": {0: "batch", 2: "history", 3: "utterance"}}

    def generate_dummy_inputs(self, framework: str = "pt", **shapes: Any) -> dict[str, Any]:
        """Return inputs to trace with."""
        length = 24
        ids = torch.full((2, length), 5, dtype=torch.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "token_type_ids": torch.zeros_like(ids),
            "history_index": torch.arange(3, 12).repeat(2, 1),
            "utterance_index": torch.arange(14, 20).repeat(2, 1),
        }
        if framework == "np":
            return {name: tensor.numpy() for name, tensor in inputs.items()}
        return inputs


def export_float32(model: QueenScorer, path: Path) -> None:
    """Export and fuse the scorer in full precision."""
    with TemporaryDirectory() as scratch:
        plain = Path(scratch) / "plain.onnx"
        config = _ScorerOnnxConfig(model.config, task="feature-extraction")
        export(model.eval(), config, plain, opset=_OPSET)
        graph = _fused(plain, model, embeddings=True).model
        keep_needed_rows(graph)
        save_graph(graph, path)


def export_float16(model: QueenScorer, float32: Path, path: Path) -> None:
    """Convert the exported scorer to half precision; inputs and scores keep their types."""
    fused = _fused(float32, model, embeddings=True)
    fused.convert_float_to_float16(keep_io_types=True)
    save_graph(fused.model, path)


def export_int8(
    model: QueenScorer, path: Path, *, calibration: Sequence[EncodedBatch] = ()
) -> None:
    """Export the scorer with 8-bit weights: matrices per channel, word embeddings per row.

    `calibration` are batches without padding that show typical activations; with them, outliers
    are moved into the weights first. Seven bits of range are used, so that CPUs without VNNI,
    whose 16-bit sums saturate, compute the same as those with it.
    """
    with TemporaryDirectory() as scratch:
        plain, fused = Path(scratch) / "plain.onnx", Path(scratch) / "fused.onnx"
        config = _ScorerOnnxConfig(model.config, task="feature-extraction")
        export(model.eval(), config, plain, opset=_OPSET)
        graph = _fused(plain, model, embeddings=False).model
        keep_needed_rows(graph)
        smooth(graph, calibration)
        split_norms(graph)
        _shrink_embeddings(graph)
        save_graph(graph, fused)
        smaller = Path(scratch) / "int8.onnx"
        quantize_dynamic(
            fused,
            smaller,
            op_types_to_quantize=["MatMul", "Attention"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": TensorProto.FLOAT, "MatMulConstBOnly": True},
        )
        save_graph(onnx.load(str(smaller)), path)


def _fused(path: Path, model: QueenScorer, *, embeddings: bool) -> Any:
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = embeddings
    return optimize_model(
        str(path),
        model_type="bert",
        num_heads=model.config.num_attention_heads,
        hidden_size=model.config.hidden_size,
        optimization_options=options,
        opt_level=0,
    )


def split_norms(graph: onnx.ModelProto) -> None:
    """Take sums and layer norms apart again.

    Fusion needs them together to find the attention, but on the CPU ONNX Runtime computes the fused
    node more slowly than its parts. The runtime is told not to fuse them again.
    """
    nodes: list[onnx.NodeProto] = []
    for node in graph.graph.node:
        if node.op_type != "SkipLayerNormalization":
            nodes.append(node)
            continue
        first, second, scale, shift, *bias = node.input
        (output,) = node.output
        (epsilon,) = (a.f for a in node.attribute if a.name == "epsilon")
        if bias:
            biased = f"{output}.biased"
            nodes.append(helper.make_node("Add", [first, *bias], [biased]))
            first = biased
        total = f"{output}.sum"
        nodes += [
            helper.make_node("Add", [first, second], [total]),
            helper.make_node(
                "LayerNormalization", [total, scale, shift], [output], axis=-1, epsilon=epsilon
            ),
        ]
    del graph.graph.node[:]
    graph.graph.node.extend(nodes)


def _shrink_embeddings(graph: onnx.ModelProto) -> None:
    """Shrink the word embeddings: the table that is looked up by word pieces."""
    tables = {
        n.input[0] for n in graph.graph.node if n.op_type == "Gather" and "input_ids" in n.input
    }
    (table,) = (tensor for tensor in graph.graph.initializer if tensor.name in tables)
    shrink_table(graph, table)


def shrink_table(graph: onnx.ModelProto, table: onnx.TensorProto) -> None:
    """Store an embedding table as int8 rows with one scale each."""
    readers = [n for n in graph.graph.node if table.name in n.input]
    if len(readers) != 1 or readers[0].op_type != "Gather":
        raise ValueError(f"{table.name} is not read by one Gather: {readers}")
    (gather,) = readers
    values = numpy_helper.to_array(table)
    scales = np.maximum(np.abs(values).max(axis=1, keepdims=True) / 127.0, 1e-12)
    rows = np.clip(np.rint(values / scales), -127, 127).astype(np.int8)
    graph.graph.initializer.remove(table)
    names = [f"{table.name}.{part}" for part in ("int8", "scales", "row", "scale", "wide")]
    stored, factors, row, scale, wide = names
    graph.graph.initializer.extend(
        [
            numpy_helper.from_array(rows, stored),
            numpy_helper.from_array(scales.astype(np.float32), factors),
        ]
    )
    place = list(graph.graph.node).index(gather)
    ids, output = gather.input[1], gather.output[0]
    graph.graph.node.remove(gather)
    replacement = [
        helper.make_node("Gather", [stored, ids], [row]),
        helper.make_node("Gather", [factors, ids], [scale]),
        helper.make_node("Cast", [row], [wide], to=TensorProto.FLOAT),
        helper.make_node("Mul", [wide, scale], [output]),
    ]
    for offset, node in enumerate(replacement):
        graph.graph.node.insert(place + offset, node)


def save_graph(graph: onnx.ModelProto, path: Path) -> None:
    """Write a graph that every allowed ONNX Runtime reads, whole or not at all."""
    if all(imported.domain != _FUSED_OPERATORS for imported in graph.opset_import):
        graph.opset_import.append(helper.make_opsetid(_FUSED_OPERATORS, 1))
    graph.ir_version = min(graph.ir_version, _IR_VERSION)
    fresh = path.with_suffix(".new")
    onnx.save(graph, str(fresh))
    shutil.move(str(fresh), str(path))
