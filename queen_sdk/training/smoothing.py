"""Moving outliers from activations into weights before quantisation.

An encoder has a few channels whose activations are many times larger than the rest; one 8-bit scale
for all of them leaves little for the others. Dividing each channel by a factor and multiplying the
weights behind it by the same factor changes nothing in exact arithmetic and a lot in eight bits
(SmoothQuant, Xiao et al., ICML 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from queen_sdk.features import EncodedBatch
from queen_sdk.runtime import onnxruntime  # type: ignore[attr-defined]

Channels = npt.NDArray[np.float32]

_STRENGTH = 0.65
"""Nought leaves all of the difficulty to the activations, one moves all of it to the weights."""
_SMALLEST = 1e-5


def smooth(graph: onnx.ModelProto, batches: Sequence[EncodedBatch]) -> None:
    """Balance the products with a constant matrix; `batches` show typical activations.

    A matrix that several activations are multiplied with is left as it is. Behind an attention the
    values are divided, which costs nothing; elsewhere a division is put before the product.
    """
    if not batches:
        return
    weights = {tensor.name: tensor for tensor in graph.graph.initializer}
    products = [
        node
        for node in graph.graph.node
        if node.op_type in ("MatMul", "Attention")
        and node.input[1] in weights
        and node.input[0] not in weights
    ]
    uses = Counter(node.input[1] for node in products)
    products = [node for node in products if uses[node.input[1]] == 1]
    largest = _largest_activations(graph, sorted({n.input[0] for n in products}), batches)
    readers = {name: [n for n in products if n.input[0] == name] for name in largest}
    matrices = {name: [weights[n.input[1]] for n in nodes] for name, nodes in readers.items()}
    factors = {
        name: _factors(channels, [numpy_helper.to_array(m) for m in matrices[name]])
        for name, channels in largest.items()
    }
    for name, own in factors.items():
        for matrix in matrices[name]:
            _replace(matrix, numpy_helper.to_array(matrix) * own[:, None])
        attention = _attention_behind(graph, name)
        if attention is None:
            _divide(graph, name, own, readers[name])
        else:
            _divide_values([weights[tensor] for tensor in attention.input[1:3]], own)


def _factors(channels: Channels, matrices: Sequence[Channels]) -> Channels:
    """Return a factor for each channel, around one: weights that are thawed keep their size."""
    rows = np.max([np.abs(matrix).max(axis=1) for matrix in matrices], axis=0)
    balanced = np.maximum(channels, _SMALLEST) ** _STRENGTH
    balanced /= np.maximum(rows, _SMALLEST) ** (1 - _STRENGTH)
    balanced = np.maximum(balanced, _SMALLEST)
    factors: Channels = (balanced / np.exp(np.log(balanced).mean())).astype(np.float32)
    return factors


def _replace(tensor: onnx.TensorProto, values: Channels) -> None:
    tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float32), tensor.name))


def _attention_behind(graph: onnx.ModelProto, activation: str) -> onnx.NodeProto | None:
    """Return the attention whose values make up this activation and nothing else."""
    nodes = graph.graph.node
    if sum(activation in node.input for node in nodes) != 1:
        return None
    makers = [node for node in nodes if activation in node.output]
    if makers and makers[0].op_type == "GatherND":
        return _attention_behind(graph, makers[0].input[0])
    return makers[0] if makers and makers[0].op_type == "Attention" else None


def _divide_values(tensors: Sequence[onnx.TensorProto], factors: Channels) -> None:
    """Divide the last third of an attention's weights and of its bias."""
    for tensor in tensors:
        whole = numpy_helper.to_array(tensor).copy()
        whole[..., -len(factors) :] /= factors
        _replace(tensor, whole)


def _divide(
    graph: onnx.ModelProto, activation: str, factors: Channels, readers: Sequence[onnx.NodeProto]
) -> None:
    divided, constant = f"{activation}.smoothed", f"{activation}.factors"
    graph.graph.initializer.append(numpy_helper.from_array(1 / factors, constant))
    place = min(list(graph.graph.node).index(node) for node in readers)
    graph.graph.node.insert(place, helper.make_node("Mul", [activation, constant], [divided]))
    for node in readers:
        node.input[0] = divided


def _largest_activations(
    graph: onnx.ModelProto, names: Sequence[str], batches: Sequence[EncodedBatch]
) -> dict[str, Channels]:
    """Return, for each activation, the largest absolute value of each channel."""
    watched = onnx.ModelProto()
    watched.CopyFrom(graph)
    watched.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
    )
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "watched.onnx"
        onnx.save(watched, str(path))
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        largest: dict[str, Channels] = {}
        for batch in batches:
            found = session.run(list(names), batch.as_inputs())
            for name, values in zip(names, found, strict=True):
                channels = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
                largest[name] = np.maximum(largest.get(name, channels), channels)
    return largest
