"""Which dialogues of a training part are held out, to choose and to look at errors."""

from __future__ import annotations

import random
from collections.abc import Sequence

from queen_sdk.data.examples import Example


def carve(
    examples: Sequence[Example], share: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split by dialogue into training and held-out examples.

    So many dialogues of every corpus are held out, and the same ones whatever other corpora there
    are: a run that goes on from another one must not be judged by what that one was trained on.
    Examples of one dialogue share their id up to the last dot, colon excepted: `task:12.3`.
    """
    by_corpus: dict[str, set[str]] = {}
    for example in examples:
        by_corpus.setdefault(corpus_of(example), set()).add(_dialogue(example))
    chosen: set[str] = set()
    for dialogues in by_corpus.values():
        drawn = sorted(dialogues, key=lambda dialogue: random.Random(f"{seed}.{dialogue}").random())
        chosen.update(drawn[: round(len(drawn) * share)])
    return (
        [example for example in examples if _dialogue(example) not in chosen],
        [example for example in examples if _dialogue(example) in chosen],
    )


def corpus_of(example: Example) -> str:
    """Return the name of the corpus that an example comes from."""
    return example.id.partition(":")[0]


def _dialogue(example: Example) -> str:
    return example.id.rsplit(".", 1)[0]
