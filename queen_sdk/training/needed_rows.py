"""The last layer of an exported scorer, computed only where it is looked at.

Scores are made of the tokens of history and utterance. What the last layer makes of the query, of
special tokens, of further word pieces and of padding is never read; only its attention needs them.
"""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import helper
from onnxruntime.transformers.onnx_model import OnnxModel

_ROW_BY_ROW = ("MatMul", "Add", "SkipLayerNormalization", "BiasGelu", "Constant")
"""Operators that make each row from the same row alone, as they stand in a fused layer."""


def keep_needed_rows(graph: onnx.ModelProto) -> None:
    """Gather the tokens that are scored behind the last attention instead of behind the last layer.

    Raises:
        ValueError: The graph is not that of a fused scorer.
    """
    model = OnnxModel(graph)
    attention, gather = _last_attention(model), _only_gather(model)
    hidden, (picked,) = gather.input[0], gather.output
    places = _places(model, gather)
    whole = (attention.output[0], attention.input[0])
    layer = _between(model, hidden, whole)
    for tensor in whole:
        rows = f"{tensor}.needed"
        if all(tensor not in node.input for node in layer):
            raise ValueError(f"{tensor} does not lead to {hidden}")
        for node in layer:
            OnnxModel.replace_node_input(node, tensor, rows)
        model.add_node(helper.make_node("GatherND", [tensor, places], [rows], batch_dims=1))
    model.replace_input_of_all_nodes(picked, hidden)
    model.prune_graph()  # without the gather, and the shapes that only it needed
    model.topological_sort()


def _last_attention(model: OnnxModel) -> onnx.NodeProto:
    attentions = model.get_nodes_by_op_type("Attention")
    if not attentions:
        raise ValueError("the graph has no fused attention")
    return attentions[-1]


def _only_gather(model: OnnxModel) -> onnx.NodeProto:
    """Return the node that picks tokens from the last hidden state."""
    gathers = model.get_nodes_by_op_type("GatherElements")
    if len(gathers) != 1:
        raise ValueError(f"tokens are not picked by one GatherElements: {gathers}")
    readers = model.input_name_to_nodes()[gathers[0].input[0]]
    if any(node.op_type not in ("GatherElements", "Shape") for node in readers):
        raise ValueError(f"{gathers[0].input[0]} is read whole: {readers}")
    return gathers[0]


def _places(model: OnnxModel, gather: onnx.NodeProto) -> str:
    """Return what holds the places of the tokens, batch × tokens × 1."""
    expand = model.output_name_to_node().get(gather.input[1])
    if expand is None or expand.op_type != "Expand":
        raise ValueError(f"the places of {gather.name} are not expanded to the width: {expand}")
    return str(expand.input[0])


def _between(model: OnnxModel, hidden: str, whole: Iterable[str]) -> list[onnx.NodeProto]:
    """Return the nodes that make `hidden` from the tensors of all rows."""
    makers = model.output_name_to_node()
    found: dict[str, onnx.NodeProto] = {}
    waiting = [hidden]
    while waiting:
        tensor = waiting.pop()
        if tensor in whole or tensor in found or tensor not in makers:
            continue
        found[tensor] = makers[tensor]
        if makers[tensor].op_type not in _ROW_BY_ROW:
            raise ValueError(f"{tensor} is not made row by row: {makers[tensor]}")
        waiting += makers[tensor].input
    return list(found.values())
