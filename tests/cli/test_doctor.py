"""`queen doctor`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queen_sdk.cli import doctor

Queen = Callable[..., Any]


@pytest.fixture(autouse=True)
def plain_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that there is no GPU, one runtime, and one extra without its package."""
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    monkeypatch.setattr(doctor, "installed_runtimes", lambda: {"onnxruntime": "1.2.3"})
    requirements = ["numpy; extra == 'all'", "no-such-package; extra == 'server'"]
    monkeypatch.setattr(doctor, "own_requirements", lambda: requirements)


def test_a_sound_installation_is_code_0(queen: Queen, embedded: Path) -> None:
    outcome = queen("doctor")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert "onnxruntime    1.2.3" in lines
    assert any(line.startswith("bundle en: ok, tiny 1, float32, on CPUExec") for line in lines)
    assert "extra all: installed" in lines
    assert "extra server: missing no-such-package; pip install 'queen-sdk[server]'" in lines
    assert lines[-1] == "all is well"


def test_json_has_the_same(queen: Queen, embedded: Path) -> None:
    outcome = queen("doctor", "--json")
    found = json.loads(outcome.out)
    assert found["ok"] is True
    assert found["versions"]["onnxruntime"] == "1.2.3"
    assert "CPUExecutionProvider" in found["providers"]
    assert found["bundles"][0]["warm_call_ms"] > 0
    assert found["extras"] == {"all": [], "server": ["no-such-package"]}


def test_a_damaged_bundle_is_code_1(queen: Queen, embedded: Path) -> None:
    (embedded / "en" / "model.onnx").write_bytes(b"")
    outcome = queen("doctor")
    assert outcome.code == 1
    assert "bundle en: BROKEN: " in outcome.out
    assert "pip install --force-reinstall" in outcome.out
    assert json.loads(queen("doctor", "--json").out)["ok"] is False


def test_no_bundle_at_all_is_code_1(queen: Queen, embedded: Path) -> None:
    (embedded / "en" / "manifest.json").unlink()
    outcome = queen("doctor")
    assert outcome.code == 1
    assert "no bundle comes with this installation" in outcome.out


def test_two_runtimes_are_code_1_with_the_fix(
    queen: Queen, embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"onnxruntime": "1", "onnxruntime-gpu": "1"}
    monkeypatch.setattr(doctor, "installed_runtimes", lambda: both)
    outcome = queen("doctor")
    assert outcome.code == 1
    fix = "  pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime"
    assert fix in outcome.out.splitlines()


def test_other_bundles_can_be_checked(queen: Queen, tiny_bundle_dir: Path, tmp_path: Path) -> None:
    assert queen("doctor", "--bundle", tiny_bundle_dir).code == 0
    outcome = queen("doctor", "--bundle", tiny_bundle_dir, "--bundle", tmp_path)
    assert outcome.code == 1
    assert "no manifest.json there" in outcome.out
