"""`queen models`: the bundles that come with the package."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from queen_sdk.bundle import Bundle, embedded_bundles, load_bundle
from queen_sdk.cli.command import Command
from queen_sdk.cli.output import say, say_json


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def _run(arguments: argparse.Namespace) -> int:
    bundles = [load_bundle(name) for name in embedded_bundles()]
    if arguments.json:
        say_json([_fields(bundle) for bundle in bundles])
        return 0
    for bundle in bundles:
        for line in _described(bundle):
            say(line)
    if not bundles:
        say("no bundle comes with this installation")
    return 0


def _fields(bundle: Bundle) -> dict[str, Any]:
    manifest = bundle.manifest
    return {
        "name": manifest.name,
        "version": manifest.version,
        "languages": list(manifest.languages),
        "precisions": list(bundle.precisions),
        "size_mb": round(_megabytes(bundle), 1),
        "training": manifest.training,
        "scores": manifest.scores,
    }


def _described(bundle: Bundle) -> list[str]:
    manifest = bundle.manifest
    facts = (", ".join(manifest.languages), ", ".join(bundle.precisions))
    return [
        f"{manifest.name} {manifest.version}: {'; '.join(facts)}; {_megabytes(bundle):.1f} MB",
        f"  exact match: {_exact_match(manifest.scores)}",
        f"  trained on: {_origin(manifest.training.get('data'))}",
        f"  encoder: {_origin(manifest.training.get('encoder'))}",
    ]


def _megabytes(bundle: Bundle) -> float:
    return sum((bundle.directory / name).stat().st_size for name in bundle.manifest.files) / 1e6


def _exact_match(scores: Mapping[str, Any]) -> str:
    """Say what was measured on evaluation parts, else on held-out training dialogues."""
    measured = scores.get("evaluation")
    if isinstance(measured, Mapping) and measured:
        return ", ".join(f"{corpus} {_figure(found)}" for corpus, found in measured.items())
    return f"{_figure(scores.get('selection'))} (held-out training dialogues)"


def _figure(found: object) -> str:
    value = found.get("exact_match") if isinstance(found, Mapping) else None
    return f"{value:.1f}" if isinstance(value, (int, float)) else "not stated"


def _origin(entry: object) -> str:
    """Say what a manifest states, in free form, of data or an encoder, with the licence."""
    if isinstance(entry, Mapping):
        name, licence = entry.get("name", "unnamed"), entry.get("licence", "not stated")
        return f"{name} (licence: {licence})"
    if isinstance(entry, (list, tuple)):
        return ", ".join(map(_origin, entry)) or "not stated"
    return "not stated" if entry is None else str(entry)


COMMAND = Command(
    "models", help="list the bundles that come with the package", configure=_configure, run=_run
)
