"""Dropout whose noise comes from NumPy: torch draws its own slowly on CPUs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from transformers.models.bert.modeling_bert import BertSelfAttention

_STEPS = 256
"""Noise is one byte per number."""


class QuickDropout(nn.Module):
    """Leaves out a share of the numbers in training, rounded to a 256th, and scales up the rest.

    torch's generator seeds the noise of every call: who sets its state repeats the noise.
    """

    def __init__(self, share: float) -> None:
        """Take the share."""
        super().__init__()
        self._below = round(share * _STEPS)

    def forward(self, values: Tensor) -> Tensor:
        """Return the values, some of them nought."""
        if not self.training or not self._below:
            return values
        generator = np.random.Generator(np.random.SFC64(int(torch.randint(2**62, ()))))
        noise = generator.integers(0, _STEPS, size=tuple(values.shape), dtype=np.uint8)
        kept = torch.from_numpy(noise >= self._below).to(values.device, values.dtype)
        return values * kept.mul_(_STEPS / (_STEPS - self._below))


def drop_quickly(model: nn.Module) -> None:
    """Put quick dropout in the place of torch's, in all parts of a network.

    Attention goes without: torch's quick attention knows none.
    """
    for module in list(model.modules()):
        if isinstance(module, BertSelfAttention):
            module.dropout_prob = 0.0  # type: ignore[assignment]
        for name, part in module.named_children():
            if isinstance(part, nn.Dropout):
                setattr(module, name, QuickDropout(part.p))
