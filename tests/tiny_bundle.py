"""A bundle of a few kilobytes, made in memory: a real tokenizer, and a graph with seeded weights.

The graph knows one thing: a name (Smith, 史密斯) may replace a pronoun (he, 他). All else is noise
that rarely passes 0, so that dialogues get a few edits, of both kinds, or none.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from queen_sdk.bundle import Manifest, write_manifest
from queen_sdk.rows import ExtraWords
from queen_sdk.template import COREF, ELLIP

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", COREF, ELLIP)
WORDS = (
    "he she it they him her that this there no yes does do not is are was i you we "
    "what where when who how smith anna care needs find the a an of about any for in "
    "to type cuisine restaurant expensive nearby weather like"
).split()
CHARACTERS = (
    "他她它这那里谁史密斯关心不的是我了和你吗什么天气怎样北京上海喜欢吃饭菜在哪儿有没好人去看说"
)
NAMES = ("smith", "anna", *"史密斯")
PRONOUNS = ("he", "she", "him", "他", "她")
MAX_LENGTH = 256

_WIDTH = 16
_NAME, _PRONOUN = 0, 1
_CERTAIN = 3.0
_SEED = 3
_NOISE = 1.45
_BIAS = -2.0

_Floats = npt.NDArray[np.float32]


def build_tokenizer() -> Tokenizer:
    """Return a BERT tokenizer for the words above, letters, digits and some Chinese."""
    signs = string.ascii_lowercase + string.digits
    entries = (*SPECIAL, *signs, *(f"##{sign}" for sign in signs), *string.punctuation)
    entries += (*WORDS, "'s", *CHARACTERS, *"，。？！")
    vocabulary = {entry: index for index, entry in enumerate(dict.fromkeys(entries))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def _weights(tokenizer: Tokenizer) -> dict[str, npt.NDArray[Any]]:
    random = np.random.default_rng(_SEED)

    def noise(*shape: int) -> _Floats:
        return random.normal(size=shape).astype(np.float32)

    words = noise(tokenizer.get_vocab_size(), _WIDTH)
    for mark, members in ((_NAME, NAMES), (_PRONOUN, PRONOUNS)):
        words[:, mark] = 0
        words[[tokenizer.token_to_id(member) for member in members], mark] = _CERTAIN
    weights: dict[str, npt.NDArray[Any]] = {
        "words": words,
        "places": noise(MAX_LENGTH, _WIDTH) * 0.2,
        "segments": noise(2, _WIDTH) * 0.2,
        "context": noise(_WIDTH, _WIDTH) * 0.2,
        "bias": np.array(_BIAS, dtype=np.float32),
        "zero": np.array(0, dtype=np.int64),
        "one": np.array(1, dtype=np.int64),
        "first": np.array([1], dtype=np.int64),
        "last": np.array([-1], dtype=np.int64),
    }
    for name in ("places", "segments"):
        weights[name][:, :2] = 0
    weights["context"][:, :2] = 0
    for operation in (0, 1):
        for side, mark in (("row", _NAME), ("column", _PRONOUN)):
            projection = noise(_WIDTH, _WIDTH) * np.float32(_NOISE / _WIDTH**0.75)
            projection[:2], projection[:, 0] = 0, 0
            if operation == 0:
                projection[mark, 0] = _CERTAIN
            weights[f"{side}{operation}"] = projection
    return weights


def _nodes() -> list[onnx.NodeProto]:
    node = helper.make_node
    nodes = [
        node("Shape", ["input_ids"], ["shape"]),
        node("Gather", ["shape", "one"], ["length"]),
        node("Range", ["zero", "length", "one"], ["positions"]),
        node("Gather", ["places", "positions"], ["place"]),
        node("Gather", ["words", "input_ids"], ["word"]),
        node("Gather", ["segments", "token_type_ids"], ["segment"]),
        node("Add", ["word", "segment"], ["typed"]),
        node("Add", ["typed", "place"], ["embedded"]),
        node("Cast", ["attention_mask"], ["mask_flat"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["mask_flat", "last"], ["mask"]),
        node("Mul", ["embedded", "mask"], ["masked"]),
        node("ReduceSum", ["masked", "first"], ["sum"]),
        node("ReduceSum", ["mask", "first"], ["count"]),
        node("Div", ["sum", "count"], ["mean"]),
        node("MatMul", ["mean", "context"], ["around"]),
        node("Add", ["embedded", "around"], ["mixed"]),
        node("Tanh", ["mixed"], ["hidden"]),
        node("Unsqueeze", ["history_index", "last"], ["history_places"]),
        node("Unsqueeze", ["utterance_index", "last"], ["utterance_places"]),
        node("GatherND", ["hidden", "history_places"], ["history"], batch_dims=1),
        node("GatherND", ["hidden", "utterance_places"], ["utterance"], batch_dims=1),
    ]
    for k in "01":
        nodes += [
            node("MatMul", ["history", f"row{k}"], [f"rows{k}"]),
            node("MatMul", ["utterance", f"column{k}"], [f"columns{k}"]),
            node("Transpose", [f"columns{k}"], [f"turned{k}"], perm=[0, 2, 1]),
            node("MatMul", [f"rows{k}", f"turned{k}"], [f"product{k}"]),
            node("Unsqueeze", [f"product{k}", "first"], [f"plane{k}"]),
        ]
    return [
        *nodes,
        node("Concat", ["plane0", "plane1"], ["planes"], axis=1),
        node("Add", ["planes", "bias"], ["scores"]),
    ]


def build_graph(tokenizer: Tokenizer) -> onnx.ModelProto:
    """Return the graph; the scores of a dialogue do not depend on its batch."""
    axes = {
        "input_ids": ["batch", "length"],
        "attention_mask": ["batch", "length"],
        "token_type_ids": ["batch", "length"],
        "history_index": ["batch", "rows"],
        "utterance_index": ["batch", "columns"],
    }
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, a) for n, a in axes.items()]
    shape: list[str | int | None] = ["batch", 2, "rows", "columns"]
    output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, shape)
    weights = [numpy_helper.from_array(w, name) for name, w in _weights(tokenizer).items()]
    graph = helper.make_graph(_nodes(), "tiny", inputs, [output], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def build_bundle(directory: Path) -> Path:
    """Write the bundle into `directory` and return that."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer()
    tokenizer.save(str(directory / "tokenizer.json"))
    onnx.save(build_graph(tokenizer), str(directory / "model.onnx"))
    manifest = Manifest(
        name="tiny",
        version="1",
        languages=("en", "zh"),
        extra_words=ExtraWords(("of", "about", "的"), ("'s",)),
        collection=("he", "she", "him", "it", "他", "她", "它"),
        max_length=MAX_LENGTH,
        training={"data": "none, the weights are random"},
    )
    write_manifest(directory, manifest)
    return directory
