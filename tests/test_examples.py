"""Every example runs and prints what its docstring shows."""

from __future__ import annotations

import ast
import runpy
import textwrap
from pathlib import Path

import pytest

from queen_sdk.bundle import embedded_bundles

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
pytestmark = pytest.mark.skipif(
    not {"en", "zh"} <= set(embedded_bundles()), reason="this copy has no embedded bundles"
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_its_docstring_shows(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    _, _, session = docstring.partition(f"$ python examples/{path.name}\n")
    assert session, "the docstring shows no run"
    runpy.run_path(str(path), run_name="__main__")
    shown = textwrap.dedent(session.split("\n\n")[0]).rstrip()
    assert capsys.readouterr().out.rstrip() == shown
