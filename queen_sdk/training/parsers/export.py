"""From a trained parser to the files that serving needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from queen_sdk.data.treebanks import TREEBANKS
from queen_sdk.parsing.embedded import COMBINATION_ENDS, GRAPH_FILE, NOTICE_FILE, VOCABULARY_FILE
from queen_sdk.parsing.inputs import COLUMNS
from queen_sdk.training.graphs import save_graph, shrink_table
from queen_sdk.training.parsers.network import ParserNetwork
from queen_sdk.training.provenance import CORPUS_ORIGINS, encoder_origin

_OPSET = 17
_LEAST_ENTRIES = 10_000
_INITIAL_STATE = 5
"""Place among the inputs of a recurrent layer."""
_WORD_LISTS = {"zh": ("jieba: MIT",)}


class _Served(nn.Module):
    """The network with the choices of serving at its end."""

    members: Tensor

    def __init__(self, network: ParserNetwork) -> None:
        super().__init__()
        self.network = network
        ends = sorted(set(COMBINATION_ENDS))
        members = [[float(end == one) for end in COMBINATION_ENDS] for one in ends]
        self.register_buffer("members", torch.tensor(members))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the likeliest combination of the likeliest decision, and a place per role."""
        structure, roles = self.network(inputs)
        shares = torch.softmax(structure, dim=-1)
        decision = (shares @ self.members.T).argmax(dim=-1)
        combination = (shares * self.members[decision]).argmax(dim=-1)
        return combination, roles.argmax(dim=1)


def export_parser(
    network: ParserNetwork, vocabulary: Sequence[str], out: Path, *, notice: str
) -> None:
    """Write graph, vocabulary and notice; the tables are stored with 8 bits per number."""
    out.mkdir(parents=True, exist_ok=True)
    example = torch.zeros((1, 7, COLUMNS), dtype=torch.int64)
    with TemporaryDirectory() as scratch:
        plain = Path(scratch) / GRAPH_FILE
        torch.onnx.export(
            _Served(network).eval(),
            (example,),
            str(plain),
            input_names=["inputs"],
            output_names=["combination", "places"],
            dynamic_axes={"inputs": {1: "tokens"}},
            opset_version=_OPSET,
            dynamo=False,
        )
        graph = onnx.load(str(plain))
    _begin_with_zeros(graph)
    for table in _tables(graph):
        shrink_table(graph, table)
    save_graph(graph, out / GRAPH_FILE)
    (out / VOCABULARY_FILE).write_text("\n".join(vocabulary), encoding="utf-8")
    (out / NOTICE_FILE).write_text(notice, encoding="utf-8")


def _begin_with_zeros(graph: onnx.ModelProto) -> None:
    """Drop the nodes that make zeros for the recurrent layers, which begin with zeros anyway."""
    for node in graph.graph.node:
        if node.op_type == "GRU":
            del node.input[_INITIAL_STATE:]
    wanted = {output.name for output in graph.graph.output}
    for node in reversed(list(graph.graph.node)):
        if wanted.isdisjoint(node.output):
            graph.graph.node.remove(node)
        else:
            wanted.update(node.input)


def _tables(graph: onnx.ModelProto) -> list[onnx.TensorProto]:
    gathered = {node.input[0] for node in graph.graph.node if node.op_type == "Gather"}
    return [
        tensor
        for tensor in graph.graph.initializer
        if tensor.name in gathered and np.prod(tensor.dims) >= _LEAST_ENTRIES
    ]


def parser_notice(language: str, encoder: str | None, texts: Sequence[str] = ()) -> str:
    """Say what a parser derives from, and under which licences.

    `encoder` is the name of the one that gave the word vectors and, if there are `texts`, read
    those as a teacher.
    """
    lines = ["This parser was trained on, and derives from:", ""]
    lines += [f"- {bank.name}: {bank.licence}" for bank in TREEBANKS[language]]
    if encoder is not None:
        origin = encoder_origin(encoder)
        lines.append(f"- word vectors of {origin.name}: {origin.licence}")
        lines += [f"- word list of {name}" for name in _WORD_LISTS.get(language, ())]
        for corpus in (CORPUS_ORIGINS[name] for name in texts):
            lines.append(
                f"- texts of {corpus.name}, {corpus.licence}; none of them is contained, and what "
                "was learnt of them are the labels of a parser made of the same encoder and "
                "treebanks"
            )
    lines += ["", "The treebanks are published at https://universaldependencies.org.", ""]
    return "\n".join(lines)
