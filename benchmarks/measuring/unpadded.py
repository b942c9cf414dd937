"""A BERT encoder that does no work on padding, whatever network sits on top of it."""

from __future__ import annotations

import attrs
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import BertModel


@attrs.frozen(eq=False)
class Encoded:
    """What an encoder gives back; zeros where padding stood."""

    last_hidden_state: Tensor


class UnpaddedBert(nn.Module):
    """The layers of a BERT on the word pieces of a whole batch in one row, without its padding.

    Only the attention lays the dialogues out in a rectangle again, since each attends to itself.
    """

    def __init__(self, encoder: BertModel) -> None:
        """Take the encoder whose layers do the work."""
        super().__init__()
        self.encoder = encoder
        self.config = encoder.config

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Encoded:
        """Return the same as the encoder does, but for the places of padding."""
        seen = attention_mask.bool()
        places = seen.flatten().nonzero().squeeze(1)
        positions = torch.arange(seen.shape[1], device=seen.device).expand_as(seen)
        hidden = self.encoder.embeddings(
            input_ids=input_ids[seen][None],
            token_type_ids=token_type_ids[seen][None],
            position_ids=positions[seen][None],
        )[0]
        for layer in self.encoder.encoder.layer:
            attended = layer.attention.output(self._attend(layer, hidden, places, seen), hidden)
            hidden = layer.output(layer.intermediate(attended), attended)
        return Encoded(_laid_out(hidden, places, seen))

    def _attend(self, layer: nn.Module, hidden: Tensor, places: Tensor, seen: Tensor) -> Tensor:
        heads = self.config.num_attention_heads
        own = layer.attention.self
        laid_out = (
            _laid_out(linear(hidden), places, seen).unflatten(-1, (heads, -1)).transpose(1, 2)
            for linear in (own.query, own.key, own.value)
        )
        context = scaled_dot_product_attention(*laid_out, attn_mask=seen[:, None, None])
        return context.transpose(1, 2).flatten(2).flatten(0, 1)[places]


def _laid_out(row: Tensor, places: Tensor, seen: Tensor) -> Tensor:
    """Return batch × length × width from the vectors of the places that are seen."""
    rectangle = row.new_zeros(seen.numel(), row.shape[-1])
    return rectangle.index_copy(0, places, row).unflatten(0, seen.shape)
