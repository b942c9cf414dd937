"""The pages on adapters: their code compiles, and what it imports of ours is there."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from queen_sdk.errors import MissingExtraError

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "adapters").glob("*.md"))


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_imports_is_there(page: Path) -> None:
    for block in blocks(page):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("queen_"):
                try:
                    module = importlib.import_module(str(node.module))
                except MissingExtraError as error:
                    pytest.skip(str(error))
                for name in node.names:
                    assert hasattr(module, name.name), f"{node.module} has no {name.name}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
