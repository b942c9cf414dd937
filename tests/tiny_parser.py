"""An embedded parser of a few words, made in memory: each word shows one role, or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from queen_sdk.parsing.embedded import GRAPH_FILE, NOTICE_FILE, VOCABULARY_FILE

ROLES = {"[UNK]": 0, "he": 1, "smith": 1, "他": 1, "care": 2, "吃": 2, "pizza": 3, "饭": 3}
"""Words with the role they show: 1 subject, 2 verb, 3 object."""


def build_parser(directory: Path) -> Path:
    """Write the parser into `directory` and return that."""
    directory.mkdir(parents=True, exist_ok=True)
    roles = np.array([[float(role == k) for k in (1, 2, 3)] for role in ROLES.values()], np.float32)
    constants = {
        "roles": roles,
        "bits": np.array([1, 2, 4], np.float32),
        "first": np.array(0, np.int64),
        "tokens": np.array([1], np.int64),
    }
    node = helper.make_node
    nodes = [
        node("Gather", ["inputs", "first"], ["words"], axis=2),
        node("Gather", ["roles", "words"], ["shown"]),
        node("ReduceMax", ["shown"], ["seen"], axes=[1], keepdims=0),
        node("Mul", ["seen", "bits"], ["weighed"]),
        node("ReduceSum", ["weighed", "tokens"], ["sum"], keepdims=0),
        node("Cast", ["sum"], ["combination"], to=TensorProto.INT64),
        node("ArgMax", ["shown"], ["places"], axis=1, keepdims=0),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "tiny",
        [value("inputs", TensorProto.INT64, ["batch", "tokens", 7])],
        [
            value("combination", TensorProto.INT64, ["batch"]),
            value("places", TensorProto.INT64, ["batch", 3]),
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(directory / GRAPH_FILE))
    (directory / VOCABULARY_FILE).write_text("\n".join(ROLES), encoding="utf-8")
    (directory / NOTICE_FILE).write_text("made by a test\n", encoding="utf-8")
    return directory
