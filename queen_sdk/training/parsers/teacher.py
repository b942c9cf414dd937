"""A large parser that is not served: a pretrained encoder below the same heads.

It learns from the treebanks as the small one does, but knows the language beforehand; then it reads
texts without trees for the small one to learn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from queen_sdk.parsing.inputs import LONGEST, Ids
from queen_sdk.training.parsers.network import ParserHeads
from queen_sdk.values import Token

_PIECES = 4
"""Word pieces of a token that are looked at."""
_WIDTH = 192
_DROPOUT = 0.2


class PieceInputs:
    """Tokens to the word pieces of an encoder."""

    def __init__(self, encoder: Path) -> None:
        """Take the tokenizer of the encoder in a directory."""
        self._tokenizer = AutoTokenizer.from_pretrained(encoder)
        self.pad: int = self._tokenizer.pad_token_id
        self.ends: tuple[int, int] = (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id)

    def encode(self, tokens: Sequence[Token]) -> Ids:
        """Return the first pieces of each token, one row per token, filled up with padding."""
        texts = [token.text for token in tokens[:LONGEST]]
        if not texts:
            return np.zeros((0, _PIECES), dtype=np.int64)
        pieces = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        rows = np.full((len(texts), _PIECES), self.pad, dtype=np.int64)
        for row, found in zip(rows, pieces, strict=True):
            row[: len(found)] = found[:_PIECES]
        return rows


class TeacherNetwork(ParserHeads):
    """An encoder that sees one vector per token: the mean of its pieces."""

    def __init__(self, encoder: Path, inputs: PieceInputs, *, relations: int) -> None:
        """Take the encoder in a directory, and what made its inputs."""
        model = AutoModel.from_pretrained(encoder)
        super().__init__(
            model.config.hidden_size, relations=relations, width=_WIDTH, dropout=_DROPOUT
        )
        self.encoder = model
        self.dropout = nn.Dropout(_DROPOUT)
        self._pad, self._ends = inputs.pad, inputs.ends

    def hidden(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return a vector per token."""
        batch, longest, _ = inputs.shape
        if lengths is None:
            lengths = torch.full((batch,), longest)
        table = self.encoder.get_input_embeddings()
        real = (inputs != self._pad).unsqueeze(-1)
        words = (table(inputs) * real).sum(dim=2) / real.sum(dim=2).clamp(min=1)
        first, last = table(torch.tensor(self._ends))
        words = torch.cat([first.expand(batch, 1, -1), words, last.expand(batch, 1, -1)], dim=1)
        places = torch.arange(longest + 2)
        ending = (places == lengths.unsqueeze(1) + 1).unsqueeze(-1)
        found = self.encoder(
            inputs_embeds=torch.where(ending, last, words),
            attention_mask=(places < lengths.unsqueeze(1) + 2).long(),
        ).last_hidden_state
        kept: Tensor = self.dropout(found[:, 1:-1])
        return kept
