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
_EXTRA_WORDS = 6
"""So many are mined unless the settings say how many."""


@attrs.frozen
class Vocabulary:
    """What was mined from the training data."""

    extra_words: ExtraWords
    collection: tuple[str, ...]


def mine(
    examples: Sequence[Example], settings: TrainSettings, known: Vocabulary | None = None
) -> Vocabulary:
    """Mine extra words and referring expressions.

    A model that knows some already keeps them; it gets further expressions, and further words if
    the settings ask for more than it has.
    """
    language = settings.language
    extra_words = ExtraWords() if known is None else known.extra_words
    if known is None or settings.extra_words is not None:
        limit = _EXTRA_WORDS if settings.extra_words is None else settings.extra_words
        extra_words = mine_extra_words(examples, language=language, limit=limit, known=extra_words)
    spans = {*mine_collection(examples, language=language, extra_words=extra_words)}
    spans |= {*(() if known is None else known.collection)}
    ordered = sorted(spans, key=lambda span: (-len(span.split(" ")), span))
    return Vocabulary(extra_words, tuple(ordered))


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
