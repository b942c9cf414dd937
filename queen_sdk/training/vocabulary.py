"""The extra words and the collection of a run: mined once, kept beside its weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import attrs

from queen_sdk.data.examples import Example
from queen_sdk.data.mining import mine_collection, mine_extra_words
from queen_sdk.rows import ExtraWords
from queen_sdk.training.settings import TrainSettings

_FILE = "vocabulary.json"


@attrs.frozen
class Vocabulary:
    """What was mined from the training data."""

    extra_words: ExtraWords
    collection: tuple[str, ...]


def mine(
    examples: Sequence[Example], settings: TrainSettings, known: Vocabulary | None = None
) -> Vocabulary:
    """Mine extra words and referring expressions.

    A model that knows some already keeps its extra words, and gets further expressions.
    """
    language = settings.language
    if known is None:
        extra_words = mine_extra_words(examples, language=language, limit=settings.extra_words)
        return Vocabulary(
            extra_words, mine_collection(examples, language=language, extra_words=extra_words)
        )
    mined = mine_collection(examples, language=language, extra_words=known.extra_words)
    merged = {*known.collection, *mined}
    ordered = sorted(merged, key=lambda span: (-len(span.split(" ")), span))
    return Vocabulary(known.extra_words, tuple(ordered))


def run_vocabulary(
    run: Path, examples: Sequence[Example], settings: TrainSettings, known: Vocabulary | None
) -> Vocabulary:
    """Return what the run mined, or mine it now."""
    file = run / _FILE
    if not file.exists():
        vocabulary = mine(examples, settings, known)
        file.write_text(json.dumps(attrs.asdict(vocabulary), ensure_ascii=False), encoding="utf-8")
    return load_vocabulary(run)


def load_vocabulary(run: Path) -> Vocabulary:
    """Read what a run mined."""
    fields = json.loads((run / _FILE).read_text(encoding="utf-8"))
    words = fields["extra_words"]
    return Vocabulary(
        ExtraWords(tuple(words["before"]), tuple(words["after"])), tuple(fields["collection"])
    )
