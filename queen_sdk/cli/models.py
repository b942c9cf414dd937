"""`queen models`: the bundles that come with the package, and the card of any bundle."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from queen_sdk.bundle import Bundle, embedded_bundles, load_bundle, read_card
from queen_sdk.bundle.free_form import figure, origins, part
from queen_sdk.cli.command import Command
from queen_sdk.cli.output import say, say_json


def _configure(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON array")
    form.add_argument(
        "--card",
        metavar="zh|en|PATH",
        help="print the card of one bundle: data, licences, figures, known failures",
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.card is not None:
        say(read_card(load_bundle(arguments.card)).rstrip("\n"))
        return 0
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
        f"  trained on: {_origins(manifest.training.get('data'))}",
        f"  encoder: {_origins(manifest.training.get('encoder'))}",
    ]


def _megabytes(bundle: Bundle) -> float:
    return sum((bundle.directory / name).stat().st_size for name in bundle.manifest.files) / 1e6


def _exact_match(scores: Mapping[str, Any]) -> str:
    """Say what was measured on evaluation parts, else on held-out training dialogues."""
    measured = part(scores, "evaluation")
    if measured:
        return ", ".join(f"{corpus} {_figure(found)}" for corpus, found in measured.items())
    return f"{_figure(scores.get('selection'))} (held-out training dialogues)"


def _figure(found: object) -> str:
    value = figure(found, "exact_match")
    return "not stated" if value is None else f"{value:.1f}"


def _origins(entry: object) -> str:
    return ", ".join(origins(entry)) or "not stated"


COMMAND = Command(
    "models", help="list the bundles that come with the package", configure=_configure, run=_run
)
