"""What people use instead: an encoder-decoder that writes the whole rewrite, token by token.

    python benchmarks/generative.py [--quick] [--json FILE] [--count 40] [--repetitions 3]
                                    [--threads N] [--path CORPORA]

T5 of the small and the base size with random weights, which is all the same to the clock: greedy,
with key-value cache, exactly as many tokens as the reference has. Same texts, same threads, every
text through all rows in turn; QUEEN is the embedded bundle, from text to text.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import torch
import transformers
from measuring.clock import milliseconds, percentiles
from measuring.report import Report, add_options, table
from measuring.texts import add_path_option, evaluation_examples
from tokenizers import Tokenizer
from transformers import GenerationConfig, T5Config, T5ForConditionalGeneration

from queen_sdk import Rewriter
from queen_sdk.bundle import load_bundle
from queen_sdk.data.examples import Example

LANGUAGES = ("zh", "en")
QUEEN = "QUEEN, embedded int8 bundle, end to end"
SIZES: dict[str, dict[str, int]] = {
    "T5-small": {"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8},
    "T5-base": {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12},
}
_VOCABULARY = 32_128
_CONTEXT = (
    ("asking a large language model to condense the question", "about 1 s"),
    ("budget that such a step is given", "200 ms"),
    ("one team's published limit for what a rewrite may add, 95th percentile", "500 ms"),
)
"""As the project's notes have them: not measured here, and not on this machine."""


@attrs.frozen
class Text:
    """One example as ids: what goes in, and how many tokens must come out."""

    example: Example
    ids: torch.Tensor
    length: int


@attrs.frozen
class Row:
    """One system on one language."""

    language: str
    system: str
    parameters: int | None
    times: list[float]
    """Milliseconds, one per text and repetition."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "language": self.language,
            "system": self.system,
            "parameters": self.parameters,
            "ms": percentiles(self.times),
        }


def texts(language: str, examples: Sequence[Example]) -> list[Text]:
    """Cut texts into the word pieces of the embedded bundle: about as many as T5 would make."""
    tokenizer = Tokenizer.from_file(str(load_bundle(language).tokenizer_path))

    def pieces(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    found = []
    for example in examples:
        spoken = [*(turn.text for turn in example.history), example.utterance]
        ids = [piece for text in spoken for piece in (*pieces(text), 1)]
        found.append(Text(example, torch.tensor([ids]), len(pieces(example.reference)) + 1))
    return found


def generator(name: str) -> T5ForConditionalGeneration:
    """Return an encoder-decoder of that size with random weights."""
    transformers.set_seed(13)
    config = T5Config(vocab_size=_VOCABULARY, decoder_start_token_id=0, **SIZES[name])
    return T5ForConditionalGeneration(config).eval()


def write(model: T5ForConditionalGeneration, text: Text) -> torch.Tensor:
    """Generate as many tokens as the reference has, greedily."""
    settings = GenerationConfig(
        max_new_tokens=text.length,
        min_new_tokens=text.length,
        do_sample=False,
        num_beams=1,
        use_cache=True,
        decoder_start_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
    )
    mask = torch.ones_like(text.ids)
    found: torch.Tensor = model.generate(text.ids, attention_mask=mask, generation_config=settings)
    return found


def measure(
    language: str,
    chosen: Sequence[Text],
    models: dict[str, T5ForConditionalGeneration],
    repetitions: int,
    threads: int,
) -> list[Row]:
    """Give every text to every system in turn."""
    with Rewriter(language, providers=["cpu"], threads=threads) as rewriter:
        calls: dict[str, Callable[[Text], object]] = {
            QUEEN: lambda text: rewriter.rewrite(text.example.history, text.example.utterance)
        }
        for name, model in models.items():
            calls[name] = lambda text, model=model: write(model, text)  # type: ignore[misc]
        for call in calls.values():
            call(chosen[0])
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(repetitions):
            for text in chosen:
                for name, call in calls.items():
                    times[name].append(milliseconds(lambda call=call, text=text: call(text)))
    sizes = {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
    return [Row(language, name, sizes.get(name), times[name]) for name in calls]


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Return how many times QUEEN's median each generator needs, the least of the languages."""
    found: dict[str, float] = {}
    for row in rows:
        if row.system != QUEEN:
            (queen,) = (r for r in rows if (r.language, r.system) == (row.language, QUEEN))
            key = f"{row.system.lower().replace('-', '_')}_over_queen"
            times = statistics.median(row.times) / statistics.median(queen.times)
            found[key] = min(times, found.get(key, times))
    return found


def report(rows: Sequence[Row], notes: Sequence[str], threads: int) -> Report:
    """Put everything side by side."""
    body = []
    for row in rows:
        queen = next(r for r in rows if (r.language, r.system) == (row.language, QUEEN))
        times = statistics.median(row.times) / statistics.median(queen.times)
        body.append(
            (row.language, row.system, row.parameters, *percentiles(row.times).values(), times)
        )
    head = ("", "system", "parameters", "p50 ms", "p95", "p99", "× QUEEN's time")
    about = (
        f"One utterance at a time, {threads} threads. T5: random weights of that shape, float32 in "
        "PyTorch, greedy with key-value cache, as many tokens as the reference has in the word "
        "pieces of our bundle. " + " ".join(notes)
    )
    context = table(("for context, **not measured here**", "latency"), _CONTEXT)
    return Report(
        name="generative",
        parts=[about, table(head, body), context],
        figures={
            "rows": [row.to_dict() for row in rows],
            "ratios": ratios(rows),
            "context_not_measured": dict(_CONTEXT),
        },
        draw=lambda figure: draw(figure, rows),
    )


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw a bar for every system and language."""
    axes = figure.subplots()
    names = [f"{row.system.split(',')[0]}, {row.language}" for row in rows]
    medians = [statistics.median(row.times) for row in rows]
    colours = ["tab:blue" if row.system == QUEEN else "tab:orange" for row in rows]
    bars = axes.barh(names, medians, color=colours)
    axes.bar_label(bars, [f" {value:.0f} ms" for value in medians])
    axes.axvline(
        200,
        color="tab:gray",
        linestyle=":",
        label="a budget for the step, 200 ms (not measured here)",
    )
    axes.set_xlim(right=max(*medians, 200) * 1.15)
    axes.invert_yaxis()
    figure.legend(loc="outside lower right")
    axes.set(
        xlabel="median milliseconds of one rewrite",
        title="Editing and generating, same texts, one machine, one run",
    )


def main() -> None:
    """Measure, print the tables, write the results."""
    parser = argparse.ArgumentParser(description="Editing beside generating.")
    add_options(parser)
    add_path_option(parser)
    parser.add_argument("--count", type=int, default=40, help="texts of each language")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    sizes = ["T5-small"] if arguments.quick else list(SIZES)
    count, repetitions = (2, 1) if arguments.quick else (arguments.count, arguments.repetitions)
    models = {name: generator(name) for name in sizes}
    rows: list[Row] = []
    notes = []
    for language in LANGUAGES:
        examples, about = evaluation_examples(language, arguments.path, count)
        notes.append(f"Texts, {language}: {about}.")
        with torch.inference_mode():
            chosen = texts(language, examples)
            rows += measure(language, chosen, models, repetitions, arguments.threads)
    report(rows, notes, arguments.threads).publish(arguments)


if __name__ == "__main__":
    main()
