"""What `queen doctor` looks at: packages, ONNX Runtime, bundles, extras."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Collection, Iterable, Sequence
from importlib import metadata

import attrs

from queen_sdk.bundle import load_bundle
from queen_sdk.errors import QueenError
from queen_sdk.rewriter import Rewriter
from queen_sdk.runtime import CUDA, GPU_INSTALL

DISTRIBUTION = "queen-sdk"
_CPU_PACKAGE, _GPU_PACKAGE = "onnxruntime", "onnxruntime-gpu"
_RUNTIMES = (_CPU_PACKAGE, _GPU_PACKAGE, "onnxruntime-directml", "onnxruntime-openvino")
"""Distributions that bring the one import package `onnxruntime`."""
_WARM_CALLS = 50
_DIALOGUES = {
    "en": (["Does Smith care about the type of cuisine?"], "No, he does not care."),
    "zh": (["你喜欢史密斯吗", "史密斯是谁"], "他是一个人"),
}
_EXTRA = re.compile(r"(?P<package>[\w.\-]+).*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")


@attrs.frozen
class Advice:
    """Something about the installation that should be otherwise."""

    problem: str
    """What is found."""
    fix: str = attrs.field(kw_only=True)
    """The line that puts it right."""
    broken: bool = attrs.field(kw_only=True)
    """Whether results cannot be relied on as it is."""


@attrs.frozen
class BundleCheck:
    """A bundle, opened and tried."""

    bundle: str
    """Name or directory."""
    error: str | None = attrs.field(default=None, kw_only=True)
    """What is wrong with it; None if nothing is."""
    version: str | None = attrs.field(default=None, kw_only=True)
    precisions: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    provider: str | None = attrs.field(default=None, kw_only=True)
    """The execution provider that is really active."""
    load_ms: float | None = attrs.field(default=None, kw_only=True)
    """Check of all files, tokenizer and graph."""
    first_call_ms: float | None = attrs.field(default=None, kw_only=True)
    warm_call_ms: float | None = attrs.field(default=None, kw_only=True)
    """Median of 50 calls."""


def version_of(distribution: str) -> str | None:
    """Return the installed version; None if there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def installed_runtimes() -> dict[str, str]:
    """Return the versions of all packages that bring ONNX Runtime; it should be one."""
    versions = {name: version_of(name) for name in _RUNTIMES}
    return {name: version for name, version in versions.items() if version is not None}


def advise(
    installed: Sequence[str], available: Collection[str], active: Collection[str], *, gpu: bool
) -> Advice | None:
    """Say what is wrong with ONNX Runtime, if anything is.

    `available` are the providers that it names, `active` those that really run bundles; `gpu`
    tells whether the machine has an NVIDIA GPU.
    """
    wanted = _GPU_PACKAGE if gpu else _CPU_PACKAGE
    if len(installed) > 1:
        return Advice(
            f"{' and '.join(installed)} are installed, but only one of them can be",
            fix=f"pip uninstall -y {' '.join(installed)} && pip install {wanted}",
            broken=True,
        )
    package = next(iter(installed), None)
    if package in (_CPU_PACKAGE, _GPU_PACKAGE) and (CUDA in available) != (package == _GPU_PACKAGE):
        return Advice(
            f"{package} is installed, but some of its files are another package's",
            fix=f"pip install --force-reinstall --no-deps {package}",
            broken=True,
        )
    if package == _CPU_PACKAGE and gpu:
        return Advice(
            "there is an NVIDIA GPU, which onnxruntime cannot use", fix=GPU_INSTALL, broken=False
        )
    if package == _GPU_PACKAGE and not gpu:
        return Advice(
            "onnxruntime-gpu is installed, but there is no NVIDIA GPU: it works on the CPU",
            fix=f"pip uninstall -y {_GPU_PACKAGE} && pip install {_CPU_PACKAGE}",
            broken=False,
        )
    if package == _GPU_PACKAGE and active and CUDA not in active:
        return Advice(
            "CUDA did not start, so bundles run on the CPU",
            fix="pip install 'onnxruntime-gpu[cuda,cudnn]'",
            broken=False,
        )
    return None


def check_bundle(bundle: str) -> BundleCheck:
    """Open a bundle, with the digests of all its files, and time it on a small dialogue."""
    try:
        opened = load_bundle(bundle)
        started = time.perf_counter()
        with Rewriter(bundle) as rewriter:
            load_ms = _since(started)
            languages = opened.manifest.languages
            times = next((_call_times(rewriter, k) for k in languages if k in _DIALOGUES), [])
            return BundleCheck(
                bundle,
                version=f"{opened.manifest.name} {opened.manifest.version}",
                precisions=opened.precisions,
                provider=rewriter.provider,
                load_ms=load_ms,
                first_call_ms=times[0] if times else None,
                warm_call_ms=statistics.median(times[1:]) if times else None,
            )
    except QueenError as error:
        return BundleCheck(bundle, error=str(error))


def _call_times(rewriter: Rewriter, language: str) -> list[float]:
    times = []
    for _ in range(1 + _WARM_CALLS):
        started = time.perf_counter()
        rewriter.rewrite(*_DIALOGUES[language])
        times.append(_since(started))
    return times


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1e3


def missing_by_extra(requirements: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each extra that the requirements of a package name, what is not installed."""
    missing: dict[str, list[str]] = {}
    for requirement in requirements:
        found = _EXTRA.match(requirement)
        if found and found["package"] != DISTRIBUTION:
            absent = missing.setdefault(found["extra"], [])
            if version_of(found["package"]) is None:
                absent.append(found["package"])
    return missing


def own_requirements() -> list[str]:
    """Return what this package asks for; nothing if it runs without being installed."""
    try:
        return metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
