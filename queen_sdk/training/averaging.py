"""The mean of a network's weights over its last steps: steadier than any one of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from queen_sdk.errors import InvalidArgumentError

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


def last_weights(run: Path) -> tuple[int, dict[str, Tensor]]:
    """Return how many passes a run has behind it, and the mean of its weights after the last.

    Raises:
        InvalidArgumentError: It was stopped within a pass.
    """
    folder = run / "checkpoint"
    place = json.loads((folder / "place.json").read_text(encoding="utf-8"))
    if place["step"]:
        raise InvalidArgumentError(
            f"{run} must have ended a pass, and was stopped {place['step']} steps into one; run "
            "queen train again to go on with it"
        )
    # accelerate numbers what is registered for checkpointing: the mean is all there is.
    state = torch.load(folder / "custom_checkpoint_0.pkl", map_location="cpu", weights_only=True)
    return place["epoch"], state["weights"]
