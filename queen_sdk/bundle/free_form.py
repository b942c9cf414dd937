"""Reading the free-form parts of a manifest with care: anybody may have written them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def part(entry: object, name: str) -> Mapping[str, Any]:
    """Return the mapping that `entry` holds under `name`; an empty one if there is none."""
    found = entry.get(name) if isinstance(entry, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def figure(entry: object, name: str) -> float | None:
    """Return the number that `entry` holds under `name`; None if there is none."""
    found = entry.get(name) if isinstance(entry, Mapping) else None
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def origins(entry: object) -> list[str]:
    """Say what is stated of data or encoders, each with its licence; nothing if nothing is."""
    if isinstance(entry, Mapping):
        if not entry:
            return []
        name, licence = entry.get("name", "unnamed"), entry.get("licence", "not stated")
        return [f"{name} (licence: {licence})"]
    if isinstance(entry, (list, tuple)):
        return [text for item in entry for text in origins(item)]
    return [] if entry is None else [str(entry)]
