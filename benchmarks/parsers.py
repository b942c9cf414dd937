"""How long each parser takes, side by side on the same utterances.

    python benchmarks/parsers.py [--lang en zh] [--count 1000] [--data FOLDER] [--json FILE]
                                 [--parser spacy:PIPELINE] [--parser ltp:MODEL] [--quick]

Without a folder of corpora (`--data`, or the variable QUEEN_DATA) a few utterances are repeated.
The embedded parsers are always measured; others as they are named, each for the languages given
(`--parser en=spacy:PIPELINE` for one language only). Each utterance is parsed several times, and
its best time counts: the rest is what else the machine did.
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
from queen_sdk.parsing.embedded import embedded_parsers
from queen_sdk.parsing.registry import open_parser

FALLBACK = {
    "en": ["No, he does not care.", "and in July?", "What is their phone number?", "cheap ones"],
    "zh": ["为什么喜欢看", "不，他不关心。", "后天呢", "明天早上八点的有吗", "他还出过哪些专辑"],
}
QUICK_COUNT = 200
CORPORA = {"en": "task", "zh": "rewrite"}


@attrs.frozen
class Measured:
    """One parser on one language's utterances."""

    language: str
    parser: str
    load_seconds: float
    milliseconds: list[float]
    """Of each utterance, the best of its repeats."""

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
    language: str, name: str, open_it: Callable[[], Parser], texts: Sequence[str], repeats: int
) -> Measured:
    """Load a parser, warm it up and time single calls."""
    started = time.perf_counter()
    parser = open_it()
    load_seconds = time.perf_counter() - started
    for text in texts[:50]:
        parser.parse(text)
    best = [float("inf")] * len(texts)
    for _ in range(repeats):
        for k, text in enumerate(texts):
            started = time.perf_counter()
            parser.parse(text)
            best[k] = min(best[k], (time.perf_counter() - started) * 1e3)
    return Measured(language, name, load_seconds, best)


def parsers_of(language: str, asked: Sequence[str]) -> list[str]:
    """Return the names of the parsers to measure for a language, the embedded one first."""
    found = ["embedded"] if language in embedded_parsers() else []
    for name in asked:
        only, _, rest = name.partition("=")
        if rest and only in FALLBACK:
            found += [rest] if only == language else []
        else:
            found.append(name)
    return found


def main() -> None:
    """Measure and print a table."""
    arguments = _arguments()
    rows: list[dict[str, Any]] = []
    print("| language | parser | load s | p50 ms | p95 ms | mean ms |")
    print("|---|---|---|---|---|---|")
    for language in arguments.lang:
        count = min(arguments.count, QUICK_COUNT) if arguments.quick else arguments.count
        texts = utterances(language, arguments.data, count)
        repeats = 1 if arguments.quick else arguments.repeats
        for name in parsers_of(language, arguments.parser):
            row = measure(
                language, name, lambda n=name, la=language: open_parser(n, la)[0], texts, repeats
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
    parser.add_argument("--repeats", type=int, default=5, metavar="N")
    parser.add_argument("--quick", action="store_true", help="fewer utterances, once each")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
