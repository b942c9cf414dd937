"""A tiny encoder with random weights, and a corpus that it can learn."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tiny_bundle import build_tokenizer

NAMES = ("smith", "anna")
PRONOUNS = {"smith": "he", "anna": "she"}


@pytest.fixture(scope="session")
def encoder_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers", reason="needs the extra train")
    folder: Path = tmp_path_factory.mktemp("encoder")
    tokenizer = build_tokenizer()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )
    fast.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    transformers.set_seed(1)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dialogues in which a pronoun stands for the one person who was named."""
    chance = random.Random(5)
    path: Path = tmp_path_factory.mktemp("corpus") / "dialogues.jsonl"
    lines = []
    for _ in range(160):
        name = chance.choice(NAMES)
        place = chance.choice(("restaurant", "cuisine", "weather"))
        history = [f"{name} needs to find the {place} nearby", f"does {name} like the {place}"]
        end = chance.choice(("does not care", "is here", "does like what"))
        line = {
            "history": history,
            "utterance": f"no {PRONOUNS[name]} {end}",
            "rewrite": f"no {name} {end}",
        }
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def scorer() -> Any:
    """Return a tiny network of which no weight is what a fresh one has."""
    torch = pytest.importorskip("torch", reason="needs the extra train")
    from queen_sdk.training.scorer import QueenConfig, QueenScorer

    torch.manual_seed(3)
    config = QueenConfig(
        projection_size=16,
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        attn_implementation="eager",
    )
    model = QueenScorer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model
