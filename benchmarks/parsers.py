"""How long each parser takes, side by side on the same utterances.

    python benchmarks/parsers.py [--lang en zh] [--count 1000] [--data FOLDER] [--json FILE]
                                 [--parser spacy:PIPELINE] [--parser ltp:MODEL]

Without a folder of corpora (`--data`, or the variable QUEEN_DATA) a few utterances are repeated.
The embedded parsers are always measured; others as they are named, each for the languages given.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import attrs

from queen_sdk import __version__
from queen_sdk.data.readers import load
from queen_sdk.parsing import Parser
from queen_sdk.parsing.registry import open_parser

FALLBACK = {
    "en": ["No, he does not care.", "and in July?", "What is their phone number?", "cheap ones"],
    "zh": ["为什么喜欢看", "不，他不关心。", "后天呢", "明天早上八点的有吗", "他还出过哪些专辑"],
}
CORPORA = {"en": "task", "zh": "rewrite"}


@attrs.frozen
class Measured:
    """One parser on one language's utterances."""

    language: str
    parser: str
    load_seconds: float
    milliseconds: list[float]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        quantiles = statistics.quantiles(self.milliseconds, n=20)
        return {
            "language": self.language,
            "parser": self.parser,
            "utterances": len(self.milliseconds),
            "load_seconds": round(self.load_seconds, 4),
            "p50_ms": round(statistics.median(self.milliseconds), 4),
            "p95_ms": round(quantiles[-1], 4),
            "mean_ms": round(statistics.fmean(self.milliseconds), 4),
        }


def utterances(language: str, folder: str | None, count: int) -> list[str]:
    """Return so many utterances of a dialogue corpus, repeated if there are fewer."""
    texts: Sequence[str] = FALLBACK[language]
    if folder:
        texts = [example.utterance for example in load(CORPORA[language], folder, "eval")]
    return list(islice(cycle(texts), count))


def measure(
    language: str, name: str, open_it: Callable[[], Parser], texts: Sequence[str]
) -> Measured:
    """Load a parser, warm it up and time single calls."""
    started = time.perf_counter()
    parser = open_it()
    load_seconds = time.perf_counter() - started
    for text in texts[:50]:
        parser.parse(text)
    times: list[float] = []
    for text in texts:
        started = time.perf_counter()
        parser.parse(text)
        times.append((time.perf_counter() - started) * 1e3)
    return Measured(language, name, load_seconds, times)


def main() -> None:
    """Measure and print a table."""
    arguments = _arguments()
    rows: list[dict[str, Any]] = []
    print("| language | parser | load s | p50 ms | p95 ms | mean ms |")
    print("|---|---|---|---|---|---|")
    for language in arguments.lang:
        texts = utterances(language, arguments.data, arguments.count)
        for name in ("embedded", *arguments.parser):
            row = measure(
                language, name, lambda n=name, la=language: open_parser(n, la)[0], texts
            ).to_dict()
            rows.append(row)
            figures = (f"{row[key]:.3f}" for key in ("load_seconds", "p50_ms", "p95_ms", "mean_ms"))
            print(f"| {language} | {name} | {' | '.join(figures)} |", flush=True)
    if arguments.json:
        machine = {"machine": platform.machine(), "cores": os.cpu_count(), "version": __version__}
        Path(arguments.json).write_text(json.dumps({**machine, "rows": rows}, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--lang", nargs="+", choices=("en", "zh"), default=["en", "zh"])
    parser.add_argument("--count", type=int, default=1000, metavar="N")
    parser.add_argument("--data", default=os.environ.get("QUEEN_DATA"), metavar="FOLDER")
    parser.add_argument("--parser", action="append", default=[], metavar="NAME")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
