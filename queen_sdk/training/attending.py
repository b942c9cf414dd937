"""Plain attention while a network learns in bfloat16 on a CPU.

torch's fused attention is made for float32 there: its backward pass takes a fifth of a step, and it
knows no dropout. Both compute the same but for rounding.
"""

from __future__ import annotations

from transformers.models.bert.modeling_bert import BertSdpaSelfAttention, BertSelfAttention

from queen_sdk.training.scorer import QueenScorer


def attend_plainly(model: QueenScorer) -> None:
    """Put plain attention, with its dropout, in the place of the fused one, in all layers."""
    for part in model.modules():
        if isinstance(part, BertSdpaSelfAttention):
            part.__class__ = BertSelfAttention  # type: ignore[assignment]  # the same weights
    model.bert.attn_implementation = "eager"
