"""The network of an embedded parser."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from queen_sdk.parsing.inputs import HASHES, PLACES, SHAPES

COMBINATIONS = 8
"""Ways to have or lack subject, verb and object."""
ROLES = 3

_HASH_WIDTH = 24
_SHAPE_WIDTH = 8
_ARC_WIDTH = 64
_SPREAD = 0.1


class ParserNetwork(nn.Module):
    """Embeddings, two recurrent layers, and heads for roles and structure.

    The heads for relations and arcs only serve training: what they learn shapes the layers below.
    """

    def __init__(self, words: Tensor, *, relations: int, width: int, dropout: float) -> None:
        """Take the fixed word vectors, one row per entry of the vocabulary."""
        super().__init__()
        self.words = nn.Embedding.from_pretrained(words, freeze=True)
        self.hashed = nn.ModuleList(
            nn.Embedding.from_pretrained(torch.randn(size, _HASH_WIDTH) * _SPREAD, freeze=False)
            for size in HASHES
        )
        self.shapes = nn.Embedding(SHAPES, _SHAPE_WIDTH)
        self.places = nn.Embedding(PLACES, _SHAPE_WIDTH)
        self.dropout = nn.Dropout(dropout)
        known = 2 * words.shape[1] + len(HASHES) * _HASH_WIDTH + 2 * _SHAPE_WIDTH
        self.recurrent = nn.GRU(
            known, width, 2, batch_first=True, bidirectional=True, dropout=dropout
        )
        self.roles = nn.Linear(2 * width, ROLES + 1)
        self.structure = nn.Sequential(
            nn.Linear(2 * width * (ROLES + 2), width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, COMBINATIONS),
        )
        self.relations = nn.Linear(2 * width, relations)
        self.dependents = nn.Linear(2 * width, _ARC_WIDTH)
        self.governors = nn.Linear(2 * width, _ARC_WIDTH)

    def hidden(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return a vector per token; `lengths` on the CPU if the batch is padded."""
        parts = [self.words(inputs[..., :2]).flatten(-2)]
        parts += [table(inputs[..., k + 2]) for k, table in enumerate(self.hashed)]
        parts += [self.shapes(inputs[..., -2]), self.places(inputs[..., -1])]
        embedded = self.dropout(torch.cat(parts, dim=-1))
        if lengths is None:
            return self.dropout(self.recurrent(embedded)[0])
        packed = nn.utils.rnn.pack_padded_sequence(
            embedded, lengths, batch_first=True, enforce_sorted=False
        )
        found, _ = nn.utils.rnn.pad_packed_sequence(
            self.recurrent(packed)[0], batch_first=True, total_length=inputs.shape[1]
        )
        return self.dropout(found)

    def judge(self, hidden: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return scores of the eight combinations, and of each token for root and roles."""
        roles = self.roles(hidden)
        largest = hidden
        if mask is not None:
            roles = roles.masked_fill(~mask.unsqueeze(-1), -1e4)
            largest = hidden.masked_fill(~mask.unsqueeze(-1), -1e4)
        looked_at = torch.softmax(roles, dim=1).transpose(1, 2) @ hidden
        summary = torch.cat([looked_at.flatten(1), largest.amax(dim=1)], dim=-1)
        return self.structure(summary), roles

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Judge utterances of one length."""
        structure, roles = self.judge(self.hidden(inputs))
        return structure, roles[..., 1:]

    def arcs(self, hidden: Tensor) -> Tensor:
        """Return the score of every token as head of every other."""
        return self.dependents(hidden) @ self.governors(hidden).transpose(1, 2) / _ARC_WIDTH**0.5
