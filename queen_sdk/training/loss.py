"""The multi-label circle loss over the valid rectangle."""

from __future__ import annotations

import torch
from torch import Tensor


def circle_loss(scores: Tensor, positive: Tensor, valid: Tensor) -> Tensor:
    """Return the mean over examples and operations of both log-sum-exp terms.

    `positive` and `valid` are boolean masks of the shape of `scores`.
    """
    lowest = torch.finfo(scores.dtype).min
    missed = torch.where(positive & valid, -scores, lowest).flatten(2)
    raised = torch.where(~positive & valid, scores, lowest).flatten(2)
    return (_log_one_plus_sum(missed) + _log_one_plus_sum(raised)).mean()


def _log_one_plus_sum(values: Tensor) -> Tensor:
    zero = torch.zeros_like(values[..., :1])
    return torch.logsumexp(torch.cat((zero, values), dim=-1), dim=-1)
