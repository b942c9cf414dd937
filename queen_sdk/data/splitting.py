"""Which dialogues of a training part are held out, to choose and to look at errors."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from queen_sdk.data.examples import Example

HeldOut = Mapping[str, str]
"""Dialogues by corpus, named as the ids of their examples name them behind the colon, with spaces
between them: a list of hundreds would fill a manifest."""


def carve(
    examples: Sequence[Example],
    share: float,
    seed: int,
    before: HeldOut = MappingProxyType({}),
) -> tuple[list[Example], list[Example]]:
    """Split by dialogue into training and held-out examples.

    So many dialogues of every corpus are held out, and the same ones whatever other corpora there
    are. A run that goes on from another one must not be judged by what that one was trained on: of
    a corpus of which dialogues were held out `before`, those are. Examples of one dialogue share
    their id up to the last dot, colon excepted: `task:12.3`.
    """
    by_corpus: dict[str, set[str]] = {}
    for example in examples:
        by_corpus.setdefault(corpus_of(example), set()).add(_dialogue(example))
    chosen: set[str] = set()
    for corpus, dialogues in by_corpus.items():
        if corpus in before:
            chosen.update(f"{corpus}:{name}" for name in before[corpus].split())
            continue
        drawn = sorted(dialogues, key=lambda dialogue: random.Random(f"{seed}.{dialogue}").random())
        chosen.update(drawn[: round(len(drawn) * share)])
    return (
        [example for example in examples if _dialogue(example) not in chosen],
        [example for example in examples if _dialogue(example) in chosen],
    )


def dialogues_of(examples: Sequence[Example]) -> dict[str, str]:
    """Return the dialogues that examples belong to, for another `carve`."""
    found: dict[str, dict[str, None]] = {}
    for example in examples:
        corpus, _, name = _dialogue(example).partition(":")
        found.setdefault(corpus, {})[name] = None
    return {corpus: " ".join(names) for corpus, names in found.items()}


def corpus_of(example: Example) -> str:
    """Return the name of the corpus that an example comes from."""
    return example.id.partition(":")[0]


def _dialogue(example: Example) -> str:
    return example.id.rsplit(".", 1)[0]
