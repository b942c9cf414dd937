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

    A matrix that several activations are multiplied with (the projection) is left as it is.
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
    for activation, channels in largest.items():
        readers = [node for node in products if node.input[0] == activation]
        matrices = [weights[node.input[1]] for node in readers]
        factors = _factors(channels, [numpy_helper.to_array(m) for m in matrices])
        for matrix in matrices:
            scaled = numpy_helper.to_array(matrix) * factors[:, None]
            matrix.CopyFrom(numpy_helper.from_array(scaled.astype(np.float32), matrix.name))
        _divide(graph, activation, factors, readers)


def _factors(channels: Channels, matrices: Sequence[Channels]) -> Channels:
    rows = np.max([np.abs(matrix).max(axis=1) for matrix in matrices], axis=0)
    balanced = np.maximum(channels, _SMALLEST) ** _STRENGTH
    balanced /= np.maximum(rows, _SMALLEST) ** (1 - _STRENGTH)
    factors: Channels = np.maximum(balanced, _SMALLEST).astype(np.float32)
    return factors


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
