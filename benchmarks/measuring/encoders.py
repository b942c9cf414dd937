"""Pretrained encoders where they are, and fresh ones of their shape where they are not."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, BertConfig, BertModel, set_seed

from queen_sdk.bundle import load_bundle

VARIABLE = "QUEEN_WEIGHTS"

SHAPES: dict[str, dict[str, Any]] = {
    "bert-base-zh": {
        "vocab_size": 21_128,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
    "bge-small-zh": {
        "vocab_size": 21_128,
        "hidden_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
        "intermediate_size": 2048,
    },
    "tiny": {
        "vocab_size": 21_128,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 128,
    },
}
"""With the vocabulary of the embedded Chinese bundle, whose tokenizer a fresh encoder gets."""


def add_encoders_option(parser: argparse.ArgumentParser) -> None:
    """Let the user name the folder of the encoders."""
    parser.add_argument(
        "--encoders",
        type=Path,
        default=os.environ.get(VARIABLE),
        metavar="FOLDER",
        help=f"folder of the pretrained encoders, one folder each (default: ${VARIABLE}; "
        "without it, random weights of their shape)",
    )


def encoder(name: str, folder: str | Path | None, scratch: Path) -> tuple[Path, str]:
    """Return the directory of an encoder, and what its weights are.

    Packed weights (`NAME/model.packed` beside an `unpack.py`) are unpacked into `scratch` once;
    where there are none at all, an encoder of that shape is made there.
    """
    found = None if folder is None else Path(folder) / name
    if found is not None and (found / "model.safetensors").exists():
        return found, f"pretrained {name}"
    if found is not None and (found / "model.packed").exists():
        unpacked = scratch / name
        if not (unpacked / "vocab.txt").exists():
            unpack = [sys.executable, str(found.parent / "unpack.py"), name, str(unpacked)]
            subprocess.run(unpack, check=True, stdout=subprocess.DEVNULL)
        return unpacked, f"pretrained {name}"
    made = scratch / f"random-{name}"
    if not (made / "tokenizer.json").exists():
        _make(name, made)
    return made, f"random weights of the shape of {name} (set {VARIABLE} for the real ones)"


def _make(name: str, out: Path) -> None:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    set_seed(13)
    BertModel(BertConfig(**SHAPES[name]), add_pooling_layer=False).save_pretrained(out)
    marks = {kind: f"[{kind[:3].upper()}]" for kind in ("unk_token", "cls_token", "sep_token")}
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_file(str(load_bundle("zh").tokenizer_path)),
        **marks,
        pad_token="[PAD]",
        mask_token="[MASK]",
    ).save_pretrained(out)


def load_encoder(directory: Path) -> BertModel:
    """Load an encoder in evaluation mode."""
    return BertModel.from_pretrained(directory, add_pooling_layer=False).eval()


def tokenizer_file(directory: Path, out: Path) -> Path:
    """Write the encoder's tokenizer as our stages read it."""
    backend = AutoTokenizer.from_pretrained(directory).backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    out.mkdir(parents=True, exist_ok=True)
    backend.save(str(out / "tokenizer.json"))
    return out / "tokenizer.json"
