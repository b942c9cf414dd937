"""The network: a BERT encoder, one projection per operation, rotary positions, dot products."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel

from queen_sdk.errors import InvalidArgumentError

PLANES = 4
"""Of the scores: both operations, and where what is copied begins and ends."""


class QueenConfig(BertConfig):
    """A BERT configuration and the width of the projections."""

    model_type = "queen"

    def __init__(self, projection_size: int = 128, **bert: object) -> None:
        """Take the projection width; everything else goes to BERT."""
        super().__init__(**bert)
        self.projection_size = projection_size


class QueenScorer(BertPreTrainedModel):
    """Scores both operations between every history token and every utterance position.

    Beside them, in the same way, where what is copied there begins and ends.
    """

    config_class = QueenConfig
    cosines: Tensor
    sines: Tensor

    def __init__(self, config: QueenConfig) -> None:
        """Build the network with fresh weights."""
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.projection = nn.Linear(config.hidden_size, 2 * config.projection_size)
        self.ends = nn.Linear(config.hidden_size, 2 * config.projection_size)
        cosines, sines = rotation_tables(config.max_position_embeddings, config.projection_size)
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        history_index: Tensor,
        utterance_index: Tensor,
    ) -> Tensor:
        """Return scores: batch × `PLANES` × history tokens × utterance tokens and END."""
        hidden = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        rows = self._project(hidden, torch.cat((history_index, utterance_index), dim=1))
        history = history_index.shape[1]
        queries, keys = rows[:, :, :history], rows[:, :, history:]
        scale = float(self.config.projection_size) ** -0.5
        scores: Tensor = queries @ keys.transpose(-1, -2) * scale
        return scores

    def head_parameters(self) -> list[nn.Parameter]:
        """Return what sits on top of the encoder."""
        return [*self.projection.parameters(), *self.ends.parameters()]

    def freeze(self, layers: int) -> None:
        """Keep the weights of so many of the lowest layers, and of the embeddings below them.

        Raises:
            InvalidArgumentError: The encoder has fewer.
        """
        own = len(self.bert.encoder.layer)
        if not 0 <= layers <= own:
            raise InvalidArgumentError(
                f"frozen_layers must be from 0 to {own}, the layers of the encoder, got {layers}"
            )
        if layers:
            self.bert.embeddings.requires_grad_(False)
        for layer in self.bert.encoder.layer[:layers]:
            layer.requires_grad_(False)

    def _project(self, hidden: Tensor, index: Tensor) -> Tensor:
        """Gather the tokens at `index`, project and rotate them: batch × 4 × tokens × width."""
        picked = torch.gather(hidden, 1, index.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        size = self.config.projection_size
        both = torch.cat((self.projection(picked), self.ends(picked)), dim=-1)
        projected = both.reshape(picked.shape[0], -1, PLANES, size).transpose(1, 2)
        cosines = nn.functional.embedding(index, self.cosines).unsqueeze(1)
        sines = nn.functional.embedding(index, self.sines).unsqueeze(1)
        even, odd = projected[..., : size // 2], projected[..., size // 2 :]
        rotated: Tensor = torch.cat(
            (even * cosines - odd * sines, odd * cosines + even * sines), dim=-1
        )
        return rotated


def rotation_tables(positions: int, size: int) -> tuple[Tensor, Tensor]:
    """Return cosines and sines of the rotary angles, positions × half the width."""
    frequencies = 10_000.0 ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = torch.arange(positions, dtype=torch.float32)[:, None] * frequencies
    return angles.cos(), angles.sin()
