"""A bundle's graph as a network that can be trained again: the way back from export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.training.scorer import QueenConfig, QueenScorer

Array = npt.NDArray[np.float32]

_WORDS = "bert.embeddings.word_embeddings.weight"
_POSITIONS = "bert.embeddings.position_embeddings.weight"
_PRODUCTS = ("MatMul", "MatMulInteger")
_ATTENTIONS = ("Attention", "QAttention")


def thaw(path: Path) -> QueenScorer:
    """Return the scorer that was exported to `path`, in whatever precision.

    Eight-bit weights come back as what they stand for; outliers that were moved into them are
    moved back, save those that were moved from the values of an attention to the matrix behind it,
    which computes the same.

    Raises:
        InvalidArgumentError: The graph is not one that `queen export` makes.
    """
    graph = onnx.load(str(path)).graph
    try:
        weights = dict(_weights(graph))
        model = QueenScorer(_config(graph, weights))
        missing, unexpected = model.load_state_dict(
            {name: torch.from_numpy(array.copy()) for name, array in weights.items()}, strict=False
        )
    except (KeyError, ValueError, RuntimeError) as error:
        raise InvalidArgumentError(f"{path} is not a graph of queen export: {error}") from error
    missing = [name for name in missing if not name.startswith("ends.")]  # an older bundle
    if missing or unexpected:
        raise InvalidArgumentError(
            f"{path} is not a graph of queen export: it lacks {missing or 'nothing'} "
            f"and has {unexpected or 'nothing'} besides"
        )
    return model


def _config(graph: onnx.GraphProto, weights: dict[str, Array]) -> QueenConfig:
    attentions = [node for node in graph.node if node.op_type in _ATTENTIONS]
    words, width = weights[_WORDS].shape
    return QueenConfig(
        projection_size=len(weights["projection.bias"]) // 2,
        vocab_size=words,
        hidden_size=width,
        num_hidden_layers=len(attentions),
        num_attention_heads=_attribute(attentions[0], "num_heads").i,
        intermediate_size=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=len(weights[_POSITIONS]),
        layer_norm_eps=_epsilon(graph),
    )


def _attribute(node: onnx.NodeProto, name: str) -> onnx.AttributeProto:
    (found,) = (attribute for attribute in node.attribute if attribute.name == name)
    return found


def _epsilon(graph: onnx.GraphProto) -> float:
    norms = [node for node in graph.node if node.op_type.endswith("LayerNormalization")]
    return float(round(_attribute(norms[0], "epsilon").f, 15))


def _weights(graph: onnx.GraphProto) -> Iterator[tuple[str, Array]]:
    """Yield the parameters of the scorer under the names that torch gives them."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, array in stored.items():
        if re.match(r"(bert|projection|ends)\.([\w.]+\.)?(weight|bias)$", name):
            yield name, array.astype(np.float32)
    if f"{_WORDS}.int8" in stored:
        yield _WORDS, stored[f"{_WORDS}.int8"] * stored[f"{_WORDS}.scales"]
    dividers = {
        node.output[0]: stored[node.input[1]]
        for node in graph.node
        if node.op_type == "Mul" and node.input[1].endswith(".factors")
    }
    quantized = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "DynamicQuantizeLinear"
    }
    attentions = 0
    for node in graph.node:
        if node.op_type not in _PRODUCTS + _ATTENTIONS or node.input[1] not in stored:
            continue
        matrix = _matrix(stored, node.input[1])
        activation = quantized.get(node.input[0], node.input[0])
        if activation in dividers:
            matrix = matrix * dividers[activation][:, None]
        if node.op_type in _PRODUCTS:
            yield f"{_module(node)}.weight", matrix.T
            continue
        layer = f"bert.encoder.layer.{attentions}.attention.self"
        bias = stored[f"Attention_{attentions}_qkv_bias"]
        parts = np.split(matrix, 3, axis=1), np.split(bias, 3)
        for part, weight, shift in zip(("query", "key", "value"), *parts, strict=True):
            yield f"{layer}.{part}.weight", weight.T
            yield f"{layer}.{part}.bias", shift.astype(np.float32)
        attentions += 1


def _matrix(stored: dict[str, npt.NDArray[np.generic]], name: str) -> Array:
    if not name.endswith("_quantized"):
        return stored[name].astype(np.float32)
    stem = name.removesuffix("_quantized")
    shifted = stored[name].astype(np.float32) - stored[f"{stem}_zero_point"].astype(np.float32)
    return shifted * stored[f"{stem}_scale"].astype(np.float32)


def _module(node: onnx.NodeProto) -> str:
    """Return the module whose product this is; outputs are called by the path to it."""
    path = node.output[0].partition("/MatMul")[0].strip("/")
    # Older graphs project history and utterance apart.
    return re.sub(r"^(projection|ends)_1$", r"\1", path.replace("/", "."))
