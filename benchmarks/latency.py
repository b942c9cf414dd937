"""How long one utterance takes, end to end and by stage, cold and warm; and how many a second.

    python benchmarks/latency.py [--quick] [--json FILE] [--turns 2 8 32] [--repeat N]
                                 [--threads N] [--cold N]

Every measurement of the whole call is followed by one of the bare `session.run` on the very same
inputs, so that the ratio does not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from measuring.clock import percentiles
from measuring.cold import start_cold
from measuring.report import Report, add_options, logarithmic, table
from measuring.texts import lengthened, made_up
from measuring.throughput import SIZES, Throughput, batch_throughput, caller_throughput

from queen_sdk import Rewriter, Timings, Turn
from queen_sdk.bundle import load_bundle
from queen_sdk.pipeline import Prepared
from queen_sdk.runtime import onnxruntime  # type: ignore[attr-defined]

LANGUAGES = ("zh", "en")
STAGES = tuple(field.name for field in attrs.fields(Timings))
Dialogue = tuple[list[Turn], str]


@attrs.frozen
class Measured:
    """One language and history length."""

    language: str
    turns: int
    end_to_end: list[float]
    bare: list[float]
    stages: dict[str, list[float]]

    @property
    def ratio(self) -> float:
        """Median whole call over median bare run."""
        return statistics.median(self.end_to_end) / statistics.median(self.bare)

    def stage(self, name: str) -> float:
        """Return the median of a stage."""
        return statistics.median(self.stages[name])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON, in milliseconds."""
        return {
            "language": self.language,
            "turns": self.turns,
            "end_to_end_ms": percentiles(self.end_to_end),
            "session_run_ms": percentiles(self.bare),
            "stages_ms": {name: self.stage(name) for name in STAGES},
            "ratio": self.ratio,
        }


@attrs.frozen
class Cold:
    """Fresh processes of one language."""

    language: str
    runs: list[dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "language": self.language,
            "processes": len(self.runs),
            **{name: percentiles([run[name] for run in self.runs]) for name in self.runs[0]},
        }


def bare_session(bundle: str, threads: int | None) -> Any:
    """Open the bundle's graph with nothing around it."""
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3
    opened = load_bundle(bundle)
    path = opened.model_path(opened.precisions[0])
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measure(language: str, turns: int, repeat: int, threads: int | None) -> Measured:
    """Time whole calls and bare runs in turn."""
    rewriter = Rewriter(language, threads=threads, providers=["cpu"])
    session = bare_session(language, threads)
    names = {entry.name for entry in session.get_inputs()}
    measured = Measured(language, turns, [], [], {name: [] for name in STAGES})
    dialogues = [(lengthened(e.history, turns, language), e.utterance) for e in made_up(language)]
    inputs = list(_inputs(rewriter, dialogues))
    for round_ in range(-3, repeat):
        for (history, utterance), feed in zip(dialogues, inputs, strict=True):
            started = time.perf_counter()
            result = rewriter.rewrite(history, utterance)
            middle = time.perf_counter()
            session.run(["scores"], {name: feed[name] for name in names})
            ended = time.perf_counter()
            if round_ >= 0:
                measured.end_to_end.append((middle - started) * 1e3)
                measured.bare.append((ended - middle) * 1e3)
                for name in STAGES:
                    measured.stages[name].append(getattr(result.timings, name))
    rewriter.close()
    return measured


