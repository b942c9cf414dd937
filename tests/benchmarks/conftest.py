"""The benchmarks as modules, and a way to run them as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))


@attrs.frozen
class Done:
    """What a benchmark left behind."""

    printed: str
    figures: dict[str, Any]
    folder: Path

    @property
    def markdown(self) -> str:
        return next(self.folder.glob("*.md")).read_text(encoding="utf-8")

    @property
    def pictures(self) -> list[Path]:
        return list(self.folder.glob("*.png"))


@pytest.fixture(scope="session")
def run_quickly(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Done]:
    """Return a function that runs a benchmark with --quick, without corpora and encoders."""

    def run(name: str, *options: str) -> Done:
        folder: Path = tmp_path_factory.mktemp(name)
        file = folder / "elsewhere.json"
        hidden = ("QUEEN_DATA", "QUEEN_WEIGHTS")
        environment = {k: v for k, v in os.environ.items() if k not in hidden}
        root = str(BENCHMARKS.parent)
        environment["PYTHONPATH"] = os.pathsep.join([root, environment.get("PYTHONPATH", "")])
        command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick"]
        command += ["--json", str(file), "--results", str(folder), *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        figures = json.loads(file.read_text(encoding="utf-8"))
        return Done(done.stdout, figures, folder / "quick")

    return run
