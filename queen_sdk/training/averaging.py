"""The mean of a network's weights over its last steps: steadier than any one of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

N = TypeVar("N", bound=nn.Module)

_FIRST_STEPS = 9
"""While there are few steps, the mean is one of about the last tenth of them."""


class MeanWeights(Generic[N]):
    """A copy of a network that follows it slowly."""

    def __init__(self, model: N, kept: float) -> None:
        """Take the network before its first step, and what of the mean each step leaves."""
        self._kept, self._steps = kept, 0
        self.model = copy.deepcopy(model).requires_grad_(False).eval()

    def add(self, model: N) -> None:
        """Take in the weights of the network as they are now."""
        self._steps += 1
        share = max(1 - self._kept, _FIRST_STEPS / (_FIRST_STEPS + self._steps))
        pairs = zip(self.model.parameters(), model.parameters(), strict=True)
        moving = [(mean, now) for mean, now in pairs if now.requires_grad]
        with torch.no_grad():
            torch._foreach_lerp_(
                [mean for mean, _ in moving], [now.detach() for _, now in moving], share
            )

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"steps": self._steps, "weights": self.model.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._steps = state["steps"]
        weights: Mapping[str, Tensor] = state["weights"]
        self.model.load_state_dict(weights)
