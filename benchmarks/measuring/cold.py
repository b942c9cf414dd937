"""A fresh process that imports the package, loads a bundle and rewrites once; prints JSON.

python benchmarks/measuring/cold.py LANGUAGE HISTORY_JSON UTTERANCE
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def resident_megabytes() -> float:
    """Return the memory that this process holds now (where that is unknown: held at most)."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(s for s in status.read_text().splitlines() if s.startswith("VmRSS"))
        return float(line.split()[1]) / 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1024**2


def start_cold(language: str, history: Sequence[str], utterance: str) -> dict[str, float]:
    """Run this file in a fresh process and return its figures."""
    command = [sys.executable, __file__, language, json.dumps(list(history)), utterance]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _main(language: str, history: Sequence[str], utterance: str) -> dict[str, float]:
    before = resident_megabytes()
    started = time.perf_counter()
    from queen_sdk import Rewriter

    imported = time.perf_counter()
    rewriter = Rewriter(language, providers=["cpu"])
    loaded = time.perf_counter()
    result = rewriter.rewrite(history, utterance)
    first = time.perf_counter()
    return {
        "import_ms": (imported - started) * 1e3,
        "load_ms": (loaded - imported) * 1e3,
        "first_call_ms": (first - loaded) * 1e3,
        "resident_mb": resident_megabytes(),
        "python_and_numpy_mb": before,
        **{name: value for name, value in result.to_dict()["timings"].items() if name != "total"},
    }


if __name__ == "__main__":
    assert np  # so that its import is not counted: nearly every program has it already
    print(json.dumps(_main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3])))
