"""Which examples of a corpus are trained on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from queen_sdk.data.corpus import Corpus, CorpusPath
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import CORPORA, load, load_for_training, read_task
from queen_sdk.data.splitting import HeldOut, carve, corpus_of
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.starting import held_out_before


def training_examples(names: Sequence[str], path: CorpusPath) -> list[Example]:
    """Read the training parts of several corpora, with everything that helps training.

    TASK gives all incomplete versions of a turn, every second one after all turns before it; the
    untitled CANARD dialogues get a stand-in for their title.
    """
    examples: list[Example] = []
    for name in names:
        if name == "task":
            examples += CORPORA[name].select(_task_of_both_lengths(path), "train")
        else:
            examples += load_for_training(name, path)
    return examples


def _task_of_both_lengths(path: CorpusPath) -> list[Example]:
    short = read_task(path, variants="all")
    whole = read_task(path, variants="all", whole_history=True)
    return [pair[k % 2] for k, pair in enumerate(zip(short, whole, strict=True))]


def shared_with_evaluation(examples: Sequence[Example], path: CorpusPath) -> list[Example]:
    """Return the examples that stand, turn and reference, in the evaluation part of another corpus.

    QReCC took some of its questions from CANARD. Corpora that are not below `path` are not looked
    at: who does not have them does not evaluate on them.
    """
    trained = {corpus_of(example) for example in examples}
    languages = {CORPORA[name].language for name in trained}
    evaluated = {
        (corpus.name, *_pair(example))
        for corpus in CORPORA.values()
        if corpus.evaluation and corpus.language in languages and _is_there(corpus, path)
        for example in load(corpus.name, path, "eval")
    }
    names = {name for name, *_ in evaluated}
    return [
        example
        for example in examples
        if any((name, *_pair(example)) in evaluated for name in names - {corpus_of(example)})
    ]


def _pair(example: Example) -> tuple[str, ...]:
    """Return turn and reference as letters and digits: corpora differ in spaces and marks."""
    texts = (example.utterance, example.reference)
    return tuple(re.sub(r"\W", "", text.casefold()) for text in texts)


def _is_there(corpus: Corpus, path: CorpusPath) -> bool:
    return corpus.file is not None and (Path(path) / corpus.file).is_file()


def split_examples(
    settings: TrainSettings,
    path: CorpusPath,
    *,
    before: HeldOut | None = None,
    report: Callable[[str], None] | None = None,
) -> tuple[list[Example], list[Example]]:
    """Return the examples to train on and those to select on, the same ones for every call.

    What was held out `before`, by the model that a run starts from unless you say it, is held out
    again.

    What also stands in the evaluation part of another corpus is left out; `report` is told how
    many those were.

    Raises:
        InvalidArgumentError: There are none of either kind, or a corpus has no evaluation part.
    """
    examples = training_examples(settings.data, path)
    shared = {id(example) for example in shared_with_evaluation(examples, path)}
    if shared and report is not None:
        report(f"{len(shared)} examples left out: they stand in another corpus's evaluation part")
    examples = [example for example in examples if id(example) not in shared][: settings.limit]
    if settings.select_on == "eval":
        held_out = [e for name in settings.data for e in _evaluation_part(name, path)]
        return examples, held_out
    if before is None:
        before = {} if settings.init is None else held_out_before(settings.init)
    training, held_out = carve(examples, settings.held_out, settings.seed, before)
    if not training or not held_out:
        raise InvalidArgumentError(
            f"held_out must leave examples on both sides, got {settings.held_out} "
            f"of {len(examples)} examples"
        )
    return training, held_out


def _evaluation_part(name: str, path: CorpusPath) -> list[Example]:
    if CORPORA[name].evaluation == CORPORA[name].train:
        raise InvalidArgumentError(f"{name} has no evaluation part; select on train-split")
    return load(name, path, "eval")
