"""The package as a whole: its door, what importing it costs, and which way imports point."""

from __future__ import annotations

import ast
import graphlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

import queen_sdk

ROOT = Path(queen_sdk.__file__).parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("values", "errors", "options", "tabular"),
    (
        "tokenization",
        "dialogue",
        "language",
        "rows",
        "parsing",
        "parsing.base",
        "parsing.inputs",
        "parsing.rule",
        "template",
        "features",
        "pipeline",
        "decoding",
        "confidence",
        "editing",
        "calls",
        "wire",
    ),
    ("bundle.*",),
    ("runtime",),
    ("parsing.*",),
    ("model",),
    ("choosing",),
    ("rewriter",),
    (
        "answers",
        "asking",
        "batching",
        "breaker",
        "cache",
        "forking",
        "client",
        "middleware",
        "policy",
        "session",
        "stores.*",
        "telemetry",
        "testing",
        "waiting",
        "working",
    ),
    ("data.*", "evaluation.*"),
    ("training.*",),
    ("cli.*", "server.*"),
)
"""From the bottom: a module imports nothing from a layer above its own."""


@attrs.frozen
class Import:
    """One imported module, and whether it is imported together with the importing one."""

    module: str
    eager: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def imports_of(path: Path) -> Iterator[Import]:
    """Yield what a module imports; imports in functions and for type checkers are not eager."""
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text("utf-8")), True)]
    while pending:
        node, eager = pending.pop()
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            assert node.module
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                known = submodule.removeprefix("queen_sdk.") in MODULES
                yield Import(submodule if known else node.module, eager)
        hidden = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        pending += [(child, eager and not hidden) for child in ast.iter_child_nodes(node)]


def own_imports(module: str) -> set[str]:
    """Return the modules of the package that come along with `module`."""
    found = {
        item.module.removeprefix("queen_sdk").removeprefix(".")
        for item in imports_of(MODULES[module])
        if item.eager and item.module.split(".")[0] == "queen_sdk"
    }
    return found - {module}


def layer_of(module: str) -> int:
    """Return the layer of a module; its own name goes before that of its package."""
    for name in (
        module,
        f"{module}.*",
        f"{module.rpartition('.')[0]}.*",
        f"{module.split('.')[0]}.*",
    ):
        for number, members in enumerate(LAYERS):
            if name in members:
                return number
    raise AssertionError(f"say in LAYERS where queen_sdk.{module} belongs")


class TestDoor:
    """The public names."""

    def test_public_names_are_sorted_and_there(self) -> None:
        assert queen_sdk.__all__ == sorted(queen_sdk.__all__)
        assert len(set(queen_sdk.__all__)) == len(queen_sdk.__all__)
        for name in queen_sdk.__all__:
            assert getattr(queen_sdk, name) is not None

    def test_no_other_public_name_slips_in(self) -> None:
        modules = {name.split(".")[0] for name in MODULES}
        public = {name for name in vars(queen_sdk) if not name.startswith("_")} - modules
        assert public | {"__version__"} == set(queen_sdk.__all__)

    def test_every_module_says_what_it_is(self) -> None:
        for path in MODULES.values():
            assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


IMPORT = """
import json, sys, time
started = time.process_time()
import queen_sdk
print(json.dumps([time.process_time() - started, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def fresh_imports() -> list[tuple[float, set[str]]]:
    """Import the package in fresh processes; return processor seconds and loaded modules."""
    found = []
    for _ in range(4):  # the first may have to compile
        done = subprocess.run(
            [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True
        )
        seconds, modules = json.loads(done.stdout)
        found.append((seconds, set(modules)))
    return found[1:]


class TestImport:
    """What `import queen_sdk` costs."""

    @pytest.mark.parametrize(
        "heavy", ["torch", "transformers", "spacy", "optimum", "accelerate", "matplotlib", "onnx"]
    )
    def test_heavy_libraries_are_left_alone(
        self, fresh_imports: list[tuple[float, set[str]]], heavy: str
    ) -> None:
        for _, modules in fresh_imports:
            assert "queen_sdk.rewriter" in modules
            assert heavy not in modules

    def test_it_takes_less_than_half_a_second(
        self, fresh_imports: list[tuple[float, set[str]]]
    ) -> None:
        assert min(seconds for seconds, _ in fresh_imports) < 0.5


class TestLayers:
    """Imports point one way."""

    @pytest.mark.parametrize("module", sorted(MODULES.keys() - {""}))
    def test_a_module_imports_nothing_from_above(self, module: str) -> None:
        above = {m for m in own_imports(module) if m and layer_of(m) > layer_of(module)}
        assert not above, f"queen_sdk.{module} imports {sorted(above)}"

    @pytest.mark.parametrize("module", sorted(MODULES.keys() - {""}))
    def test_no_module_comes_in_through_the_door(self, module: str) -> None:
        public = {item.module for item in imports_of(MODULES[module]) if item.eager}
        assert "queen_sdk" not in public or module.startswith("cli")

    def test_there_is_no_cycle(self) -> None:
        graph = {module: own_imports(module) - {""} for module in MODULES}
        graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, with the cycle

    @pytest.mark.parametrize(
        ("library", "allowed"),
        [
            ("torch", ("training",)),
            ("transformers", ("training",)),
            ("optimum", ("training",)),
            ("accelerate", ("training",)),
            ("onnx", ("training",)),
            ("onnxruntime", ("runtime", "training")),
        ],
    )
    def test_a_heavy_library_stays_where_it_belongs(
        self, library: str, allowed: tuple[str, ...]
    ) -> None:
        users = {
            module
            for module, path in MODULES.items()
            for item in imports_of(path)
            if item.module.split(".")[0] == library
        }
        assert {module.split(".")[0] for module in users} <= set(allowed)
