"""The checks of `queen doctor`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from queen_sdk.cli import checks
from queen_sdk.cli.checks import advise, check_bundle, installed_runtimes, missing_by_extra
from queen_sdk.runtime import CPU, CUDA, GPU_INSTALL

CPU_ONLY = {CPU, "AzureExecutionProvider"}
WITH_CUDA = {CPU, CUDA}


@pytest.mark.parametrize(
    ("installed", "available", "active", "gpu"),
    [
        (["onnxruntime"], CPU_ONLY, {CPU}, False),
        (["onnxruntime"], CPU_ONLY, set(), False),
        (["onnxruntime-gpu"], WITH_CUDA, {CUDA}, True),
        (["onnxruntime-directml"], {CPU, "DmlExecutionProvider"}, {CPU}, False),
        ([], CPU_ONLY, {CPU}, False),
    ],
)
def test_a_right_runtime_needs_no_advice(
    installed: list[str], available: set[str], active: set[str], gpu: bool
) -> None:
    assert advise(installed, available, active, gpu=gpu) is None


@pytest.mark.parametrize(("gpu", "wanted"), [(False, "onnxruntime"), (True, "onnxruntime-gpu")])
def test_two_runtimes_are_broken(gpu: bool, wanted: str) -> None:
    advice = advise(["onnxruntime", "onnxruntime-gpu"], WITH_CUDA, {CPU}, gpu=gpu)
    assert advice is not None
    assert advice.broken
    assert advice.fix == (f"pip uninstall -y onnxruntime onnxruntime-gpu && pip install {wanted}")


@pytest.mark.parametrize(
    ("package", "available"), [("onnxruntime", WITH_CUDA), ("onnxruntime-gpu", CPU_ONLY)]
)
def test_leftover_files_of_the_other_package_are_noticed(package: str, available: set[str]) -> None:
    advice = advise([package], available, {CPU}, gpu=False)
    assert advice is not None
    assert advice.broken
    assert advice.fix == f"pip install --force-reinstall --no-deps {package}"


@pytest.mark.parametrize(
    ("installed", "available", "gpu", "fix"),
    [
        ("onnxruntime", CPU_ONLY, True, GPU_INSTALL),
        (
            "onnxruntime-gpu",
            WITH_CUDA,
            False,
            "pip uninstall -y onnxruntime-gpu && pip install onnxruntime",
        ),
        ("onnxruntime-gpu", WITH_CUDA, True, "pip install 'onnxruntime-gpu[cuda,cudnn]'"),
    ],
)
def test_a_slow_runtime_is_advised_against_but_works(
    installed: str, available: set[str], gpu: bool, fix: str
) -> None:
    advice = advise([installed], available, {CPU}, gpu=gpu)
    assert advice is not None
    assert (advice.fix, advice.broken) == (fix, False)


def test_one_runtime_is_installed_here() -> None:
    assert len(installed_runtimes()) == 1


def test_a_bundle_is_timed(tiny_bundle_dir: Path) -> None:
    check = check_bundle(str(tiny_bundle_dir))
    assert check.error is None
    assert (check.version, check.precisions, check.provider) == ("tiny 1", ("float32",), CPU)
    assert check.load_ms is not None
    assert check.first_call_ms is not None
    assert check.warm_call_ms is not None
    assert check.warm_call_ms > 0


def test_a_bundle_of_another_language_is_only_opened(altered_bundle: Callable[..., Path]) -> None:
    check = check_bundle(str(altered_bundle(languages=("fr",))))
    assert (check.error, check.first_call_ms, check.warm_call_ms) == (None, None, None)


def test_what_is_wrong_with_a_bundle_is_kept(altered_bundle: Callable[..., Path]) -> None:
    directory = altered_bundle()
    (directory / "tokenizer.json").write_text("{}")
    error = check_bundle(str(directory)).error
    assert error is not None
    assert "tokenizer.json: was altered" in error


def test_extras_are_read_from_the_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "version_of", {"spacy": "3.8"}.get)
    requirements = [
        "numpy>=1.23",
        "spacy>=3.7; extra == 'eval'",
        'spacy>=3.7; extra == "train"',
        "optimum<3,>=2.1; extra == 'train'",
        "optimum-onnx<0.2,>=0.1 ; python_version > '3' and extra == 'train'",
        "queen-sdk[test]; extra == 'dev'",
    ]
    assert missing_by_extra(requirements) == {"eval": [], "train": ["optimum", "optimum-onnx"]}
