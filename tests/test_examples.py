"""Every example runs and prints what its docstring shows."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import textwrap
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from queen_sdk.bundle import embedded_bundles

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
pytestmark = pytest.mark.skipif(
    not {"en", "zh"} <= set(embedded_bundles()), reason="this copy has no embedded bundles"
)
SHARE = re.compile(r"[+-]?\d+\.\d+")
"""Of questions answered right; releases of ONNX Runtime differ in a doubtful one."""


def missing(docstring: str) -> list[str]:
    """Return what the example says it needs and is not installed."""
    needed = re.search(r"^Needs: pip install (.*)$", docstring, re.MULTILINE)
    absent = []
    for name in needed[1].split() if needed else ():
        try:
            version(name)
        except PackageNotFoundError:
            absent.append(name)
    return absent


@pytest.mark.filterwarnings("ignore:.*Swig.*:DeprecationWarning")  # of faiss
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_its_docstring_shows(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    _, _, session = docstring.partition(f"$ python examples/{path.name}\n")
    assert session, "the docstring shows no run"
    if absent := missing(docstring):
        pytest.skip(f"needs {', '.join(absent)}")
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    shown = textwrap.dedent(session.split("\n\n")[0]).rstrip()
    printed = capsys.readouterr().out.rstrip()
    assert SHARE.sub("N", printed) == SHARE.sub("N", shown)
    for ours, theirs in zip(SHARE.findall(printed), SHARE.findall(shown), strict=True):
        assert float(ours) == pytest.approx(float(theirs), abs=2)
