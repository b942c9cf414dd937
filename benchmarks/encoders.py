"""Which encoder to embed: exact match, size and milliseconds after the same training on REWRITE.

    python benchmarks/encoders.py [--limit 6000] [--epochs 2] [--only NAME …] [--out FOLDER]
                                  [--path CORPORA] [--encoders FOLDER] [--quick] [--json FILE]

A candidate is an encoder, or its lowest layers. All get the same examples and seed; thresholds are
chosen for each. Exact match is that of the network, size and time are those of its int8 bundle, the
parser not counted. Rows save checkpoints: the same command goes on where it was stopped.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
from baselines.queen_training import (
    Data,
    in_words,
    runs_folder,
    settings_and_data,
    train_and_score,
    training_parser,
)
from measuring.encoders import encoder
from measuring.report import Report, table
from measuring.texts import made_up
from transformers import AutoModel, AutoTokenizer

from queen_sdk import Rewriter
from queen_sdk.training.export import export_bundle
from queen_sdk.training.judging import load_selected
from queen_sdk.training.selection import evaluate_thresholds
from queen_sdk.training.settings import TrainSettings

CANDIDATES: Mapping[str, tuple[str, int | None]] = {
    "bge-small-zh": ("bge-small-zh", None),
    "lowest 2 layers of bert-base-zh": ("bert-base-zh", 2),
    "lowest 3 layers of bert-base-zh": ("bert-base-zh", 3),
    "lowest 4 layers of bert-base-zh": ("bert-base-zh", 4),
    "lowest 6 layers of bert-base-zh": ("bert-base-zh", 6),
}
"""Names to encoder and number of layers; None for all."""
_QUICK: Mapping[str, tuple[str, int | None]] = {
    "tiny": ("tiny", None),
    "lowest layer of tiny": ("tiny", 1),
}
_ROUNDS = 30


@attrs.frozen
class Candidate:
    """One encoder, judged."""

    name: str
    layers: int
    width: int
    held_out: float
    """Exact match on the held-out lines, by which one may choose."""
    exact_match: float
    """Percent of the evaluation lines."""
    megabytes: float
    """Of the int8 graph and the tokenizer."""
    milliseconds: float
    """Median of whole calls, two turns of history, bundles in turn."""


def cut(directory: Path, layers: int | None, out: Path) -> Path:
    """Write an encoder's lowest layers as an encoder of their own; all of them need no copy."""
    if layers is None:
        return directory
    model = AutoModel.from_pretrained(directory, num_hidden_layers=layers)
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(directory).save_pretrained(out)
    return out


def judged(settings: TrainSettings, data: Data, run: Path) -> tuple[float, float, Path]:
    """Train and export one candidate; return its exact match, held-out first, and its bundle."""
    scored = train_and_score(settings, data, run)
    selected = load_selected(run)
    found = evaluate_thresholds(scored, selected.decoding, settings.language)
    bundle = run / "bundle"
    export_bundle(
        run,
        bundle,
        name=run.name,
        version="0",
        precisions=("int8",),
        check_on=data.held_out[:20],
        calibrate_on=data.training[:32],
    )
    return selected.exact_match, found.exact_match, bundle


def timed(bundles: Sequence[Path], language: str) -> list[float]:
    """Return the median milliseconds of a call, all bundles in turn so that drift meets all."""
    rewriters = [Rewriter(bundle, providers=["cpu"]) for bundle in bundles]
    taken: list[list[float]] = [[] for _ in rewriters]
    for round_ in range(-2, _ROUNDS):
        for example in made_up(language):
            for rewriter, times in zip(rewriters, taken, strict=True):
                started = time.perf_counter()
                rewriter.rewrite(example.history, example.utterance)
                if round_ >= 0:
                    times.append((time.perf_counter() - started) * 1e3)
    for rewriter in rewriters:
        rewriter.close()
    return [statistics.median(times) for times in taken]


def shape_of(directory: Path) -> tuple[int, int]:
    """Return an encoder's layers and width."""
    config = AutoModel.from_pretrained(directory).config
    return config.num_hidden_layers, config.hidden_size


def megabytes(bundle: Path) -> float:
    """Return the size of what was trained."""
    files = (bundle / name for name in ("model.int8.onnx", "tokenizer.json"))
    return sum(file.stat().st_size for file in files) / 1e6


def report(settings: TrainSettings, data: Data, found: Sequence[Candidate]) -> Report:
    """Put the figures side by side."""
    about = (
        f"{in_words(settings, data, 'as the rows say')} Milliseconds are medians of whole calls on "
        "our own dialogues, in turn; a bundle has 4 MB of parser besides."
    )
    head = ("encoder", "layers × width", "held-out EM", "EM", "int8, MB", "ms")
    body = [
        (
            c.name,
            f"{c.layers} × {c.width}",
            c.held_out,
            c.exact_match,
            c.megabytes,
            c.milliseconds,
        )
        for c in found
    ]
    figures = {"about": about, "rows": [attrs.asdict(candidate) for candidate in found]}
    return Report(name="encoders", parts=[about, table(head, body)], figures=figures)


def main() -> None:
    """Train all, print the table."""
    parser = training_parser("Which encoder to embed.")
    parser.add_argument("--only", nargs="+", choices=tuple(CANDIDATES), help="some of them")
    arguments = parser.parse_args()
    settings, data, _ = settings_and_data(arguments)
    settings = attrs.evolve(settings, parser="embedded")
    candidates = _QUICK if arguments.quick else CANDIDATES
    out = runs_folder(arguments, "encoders")
    chosen = {name: candidates[name] for name in arguments.only or candidates}
    rows, bundles = [], []
    for name, (whole, layers) in chosen.items():
        run = out / name.replace(" ", "-")
        directory, _ = encoder(whole, arguments.encoders, arguments.results / "encoders")
        directory = cut(directory, layers, out / f"encoder-{whole}-{layers}")
        *matches, bundle = judged(attrs.evolve(settings, encoder=str(directory)), data, run)
        rows.append((name, *shape_of(directory), *matches, megabytes(bundle)))
        bundles.append(bundle)
    times = timed(bundles, settings.language)
    found = [Candidate(*row, taken) for row, taken in zip(rows, times, strict=True)]
    report(settings, data, found).publish(arguments)


if __name__ == "__main__":
    main()
