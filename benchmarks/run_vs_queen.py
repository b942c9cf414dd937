"""The paper's table of inference speed, on this machine: RUN and QUEEN on the same encoders.

    python benchmarks/run_vs_queen.py [--quick] [--json FILE] [--device auto|cpu|cuda]
                                      [--batches 20] [--repetitions 5] [--threads N]
                                      [--encoders FOLDER] [--path CORPORA]

Batches of 16 in the order of the corpus, evaluation mode, float32, the same threads for all.
Queries and arrays are made before. All batches go through one row, then through the next, again and
again, every other time from the last row to the first.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import torch
import transformers
from measuring.clock import faster, interleaved, milliseconds
from measuring.contenders import Batches, export_graphs
from measuring.encoders import add_encoders_option, encoder, tokenizer_file
from measuring.report import Report, add_options, table
from measuring.speed_rows import (
    LIMIT,
    QUEEN,
    RUN,
    UNPADDED,
    Contender,
    Key,
    count_threads,
    onnx_rows,
    torch_rows,
    with_warm_up,
)
from measuring.texts import add_path_option, evaluation_examples

from queen_sdk.bundle import load_bundle
from queen_sdk.runtime import CUDA, available_providers

SIZE = 16
ENCODERS = {"BERT-base": "bert-base-zh", "small": "bge-small-zh"}
PAPER = (("RUN + BERT", 1.69, None), ("QUEEN", 2.13, 1.26))
"""On a V100, batch 16; what an iteration holds is not said there."""


@attrs.frozen
class Row:
    """One row; seconds are those of all batches, one figure per repetition."""

    encoder: str
    system: str
    seconds: list[float]
    batches: int
    decoding: float | None
    """Seconds of decoding one batch."""
    head_parameters: int | None

    @property
    def per_second(self) -> float:
        """Batches per second, median repetition."""
        return self.batches / statistics.median(self.seconds)

    @property
    def spread(self) -> str:
        """Slowest and fastest repetition, in batches per second."""
        return f"{self.batches / max(self.seconds):.3g}–{self.batches / min(self.seconds):.3g}"

    @property
    def with_decoding(self) -> float | None:
        """Batches per second, decoding included."""
        return None if self.decoding is None else 1 / (1 / self.per_second + self.decoding)


def contenders(
    arguments: argparse.Namespace, device: str, scratch: Path
) -> tuple[dict[Key, Contender], list[str]]:
    """Return all rows, and notes on what they were made of."""
    count = SIZE * (1 if arguments.quick else arguments.batches)
    examples, texts = evaluation_examples("zh", arguments.path, count)
    provider = device if CUDA in available_providers() else "cpu"
    rows: dict[Key, Contender] = {}
    notes = [f"Texts: {texts}."]
    for name, weights in ENCODERS.items():
        directory, found = encoder(weights, arguments.encoders, arguments.results / "encoders")
        notes.append(f"Encoder {name}: {found}.")
        maker = Batches(tokenizer_file(directory, scratch / name), device)
        batches = with_warm_up(maker, examples, SIZE)
        rows |= torch_rows(name, directory, batches, device)
        paths: dict[str, Path] = {}
        if not arguments.quick:
            paths = export_graphs(directory, scratch / name, batches, half=provider == "cuda")
        if name == "small":
            embedded = load_bundle("zh")
            paths["int8"] = embedded.model_path("int8")
            maker = Batches(embedded.tokenizer_path, device, embedded=True)
            batches = with_warm_up(maker, examples, SIZE)
            notes.append(f"int8 of {name}: the embedded bundle {embedded.manifest.name!r}.")
        if paths:
            rows |= onnx_rows(name, paths, batches, arguments.threads, provider)
    if provider != device:
        notes.append("ONNX Runtime has no CUDA here: its rows are of the CPU.")
    return rows, notes


def measure(rows: dict[Key, Contender], repetitions: int, device: str) -> dict[Key, Row]:
    """Time the rows one after the other, again and again."""
    synchronise = torch.cuda.synchronize if device == "cuda" else lambda: None
    count = min(len(contender.batches) for contender in rows.values()) - 1
    steps = {key: (lambda k, c=c: c.step(c.batches[k])) for key, c in rows.items()}
    with torch.inference_mode():
        seconds = interleaved(
            steps,
            range(count),
            repetitions=repetitions,
            warm_up=[count],
            synchronise=synchronise,
        )
    return {
        key: Row(*key, seconds[key], count, _decoding(c), c.head_parameters)
        for key, c in rows.items()
    }


def _decoding(contender: Contender) -> float | None:
    decode = contender.decode
    if decode is None:
        return None
    times = [milliseconds(lambda b=b: decode(b)) / 1e3 for b in contender.batches[:-1]]
    return statistics.median(times)


def ratios(rows: dict[Key, Row]) -> dict[str, float]:
    """Return what the comparison is about: without padding, where RUN too is at its best."""
    found = {}
    small = [row for row in rows.values() if row.encoder == "small" and "int8" in row.system]
    for kind, suffix in ((UNPADDED, ""), ("", "_padded")):
        for name in ENCODERS:
            key = f"queen_over_run_{name.lower().replace('-', '_')}{suffix}"
            found[key] = faster(rows[name + kind, QUEEN].seconds, rows[name + kind, RUN].seconds)
        base = rows["BERT-base" + kind, RUN].seconds
        best = max(faster(row.seconds, base) for row in small)
        found[f"queen_int8_small_over_run_bert_base{suffix}"] = best
    return found


def cells(row: Row, rows: dict[Key, Row]) -> tuple[object, ...]:
    """Return a row of the table."""
    run, limit = (rows[row.encoder, system] for system in (RUN, LIMIT))
    return (
        row.encoder,
        row.system,
        row.per_second,
        row.spread,
        row.with_decoding,
        row.per_second * SIZE,
        faster(row.seconds, run.seconds),
        faster(row.seconds, rows["BERT-base", RUN].seconds),
        faster(row.seconds, limit.seconds),
        row.head_parameters,
    )


HEAD = (
    "encoder",
    "system",
    "it/s",
    "slowest–fastest",
    "it/s with decoding",
    "examples/s",
    "× RUN",
    "× RUN + BERT-base",
    "× limit",
    "head parameters",
)


def report(rows: dict[Key, Row], notes: list[str], arguments: argparse.Namespace) -> Report:
    """Put everything side by side."""
    found = ratios(rows)
    paper = [
        ("BERT-base", f"{system} (paper, V100)", speed, None, None, speed * SIZE, ratio)
        for system, speed, ratio in PAPER
    ]
    body = [cells(row, rows) for row in rows.values()]
    body += [(*row, *[None] * (len(HEAD) - len(row))) for row in paper]
    count = next(iter(rows.values())).batches
    about = (
        f"An iteration is a batch of {SIZE}, {count} of them, "
        f"{arguments.repetitions} repetitions (median; × are medians of ratios inside one "
        f"repetition); {count_threads(arguments.threads)}, device {arguments.device}. Encoder "
        "and both networks in PyTorch share one set of weights. QUEEN's input is longer by its "
        "query; the limit has no query. × RUN and × limit compare rows with padding to rows with "
        "padding, and rows without to rows without. Decoding is timed on the gold cells. int8 runs "
        "one dialogue at a time, as the Rewriter does, on the CPU."
    )
    lines = [
        "- QUEEN / RUN, BERT-base, PyTorch: "
        f"**{found['queen_over_run_bert_base']:.2f}** without padding, "
        f"{found['queen_over_run_bert_base_padded']:.2f} with it (paper 1.26)",
        "- QUEEN / RUN, small, PyTorch: "
        f"**{found['queen_over_run_small']:.2f}** without padding, "
        f"{found['queen_over_run_small_padded']:.2f} with it",
        "- QUEEN int8 small / RUN + BERT-base: "
        f"**{found['queen_int8_small_over_run_bert_base']:.1f}** against RUN without padding, "
        f"{found['queen_int8_small_over_run_bert_base_padded']:.1f} against RUN with it",
    ]
    figures = {
        "ratios": found,
        "notes": notes,
        "rows": [
            {**attrs.asdict(row), "per_second": row.per_second, "with_decoding": row.with_decoding}
            for row in rows.values()
        ],
    }
    return Report(
        name="run_vs_queen",
        parts=[" ".join(notes), about, table(HEAD, body), "\n".join(lines)],
        figures=figures,
        draw=lambda figure: draw(figure, rows),
    )


COLOURS = {LIMIT: "tab:gray", RUN: "tab:orange"}


def draw(figure: Any, rows: dict[Key, Row]) -> None:
    """Draw a bar for every row: examples per second, and how many times RUN + BERT-base."""
    axes = figure.subplots()
    names = [f"{row.encoder}: {row.system}" for row in rows.values()]
    speeds = [row.per_second * SIZE for row in rows.values()]
    colours = [COLOURS.get(row.system, "tab:blue") for row in rows.values()]
    bars = axes.barh(names, speeds, color=colours)
    base = rows["BERT-base", RUN].seconds
    times = [
        f" {speed:.3g}/s = {faster(row.seconds, base):.1f} ×"
        for speed, row in zip(speeds, rows.values(), strict=True)
    ]
    axes.bar_label(bars, times, fontsize=8)
    axes.set_xlim(right=max(speeds) * 1.3)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    axes.set(
        xlabel="examples per second; × those of RUN + BERT-base with padding",
        title=f"RUN and QUEEN, batch {SIZE}, one machine, one run",
    )


def main() -> None:
    """Measure, print the table, write the results."""
    parser = argparse.ArgumentParser(description="Inference speed of RUN and QUEEN.")
    add_options(parser)
    add_path_option(parser)
    add_encoders_option(parser)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--batches", type=int, default=20, help=f"of {SIZE} dialogues each")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repetitions = min(arguments.repetitions, 2)
    if arguments.device == "auto":
        arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(arguments.threads)
    transformers.logging.set_verbosity_error()
    with TemporaryDirectory() as scratch:
        rows, notes = contenders(arguments, arguments.device, Path(scratch))
        measured = measure(rows, arguments.repetitions, arguments.device)
    report(measured, notes, arguments).publish(arguments)


if __name__ == "__main__":
    main()
