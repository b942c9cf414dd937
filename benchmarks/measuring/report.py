"""Where results go: printed, and as JSON, Markdown and a picture in a folder that git ignores."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

RESULTS = Path(__file__).parents[1] / "results"
_PACKAGES = ("queen-sdk", "onnxruntime", "numpy", "torch", "transformers")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every benchmark."""
    parser.add_argument("--quick", action="store_true", help="under a minute: a proof that it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--results", type=Path, default=RESULTS, help=argparse.SUPPRESS)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; numbers are shortened to three digits or so."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        size = abs(value)
        form = ".3g" if size < 1 else ".2f" if size < 100 else ".1f" if size < 1000 else ",.0f"
        return format(value, form)
    return f"{value:,}" if isinstance(value, int) else str(value)


@attrs.frozen(kw_only=True)
class Report:
    """What a benchmark found."""

    name: str
    """Of the script, without its suffix; the files are called so too."""
    parts: Sequence[str]
    """Paragraphs and tables in Markdown."""
    figures: dict[str, Any]
    """For machines."""
    draw: Callable[[Any], None] | None = None
    """Draws into a matplotlib figure."""

    def publish(self, arguments: argparse.Namespace) -> None:
        """Print and write everything; quick runs go to a folder of their own."""
        folder = arguments.results / "quick" if arguments.quick else arguments.results
        folder.mkdir(parents=True, exist_ok=True)
        about = {"date": datetime.date.today().isoformat(), "command": _command(), **machine()}
        text = "\n\n".join([_heading(about, quick=arguments.quick), *self.parts]) + "\n"
        print(text)
        (folder / f"{self.name}.md").write_text(text, encoding="utf-8")
        figures = json.dumps(
            {**about, "quick": arguments.quick, **self.figures}, indent=2, ensure_ascii=False
        )
        for path in filter(None, (folder / f"{self.name}.json", arguments.json)):
            path.write_text(figures + "\n", encoding="utf-8")
        if self.draw is not None:
            self._picture(folder / f"{self.name}.png")
        written = sorted(path.name for path in folder.glob(f"{self.name}.*") if path.is_file())
        print(f"In {folder}: {', '.join(written)}", file=sys.stderr)

    def _picture(self, path: Path) -> None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            print("No picture: pip install 'queen-sdk[bench]' brings matplotlib.", file=sys.stderr)
            return
        figure = Figure(figsize=(9, 4.5), layout="constrained")
        assert self.draw is not None
        self.draw(figure)
        figure.savefig(path, dpi=120)


def logarithmic(axes: Any, sizes: Sequence[int]) -> None:
    """Let the horizontal axis grow by factors, marked by the sizes themselves; zero below."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(0, axes.get_ylim()[1] * 1.08)


def _command() -> str:
    """Return the command line, without this machine's folders."""
    script, *options = sys.argv
    shown = [Path(o).name if os.path.isabs(o) else o for o in options]
    return shlex.join(["python", f"benchmarks/{Path(script).name}", *shown])


def _heading(about: dict[str, Any], *, quick: bool) -> str:
    lines = [
        f"`{about['command']}`, {about['date']}",
        f"{about['machine']}, {about['cores']} cores, Python {about['python']}, "
        + ", ".join(f"{name} {version}" for name, version in about["versions"].items())
        + f"; load average before the run {about['load']:.1f}.",
    ]
    if quick:
        lines.append("**A quick run: it proves that the benchmark works, and says little else.**")
    return "\n\n".join(lines)


def machine() -> dict[str, Any]:
    """Describe machine and versions, as the run found them."""
    return {
        "machine": processor(),
        "cores": cores(),
        "python": platform.python_version(),
        "versions": dict(_versions()),
        "load": _LOAD,
    }


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


_EIGHT_BITS = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_vnni": "VNNI", "avx_vnni": "VNNI"}
"""Instruction sets that decide how fast int8 is, by their flags."""


def processor(file: Path = Path("/proc/cpuinfo")) -> str:
    """Name the processor, with the instruction sets that decide how fast int8 is."""
    if not file.exists():
        return platform.processor() or platform.machine()
    lines = file.read_text(encoding="utf-8").splitlines()
    fields = {key.strip(): value for key, _, value in (line.partition(":") for line in lines)}
    flags = fields.get("flags", "").split()
    known = dict.fromkeys(name for flag, name in _EIGHT_BITS.items() if flag in flags)
    name = fields.get("model name", platform.machine()).strip()
    return f"{name} ({', '.join(known)})" if known else name


def _versions() -> Iterable[tuple[str, str]]:
    from queen_sdk import __version__

    for name in _PACKAGES:
        try:
            yield name, __version__ if name == "queen-sdk" else importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