def _inputs(rewriter: Rewriter, dialogues: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    model = rewriter._some_model()
    for history, utterance in dialogues:
        prepared = model.pipeline.prepare(history, utterance)
        assert isinstance(prepared, Prepared)
        yield model.pipeline.builder.batch([prepared.features]).as_inputs()


def measure_cold(language: str, processes: int) -> Cold:
    """Start fresh processes, one after the other, the first of them not counted."""
    example = made_up(language)[0]
    history = [turn.text for turn in example.history]
    runs = [start_cold(language, history, example.utterance) for _ in range(processes + 1)]
    return Cold(language, runs[1:])


def measure_throughput(language: str, sizes: Sequence[int], least: int) -> list[Throughput]:
    """Rewrite in batches and for many callers."""
    examples = made_up(language)
    with Rewriter(language, providers=["cpu"]) as rewriter:
        batches = batch_throughput(rewriter, examples, sizes, least=least)
    return [*batches, *caller_throughput(language, examples, sizes, least=least)]


def warm_table(measured: Sequence[Measured]) -> str:
    """Return the warm calls as a Markdown table."""
    head = ("", "turns", "p50 ms", "p95", "p99", "session.run p50", "ratio", *STAGES)
    rows = []
    for row in measured:
        whole, bare = percentiles(row.end_to_end), percentiles(row.bare)
        stages = (f"{row.stage(name):.3f}" for name in STAGES)
        rows.append((row.language, row.turns, *whole.values(), bare["p50"], row.ratio, *stages))
    return table(head, rows)


def cold_table(measured: Sequence[Cold]) -> str:
    """Return the fresh processes as a Markdown table."""
    rows = []
    for row in (cold.to_dict() for cold in measured):
        starts = (row[name]["p50"] for name in ("import_ms", "load_ms"))
        memory = (row[name]["p50"] for name in ("resident_mb", "python_and_numpy_mb"))
        stages = (f"{row[name]['p50']:.3f}" for name in STAGES)
        first = row["first_call_ms"].values()
        rows.append((row["language"], row["processes"], *starts, *first, *memory, *stages))
    head = ("", "processes", "import ms", "load ms", "first call p50 ms", "p95", "p99")
    return table((*head, "resident MB", "of which Python and numpy", *STAGES), rows)


def throughput_table(found: dict[str, list[Throughput]]) -> str:
    """Return the throughput as a Markdown table, a column for each size."""
    sizes = sorted({one.size for rows in found.values() for one in rows})
    rows = []
    for language, measured in found.items():
        for way, label in (("rewrite_batch", "in batches of"), ("arewrite", "callers at once")):
            by_size = {one.size: one.per_second for one in measured if one.way == way}
            rows.append((language, label, *(by_size[size] for size in sizes)))
    return table(("per second", "", *map(str, sizes)), rows)


def worst_ratio(measured: Sequence[Measured]) -> float | None:
    """Return the overhead of the worse language after two turns; None if that was not measured."""
    return max((row.ratio for row in measured if row.turns == 2), default=None)


def draw(
    figure: Any, measured: Sequence[Measured], throughput: dict[str, list[Throughput]]
) -> None:
    """Draw where the time goes, what of it is not the network, and how much goes through."""
    figure.set_size_inches(14, 4.5)
    whole, rest, flow = figure.subplots(1, 3)
    bare = [statistics.median(row.bare) for row in measured]
    _stack(whole, measured, ("run", *(name for name in STAGES if name != "run")))
    whole.plot(bare, range(len(measured)), "k|", markersize=20, label="bare session.run")
    whole.set_title("A warm call")
    _stack(rest, measured, [name for name in STAGES if name != "run"])
    rest.set_title("… of which not the network")
    whole.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=4)
    for language, rows in throughput.items():
        for way, style in (("rewrite_batch", "o-"), ("arewrite", "s--")):
            chosen = [one for one in rows if one.way == way]
            sizes, speeds = [one.size for one in chosen], [one.per_second for one in chosen]
            label = f"{language}, {'in batches' if way == 'rewrite_batch' else 'callers at once'}"
            flow.plot(sizes, speeds, style, label=label)
    logarithmic(flow, sizes)
    flow.legend(fontsize=8)
    flow.set(xlabel="batch size, or callers", ylabel="utterances per second", title="Throughput")


def _stack(axes: Any, measured: Sequence[Measured], stages: Sequence[str]) -> None:
    names = [f"{row.language}, {row.turns} turns" for row in measured]
    before = [0.0] * len(measured)
    for name in stages:
        widths = [row.stage(name) for row in measured]
        colour = f"C{STAGES.index(name)}"
        axes.barh(names, widths, left=before, label=name, color=colour)
        before = [a + b for a, b in zip(before, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("median milliseconds")


def report(
    measured: Sequence[Measured],
    cold: Sequence[Cold],
    throughput: dict[str, list[Throughput]],
    threads: int | None,
) -> Report:
    """Put everything together."""
    worst = worst_ratio(measured)
    counted = threads or "as many as ONNX Runtime likes"
    parts = [
        f"One utterance at a time, our own dialogues, warm; threads: {counted}. Milliseconds; the "
        "stages are medians.",
        warm_table(measured),
        *(
            [f"End to end over `session.run` (two turns, the worse language): **{worst:.2f}**"]
            if worst is not None
            else []
        ),
        "Cold: fresh processes, after two turns, numpy imported before, file cache warm; the "
        "stages are those of the first call.",
        cold_table(cold),
        "Throughput. Callers ask through `arewrite`; every call runs on one thread.",
        throughput_table(throughput),
    ]
    figures = {
        "rows": [row.to_dict() for row in measured],
        "cold": [row.to_dict() for row in cold],
        "throughput": {name: [attrs.asdict(t) for t in rows] for name, rows in throughput.items()},
        "ratios": {"end_to_end_over_session_run": worst},
    }
    return Report(
        name="latency",
        parts=parts,
        figures=figures,
        draw=lambda figure: draw(figure, measured, throughput),
    )


def main() -> None:
    """Measure, print the tables, write the results."""
    parser = argparse.ArgumentParser(description="Latency of one utterance, end to end.")
    add_options(parser)
    parser.add_argument("--turns", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--threads", type=int, default=None, help="of a single call")
    parser.add_argument("--cold", type=int, default=20, help="fresh processes for each language")
    arguments = parser.parse_args()
    turns, repeat, processes = arguments.turns, arguments.repeat, arguments.cold
    sizes: Sequence[int] = SIZES
    least = 200
    if arguments.quick:
        turns, repeat, processes = [2], min(repeat, 10), 1
        sizes, least = SIZES[::3], 16
    measured = [
        measure(language, count, repeat, arguments.threads)
        for language in LANGUAGES
        for count in turns
    ]
    cold = [measure_cold(language, processes) for language in LANGUAGES]
    throughput = {name: measure_throughput(name, sizes, least) for name in LANGUAGES}
    report(measured, cold, throughput, arguments.threads).publish(arguments)


if __name__ == "__main__":
    main()
