"""What it does to whole dialogues whether the user's own words or the rewrites become history.

    python benchmarks/recording.py [--quick] [--data FOLDER] [--bundle en|DIR] [--json FILE]

The corpora are in the folder `--data`, or where the variable QUEEN_DATA says.

Every TASK evaluation dialogue is replayed through a session: the user's turns as they were said,
the system's answers as they were given. The first row is the published protocol, where each turn
has the complete form of the turn before it in its history.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from queen_sdk import MemoryStore, Rewriter
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import load
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.evaluation.metrics import exact_match
from queen_sdk.session import Recorded


def dialogues(examples: Sequence[Example]) -> Iterator[list[Example]]:
    """Yield the turns of each dialogue in order; ids are `task:DIALOGUE.TURN`."""
    for _, turns in groupby(examples, key=lambda example: example.id.rpartition(".")[0]):
        yield list(turns)


def replay(
    rewriter: Rewriter, turns: Sequence[Example], record: Recorded, max_turns: int
) -> Iterator[str]:
    """Yield the rewrite of each turn of a dialogue."""
    session = rewriter.session("task", store=MemoryStore(), max_turns=max_turns, record=record)
    for turn, following in pairwise([*turns, None]):
        assert turn is not None
        yield session.rewrite(turn.utterance).text
        if following is not None:
            session.add(following.history[-1].text)


def em(predictions: Sequence[str], examples: Sequence[Example]) -> tuple[float, float]:
    """Return EM over all turns, and over those that are incomplete."""
    pairs = list(zip(predictions, examples, strict=True))
    incomplete = [pair for pair in pairs if pair[1].utterance != pair[1].reference]
    figures = [
        exact_match(
            [metric_tokens(text, "en") for text, _ in some],
            [metric_tokens(example.reference, "en") for _, example in some],
        )
        for some in (pairs, incomplete)
    ]
    return figures[0], figures[1]


def main() -> None:
    """Replay, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description="EM over whole dialogues by what is recorded.")
    parser.add_argument("--quick", action="store_true", help="forty dialogues only")
    parser.add_argument("--data", default=os.environ.get("QUEEN_DATA"), metavar="FOLDER")
    parser.add_argument("--bundle", default="en", help="an embedded bundle or a directory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("the corpora are needed: give --data, or set QUEEN_DATA")
    chosen = list(dialogues(load("task", Path(arguments.data), "eval")))
    if arguments.quick:
        chosen = chosen[:40]
    examples = [turn for turns in chosen for turn in turns]
    found: dict[str, tuple[float, float]] = {}
    with Rewriter(arguments.bundle, threads=1) as rewriter:
        given = [rewriter.rewrite(turn.history, turn.utterance).text for turn in examples]
        found["published protocol"] = em(given, examples)
        for record in ("original", "rewritten"):
            for max_turns in (2, 20):
                texts = [
                    text for turns in chosen for text in replay(rewriter, turns, record, max_turns)
                ]
                found[f"session, {record}, {max_turns} turns"] = em(texts, examples)
    print(f"{len(chosen)} dialogues, {len(examples)} turns\n")
    print("| history | EM | EM of incomplete turns |\n|---|---|---|")
    for name, (every, incomplete) in found.items():
        print(f"| {name} | {every:.1f} | {incomplete:.1f} |")
    if arguments.json:
        figures = {name: {"em": a, "em_incomplete": b} for name, (a, b) in found.items()}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
