"""Run all benchmarks of speed, and put their tables into the documentation.

    python benchmarks/everything.py [--quick] [--docs] [NAME...]

`--docs` copies `results/NAME.md` into its page of `docs`, each between its two markers; alone
(`--only-docs`) it measures nothing. `run_em`, `ablations` and `encoders`, which train for hours,
are only run if they are named.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from measuring.report import RESULTS

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SCRIPTS = ("run_vs_queen", "latency", "generative", "scaling")
PAGES = dict.fromkeys((*SCRIPTS, "run_em"), "benchmarks.md") | dict.fromkeys(
    ("ablations", "encoders"), "models.md"
)


def refreshed(page: str, name: str, text: str) -> str:
    """Return the page with a benchmark's block replaced.

    Raises:
        ValueError: The page has no such block.
    """
    block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    fresh, count = block.subn(lambda found: f"{found[1]}{text.strip()}\n{found[2]}", page)
    if count != 1:
        raise ValueError(f"the page must have one block called {name}, it has {count}")
    return fresh


def refresh(docs: Path, results: Path) -> list[str]:
    """Copy all results that there are into their pages; return their names."""
    found = [name for name in PAGES if (results / f"{name}.md").exists()]
    for name in found:
        page = docs / PAGES[name]
        text = (results / f"{name}.md").read_text(encoding="utf-8")
        page.write_text(refreshed(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    return found


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description="All benchmarks, one after the other.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PAGES))
    parser.add_argument("--quick", action="store_true", help="each under a minute")
    parser.add_argument("--docs", action="store_true", help="refresh the pages")
    parser.add_argument("--only-docs", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - {*PAGES}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if arguments.quick and (arguments.docs or arguments.only_docs):
        parser.error("a quick run does not belong into the documentation")
    for name in () if arguments.only_docs else arguments.names or SCRIPTS:
        command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] * arguments.quick)]
        subprocess.run(command, check=True)
    if arguments.docs or arguments.only_docs:
        print(f"docs: refreshed {', '.join(refresh(DOCS, RESULTS)) or 'nothing'}")


if __name__ == "__main__":
    main()
