"""How the cost grows: with the length of the history, the size of a batch, the number of sessions.

    python benchmarks/scaling.py [--quick] [--json FILE] [--bundle zh|en] [--repetitions 20]

The lengths (or sizes, or numbers) are measured in turn, again and again.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
from measuring.clock import interleaved, milliseconds
from measuring.report import Report, add_options, logarithmic, table
from measuring.texts import lengthened, made_up
from measuring.throughput import SIZES, in_batches

from queen_sdk import MemoryStore, Rewriter, SqliteStore, Store, Turn
from queen_sdk.stores import Record

TURNS = (1, 2, 4, 8, 16, 32, 64)
SESSIONS = (1, 10, 100, 1_000, 10_000)
_SAMPLE = 20
"""So many sessions speak in each repetition."""


@attrs.frozen
class Point:
    """One point of a curve."""

    size: int
    milliseconds: float
    """Median of one dialogue."""
    note: str = ""


def by_history(rewriter: Rewriter, language: str, sizes: Sequence[int], rounds: int) -> list[Point]:
    """Rewrite the same utterances after longer and longer histories."""
    examples = made_up(language)
    histories = {
        turns: [lengthened(example.history, turns, language) for example in examples]
        for turns in sizes
    }
    rows: dict[int, Callable[[int], object]] = {
        turns: lambda k, own=own: rewriter.rewrite(own[k], examples[k].utterance)
        for turns, own in histories.items()
    }
    spent = interleaved(rows, range(len(examples)), repetitions=rounds)
    return [
        Point(turns, _median(spent[turns], len(examples)), _dropped(rewriter, histories[turns]))
        for turns in sizes
    ]


def _dropped(rewriter: Rewriter, histories: Sequence[Sequence[Turn]]) -> str:
    dropped = [rewriter.rewrite(history, "他呢？").dropped_turns for history in histories]
    return f"{statistics.median(dropped):.0f}"


def by_batch(rewriter: Rewriter, language: str, sizes: Sequence[int], rounds: int) -> list[Point]:
    """Rewrite larger and larger batches."""
    examples = made_up(language)
    calls = {size: in_batches(rewriter, examples, size) for size in sizes}
    rows = {size: (lambda _, call=call: call()) for size, call in calls.items()}
    spent = interleaved(rows, range(1), repetitions=rounds)
    return [Point(size, _median(spent[size], size)) for size in sizes]


def by_sessions(
    rewriter: Rewriter,
    language: str,
    sizes: Sequence[int],
    rounds: int,
    open_store: Callable[[int], Store],
) -> list[Point]:
    """Rewrite for users picked at random among more and more sessions that are kept."""
    example = made_up(language)[0]
    stores = {size: open_store(size) for size in sizes}

    def remember(store: Store, user: str) -> None:
        for turn in example.history:
            store.append(user, Record(turn), max_turns=20)

    for size, store in stores.items():
        for number in range(size):
            remember(store, f"user-{number}")
    chance = random.Random(13)
    spent: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(rounds * _SAMPLE):
        for size, store in stores.items():
            user = f"user-{chance.randrange(size)}"
            session = rewriter.session(user, store=store)
            spent[size].append(milliseconds(lambda own=session: own.rewrite(example.utterance)))
            session.reset()  # or the dialogues of small stores would grow faster than others
            remember(store, user)
    for store in stores.values():
        store.close()
    return [Point(size, statistics.median(spent[size])) for size in sizes]


def _median(seconds: Sequence[float], dialogues: int) -> float:
    return statistics.median(seconds) / dialogues * 1e3


def points_table(head: str, points: Sequence[Point], note: str = "") -> str:
    """Return a curve as a Markdown table."""
    columns = (head, "ms per dialogue", *([note] if note else []))
    return table(columns, [(p.size, p.milliseconds, *([p.note] if note else [])) for p in points])


def draw(figure: Any, curves: dict[str, dict[str, list[Point]]]) -> None:
    """Draw one panel for each way to grow."""
    figure.set_size_inches(12, 4)
    for axes, (title, lines) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        for label, points in lines.items():
            sizes, times = [p.size for p in points], [p.milliseconds for p in points]
            axes.plot(sizes, times, "o-", label=label)
        logarithmic(axes, sizes)
        axes.set(xlabel=title, ylabel="ms per dialogue")
        if len(lines) > 1:
            axes.legend(fontsize=8)


def main() -> None:
    """Measure, print the tables, write the results."""
    parser = argparse.ArgumentParser(description="How the cost grows.")
    add_options(parser)
    parser.add_argument("--bundle", choices=("zh", "en"), default="zh")
    parser.add_argument("--repetitions", type=int, default=20)
    arguments = parser.parse_args()
    turns, batches, sessions, rounds = TURNS, SIZES, SESSIONS, arguments.repetitions
    if arguments.quick:
        turns, batches, sessions, rounds = (1, 8), (1, 8), (1, 100), 1
    language = arguments.bundle
    with Rewriter(language, providers=["cpu"]) as rewriter, TemporaryDirectory() as folder:

        def memory(size: int) -> Store:
            return MemoryStore(max_sessions=size)

        def sqlite(size: int) -> Store:
            return SqliteStore(Path(folder) / f"{size}.db")

        history = by_history(rewriter, language, turns, rounds)
        batch = by_batch(rewriter, language, batches, rounds)
        kept = {
            name: by_sessions(rewriter, language, sessions, rounds, opened)
            for name, opened in (("MemoryStore", memory), ("SqliteStore", sqlite))
        }
    curves = {
        "turns of history": {"": history},
        "dialogues in a batch": {"": batch},
        "sessions in the store": kept,
    }
    parts = [
        f"Embedded bundle {language}, our own dialogues, {rounds} repetitions, medians. The model "
        "reads a bounded window: turns that do not fit are dropped, so the cost stops growing.",
        points_table("turns of history", history, "turns dropped"),
        points_table("dialogues in a batch", batch),
        *(points_table(f"sessions, {name}", points) for name, points in kept.items()),
    ]
    figures = {
        title: {
            label or "cost": [attrs.asdict(p) for p in points] for label, points in lines.items()
        }
        for title, lines in curves.items()
    }
    Report(
        name="scaling", parts=parts, figures=figures, draw=lambda figure: draw(figure, curves)
    ).publish(arguments)


if __name__ == "__main__":
    main()
