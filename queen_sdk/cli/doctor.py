"""`queen doctor`: is everything there, does it work, how fast."""

from __future__ import annotations

import argparse
import platform
import shutil
from collections.abc import Iterator
from typing import Any

import attrs

from queen_sdk import __version__
from queen_sdk.bundle import embedded_bundles
from queen_sdk.cli.checks import (
    DISTRIBUTION,
    Advice,
    BundleCheck,
    advise,
    check_bundle,
    installed_runtimes,
    missing_by_extra,
    own_requirements,
    version_of,
)
from queen_sdk.cli.command import Command
from queen_sdk.cli.output import say, say_json
from queen_sdk.runtime import available_providers

_BASE = ("numpy", "tokenizers", "rapidfuzz", "attrs")


@attrs.frozen(kw_only=True)
class Diagnosis:
    """What was found."""

    versions: dict[str, str | None]
    """Of Python and the packages that every call needs; None for one that is missing."""
    providers: tuple[str, ...]
    """What ONNX Runtime says it could run on."""
    advice: Advice | None
    """What to change about ONNX Runtime."""
    bundles: tuple[BundleCheck, ...]
    """Each bundle, tried."""
    extras: dict[str, list[str]]
    """Packages that are missing, by extra."""

    @property
    def ok(self) -> bool:
        """Whether rewriting works as it should."""
        whole = bool(self.bundles) and all(check.error is None for check in self.bundles)
        runtime = self.advice is None or not self.advice.broken
        return whole and runtime and None not in self.versions.values()


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bundle",
        action="append",
        metavar="zh|en|PATH",
        help="check only this bundle; repeat it for more (default: the embedded ones)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _run(arguments: argparse.Namespace) -> int:
    diagnosis = diagnose(tuple(arguments.bundle or embedded_bundles()))
    if arguments.json:
        say_json(_fields(diagnosis))
    else:
        for line in _described(diagnosis):
            say(line)
    return 0 if diagnosis.ok else 1


def diagnose(bundles: tuple[str, ...]) -> Diagnosis:
    """Look at the installation and try the bundles."""
    runtimes = installed_runtimes()
    checks = tuple(check_bundle(bundle) for bundle in bundles)
    active = {check.provider for check in checks if check.provider is not None}
    gpu = shutil.which("nvidia-smi") is not None
    return Diagnosis(
        versions={
            "python": platform.python_version(),
            DISTRIBUTION: __version__,
            **(runtimes or {"onnxruntime": "of an unknown package"}),
            **{name: version_of(name) for name in _BASE},
        },
        providers=available_providers(),
        advice=advise(tuple(runtimes), available_providers(), active, gpu=gpu),
        bundles=checks,
        extras=missing_by_extra(own_requirements()),
    )


def _fields(diagnosis: Diagnosis) -> dict[str, Any]:
    return {"ok": diagnosis.ok, **attrs.asdict(diagnosis)}


def _described(diagnosis: Diagnosis) -> Iterator[str]:
    for name, version in diagnosis.versions.items():
        yield f"{name:<14} {version or f'MISSING; pip install {name}'}"
    yield f"{'providers':<14} {', '.join(diagnosis.providers)}"
    for check in diagnosis.bundles:
        yield f"bundle {check.bundle}: {_bundle_text(check)}"
    if not diagnosis.bundles:
        yield "no bundle comes with this installation; install queen-sdk again"
    for extra, missing in diagnosis.extras.items():
        hint = f"missing {', '.join(missing)}; pip install '{DISTRIBUTION}[{extra}]'"
        yield f"extra {extra}: {hint if missing else 'installed'}"
    if diagnosis.advice is not None:
        yield f"{diagnosis.advice.problem}; to change it:"
        yield f"  {diagnosis.advice.fix}"
    yield "all is well" if diagnosis.ok else "something is broken, see above"


def _bundle_text(check: BundleCheck) -> str:
    if check.error is not None:
        return f"BROKEN: {check.error}"
    parts = [f"ok, {check.version}, {', '.join(check.precisions)}, on {check.provider}"]
    parts.append(f"loaded in {check.load_ms:.0f} ms")
    if check.first_call_ms is not None:
        parts.append(f"first call {check.first_call_ms:.1f} ms, then {check.warm_call_ms:.1f} ms")
    return "; ".join(parts)


COMMAND = Command(
    "doctor",
    help="check versions, ONNX Runtime and bundles, with a timed self-test",
    configure=_configure,
    run=_run,
)
