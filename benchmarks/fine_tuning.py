"""What fine-tuning an embedded bundle gives on a domain of one's own.

    python benchmarks/fine_tuning.py [--epochs N] [--out FOLDER] [--quick] [--json FILE]

The domain is a workshop for musical instruments, where "the job" is whatever repair was ordered and
"the piece" the instrument: words that the English bundle never learnt to replace. It goes on
training (`queen train --init en`) with dialogues about some repairs, and is tested on others; the
follow-ups that it was tested on before show whether it forgot anything. Needs the extra `train`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from measuring.report import Report, add_options, table

from queen_sdk import Rewriter
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import load
from queen_sdk.evaluation.report import Report as Evaluation
from queen_sdk.evaluation.report import evaluate
from queen_sdk.training.corpora import split_examples
from queen_sdk.training.export import export_bundle
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.starting import inherited_settings
from queen_sdk.training.trainer import train

INSTRUMENTS = (
    "violin", "cello", "oboe", "trumpet", "flute", "harp", "banjo", "clarinet", "tuba", "guitar",
    "viola", "horn", "piccolo", "mandolin", "bassoon",
)  # fmt: skip
REPAIRS = ("full overhaul", "pad replacement", "crack repair", "new varnish", "valve cleaning")
ORDERS = ("I would like to order {a} for my {b}.", "My {b} needs {a}.")
ANSWERS = ("Gladly. When can you bring it in?", "We have written that down.")
ASKED = (
    ("how long does the job take?", "how long does the {a} take?"),
    ("What does the job cost?", "What does the {a} cost?"),
    ("Please cancel the job.", "Please cancel the {a}."),
    ("Is the piece insured in your workshop?", "Is the {b} insured in your workshop?"),
    ("can someone collect the piece on Friday?", "can someone collect the {b} on Friday?"),
    ("Do you open on Saturdays?", "Do you open on Saturdays?"),
    ("I will pay by card.", "I will pay by card."),
)
_TESTED = 5
"""The last so many instruments are kept for the test."""


def dialogues(instruments: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield dialogues of the domain as JSON lines have them."""
    orders = product(instruments, REPAIRS)
    for k, ((instrument, repair), (utterance, rewrite)) in enumerate(product(orders, ASKED)):
        words = {"a": repair, "b": instrument}
        history = [ORDERS[k % 2].format(**words), ANSWERS[k // 2 % 2]]
        yield {
            "history": history,
            "utterance": utterance,
            "rewrite": rewrite.format(**words),
        }


def written(path: Path, instruments: Sequence[str], limit: int | None) -> list[Example]:
    """Write the dialogues to a file, and read them as the training does."""
    lines = [json.dumps(dialogue) for dialogue in dialogues(instruments)]
    path.write_text("\n".join(lines[:limit]) + "\n", encoding="utf-8")
    return load("jsonl", path)


def tuned(data: Path, out: Path, epochs: int) -> Path:
    """Fine-tune the English bundle on a file, and return the new bundle."""
    settings = TrainSettings(
        data=("jsonl",),
        language="en",
        init="en",
        epochs=epochs,
        batch_size=16,
        learning_rate=1e-4,
        held_out=0.1,
        **inherited_settings("en", "en"),
    )
    training, held_out = split_examples(settings, data)
    train(settings, training, held_out, out / "run")
    export_bundle(
        out / "run",
        out / "bundle",
        name="workshop",
        version="1",
        precisions=("int8",),
        check_on=held_out,
        calibrate_on=training[:32],
    )
    return out / "bundle"


def row(
    name: str, bundle: str | Path, tests: Sequence[tuple[str, Sequence[Example]]]
) -> list[object]:
    """Return the line of a bundle: exact match and untouched turns of every test."""
    found: list[object] = [name]
    with Rewriter(bundle) as rewriter:
        for corpus, examples in tests:
            report: Evaluation = evaluate(
                rewriter, examples, language="en", corpus=corpus, references=False
            )
            found += [report.bundle.incomplete.percent, report.untouched_complete.percent]
    return found


def main() -> None:
    """Evaluate, train, evaluate again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder of the run and the bundle")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = arguments.out or Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        limit = 64 if arguments.quick else None
        training = written(out / "train.jsonl", INSTRUMENTS[:-_TESTED], limit)
        own = written(out / "test.jsonl", INSTRUMENTS[-_TESTED:], limit)
        general = load("followups-en", part="eval")[: 40 if arguments.quick else None]
        tests = (("jsonl", own), ("followups-en", general))
        before = row("en", "en", tests)
        bundle = tuned(out / "train.jsonl", out, 1 if arguments.quick else arguments.epochs)
        after = row("en, fine-tuned", bundle, tests)
    head = [
        "bundle",
        "workshop EM",
        "workshop untouched %",
        "follow-ups EM",
        "follow-ups untouched %",
    ]
    Report(
        name="fine_tuning",
        parts=[
            f"{len(training)} dialogues to train on, {len(own)} of other instruments to test, and "
            f"{len(general)} follow-ups of other domains; exact match of the incomplete turns.",
            table(head, [before, after]),
        ],
        figures={"rows": [dict(zip(head, line, strict=True)) for line in (before, after)]},
    ).publish(arguments)


if __name__ == "__main__":
    main()
