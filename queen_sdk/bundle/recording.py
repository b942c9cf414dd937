"""Adding what was measured to a bundle that is already there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from queen_sdk.bundle.loading import Bundle
from queen_sdk.bundle.manifest import Manifest, write_manifest


def record_scores(bundle: Bundle, corpus: str, figures: Mapping[str, Any]) -> Manifest:
    """Write the figures for a corpus into the manifest, under `evaluation`, and return it."""
    scores = dict(bundle.manifest.scores)
    scores["evaluation"] = {**scores.get("evaluation", {}), corpus: dict(figures)}
    return write_manifest(
        bundle.directory,
        attrs.evolve(bundle.manifest, scores=scores),
        files=tuple(bundle.manifest.files),
    )
