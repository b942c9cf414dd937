"""The network of an embedded parser."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from queen_sdk.parsing.inputs import HASHES, PLACES, SHAPES
from queen_sdk.training.parsers.examples import COMBINATIONS

ROLES = 3

_HASH_WIDTH = 24
_FORM_WIDTH = 16
_ARC_WIDTH = 64
_SPREAD = 0.1


class ParserHeads(nn.Module):
    """Heads for roles and structure on top of something that reads tokens.

    The heads for relations and arcs only serve training: what they learn shapes the layers below.
    """

    def __init__(self, known: int, *, relations: int, width: int, dropout: float) -> None:
        """Take the width of the vectors that the reader gives, and that of the layer between."""
        super().__init__()
        self.roles = nn.Linear(known, ROLES + 1)
        self.structure = nn.Sequential(
            nn.Linear(known * (ROLES + 2), width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, COMBINATIONS),
        )
        self.relations = nn.Linear(known, relations)
        self.dependents = nn.Linear(known, _ARC_WIDTH)
        self.governors = nn.Linear(known, _ARC_WIDTH)

    def hidden(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return a vector per token; `lengths` on the CPU if the batch is padded."""
        raise NotImplementedError

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

    def arcs(self, hidden: Tensor) -> Tensor:
        """Return the score of every token as head of every other."""
        return self.dependents(hidden) @ self.governors(hidden).transpose(1, 2) / _ARC_WIDTH**0.5


class ParserNetwork(ParserHeads):
    """Embeddings and two recurrent layers below the heads.

    Small graphs spend their time on the number of their nodes, so the hashed tables are one, and
    shape and place are one number.
    """

    offsets: Tensor

    def __init__(
        self,
        words: Tensor,
        *,
        relations: int,
        width: int,
        dropout: float,
        joined_width: int | None = None,
    ) -> None:
        """Take the fixed word vectors, one row per entry of the vocabulary.

        With `joined_width`, what is known of a token is joined to so many numbers, which makes
        the layer above quicker.
        """
        super().__init__(2 * width, relations=relations, width=width, dropout=dropout)
        self.words = nn.Embedding.from_pretrained(words, freeze=True)
        hashed = torch.randn(sum(HASHES), _HASH_WIDTH) * _SPREAD
        self.hashed = nn.Embedding.from_pretrained(hashed, freeze=False)
        offsets = torch.tensor([0, HASHES[0], HASHES[0] + HASHES[1]])
        self.register_buffer("offsets", offsets, persistent=False)
        self.forms = nn.Embedding(SHAPES * PLACES, _FORM_WIDTH)
        self.dropout = nn.Dropout(dropout)
        known = 2 * words.shape[1] + len(HASHES) * _HASH_WIDTH + _FORM_WIDTH
        self.joined = nn.Identity() if joined_width is None else nn.Linear(known, joined_width)
        self.recurrent = nn.GRU(
            joined_width or known, width, 2, batch_first=True, bidirectional=True, dropout=dropout
        )

    def hidden(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return a vector per token; `lengths` on the CPU if the batch is padded."""
        batch = inputs.shape[0]
        parts = (
            self.words(inputs[..., :2]).reshape(batch, -1, 2 * self.words.embedding_dim),
            self.hashed(inputs[..., 2:5] + self.offsets).reshape(batch, -1, 3 * _HASH_WIDTH),
            self.forms(inputs[..., -2] * PLACES + inputs[..., -1]),
        )
        embedded = self.joined(self.dropout(torch.cat(parts, dim=-1)))
        if lengths is None:
            return self.dropout(self.recurrent(embedded)[0])
        packed = nn.utils.rnn.pack_padded_sequence(
            embedded, lengths, batch_first=True, enforce_sorted=False
        )
        found, _ = nn.utils.rnn.pad_packed_sequence(
            self.recurrent(packed)[0], batch_first=True, total_length=inputs.shape[1]
        )
        return self.dropout(found)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Judge utterances of one length."""
        structure, roles = self.judge(self.hidden(inputs))
        return structure, roles[..., 1:]
