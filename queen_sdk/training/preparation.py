"""Examples to features and gold cells."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from queen_sdk.data.examples import Example
from queen_sdk.data.omitting import omitting
from queen_sdk.data.readers import complete_examples
from queen_sdk.data.splitting import corpus_of
from queen_sdk.data.supervision import GoldEdit, supervise
from queen_sdk.features import FeatureBuilder, Features, PieceEncoder
from queen_sdk.parsing.registry import open_parser
from queen_sdk.pipeline import Pipeline, Prepared
from queen_sdk.rows import Row
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.vocabulary import Vocabulary
from queen_sdk.values import Turn


@attrs.frozen
class Cells:
    """A block of the score rectangle."""

    operation: int
    rows: tuple[int, int]
    columns: tuple[int, int]


@attrs.frozen
class TrainingExample:
    """One example, encoded both ways, with the cells that must score high."""

    example: Example
    features: Features
    """With the marks that serving would make."""
    gold_features: Features
    """With marks at the gold replaced spans."""
    positive: tuple[Cells, ...]
    ignored: tuple[Cells, ...]
    """Cells that are neither right nor wrong: other places of a single copied character."""
    rebuildable: bool
    """Whether the edits make the reference word for word."""
    labelled: bool = True
    """Whether anybody said what is to be done; if not, only a lesson does."""
    lesson: npt.NDArray[np.float16] | None = attrs.field(default=None, eq=False)
    """What a teacher scores, all planes; nan where it has nothing to say."""


def build_pipeline(tokenizer: Path, settings: TrainSettings, vocabulary: Vocabulary) -> Pipeline:
    """Build the stages that serving will use with the trained model."""
    builder = FeatureBuilder(
        PieceEncoder(Tokenizer.from_file(str(tokenizer))),
        extra_words=vocabulary.extra_words,
        max_length=settings.max_length,
        shared_marker=settings.template.shared_marker,
        marks=settings.marks,
        opening=settings.opening,
    )
    parser = None if settings.parser is None else open_parser(settings.parser, settings.language)[0]
    return Pipeline(
        builder, template=settings.template, collection=vocabulary.collection, parser=parser
    )


def prepare(
    examples: Iterable[Example], pipeline: Pipeline, *, hopeless: bool = False
) -> list[TrainingExample]:
    """Encode examples; left out are those that serving would skip.

    So are `hopeless` ones unless they are asked for: a reference of which no edit can be made would
    teach that there is nothing to do.
    """
    prepared = (_prepare_one(example, pipeline) for example in examples)
    return [
        one for one in prepared if one is not None and (hopeless or one.positive or one.rebuildable)
    ]


def worth_training(
    examples: Iterable[TrainingExample], settings: TrainSettings
) -> list[TrainingExample]:
    """Leave out what cannot be learnt by copying, and repeat corpora, as the settings say."""
    chance = random.Random(settings.seed)
    return [
        example
        for example in examples
        if example.rebuildable or not settings.rebuildable
        for _ in range(_times(_wanted(example.example, settings), chance))
    ]


def without_labels(
    examples: Sequence[Example], settings: TrainSettings, pipeline: Pipeline
) -> list[TrainingExample]:
    """Give last turns of histories as utterances of the turns before them.

    Nobody has said what is to be done with these; a teacher may know.
    """
    made = [
        attrs.evolve(e, history=e.history[:-1], utterance=e.history[-1].text, reference=last)
        for e in examples
        if len(e.history) > 1 and (last := e.history[-1].text)
    ]
    random.Random(settings.seed).shuffle(made)
    chosen = prepare(made[: round(len(examples) * settings.unlabelled_share)], pipeline)
    return [attrs.evolve(one, labelled=False) for one in chosen]


def _wanted(example: Example, settings: TrainSettings) -> float:
    corpus = corpus_of(example)
    complete = settings.complete_repeats if example.utterance == example.reference else {}
    return settings.repeats.get(corpus, 1.0) * complete.get(corpus, 1.0)


def _times(times: float, chance: random.Random) -> int:
    return int(times) + (chance.random() < times % 1)


def _prepare_one(example: Example, pipeline: Pipeline) -> TrainingExample | None:
    served = pipeline.prepare(example.history, example.utterance)
    if not isinstance(served, Prepared):
        return None
    features = served.features
    gold = supervise(
        features.utterance, pipeline.builder.tokens(example.reference, 0), features.rows
    )
    spans = [(edit.start, edit.end) for edit in gold.edits if edit.kind == "substitute"]
    marked = pipeline.prepare(example.history, example.utterance, coreference=spans)
    # The gold query may be longer and so leave less room for the history.
    if not isinstance(marked, Prepared) or marked.features.rows != features.rows:
        marked = served
    positive: list[Cells] = []
    ignored: list[Cells] = []
    for edit in gold.edits:
        for cells, counts in _cells(edit, features.rows):
            (positive if counts else ignored).append(cells)
    return TrainingExample(
        example, features, marked.features, tuple(positive), tuple(ignored), gold.exact
    )


def _cells(edit: GoldEdit, rows: Sequence[Row]) -> Iterable[tuple[Cells, bool]]:
    operation = 0 if edit.kind == "substitute" else 1
    columns = (edit.start, max(edit.end, edit.start + 1))
    words = [row.token.text.casefold() for row in rows]
    for first, behind in edit.pieces:
        yield Cells(operation, (first, behind), columns), True
        if rows[first].turn is None:
            continue
        size = behind - first
        counts = size > 1 or len(words[first]) > 1
        for other in range(len(rows) - size + 1):
            if (
                other != first
                and words[other : other + size] == words[first:behind]
                and rows[other].turn is not None
                and rows[other].segment == rows[other + size - 1].segment
            ):
                yield Cells(operation, (other, other + size), columns), counts


def sample_of_each(examples: Sequence[Example], settings: TrainSettings) -> list[Example]:
    """Return at most `most_judged` examples of every corpus, chosen by the seed, in order."""
    by_corpus: dict[str, list[int]] = {}
    for index, example in enumerate(examples):
        by_corpus.setdefault(corpus_of(example), []).append(index)
    chance = random.Random(settings.seed)
    chosen = (
        index
        for indices in by_corpus.values()
        for index in chance.sample(indices, min(len(indices), settings.most_judged))
    )
    return [examples[index] for index in sorted(chosen)]


def augment(examples: Sequence[Example], settings: TrainSettings) -> list[Example]:
    """Add complete utterances and omissions, and put foreign turns in front of some histories.

    A complete utterance is a reference given as an utterance of its own; one in four of them gets
    the history of another dialogue, because people change the subject. Omissions are turns of the
    histories without what they repeat; those turns as they were are complete too.
    """
    chance = random.Random(settings.seed)
    complete = complete_examples(examples)
    chance.shuffle(complete)
    complete = complete[: round(len(examples) * settings.complete_share)]
    for k in range(0, len(complete), 4):
        complete[k] = attrs.evolve(complete[k], history=chance.choice(examples).history)
    omitted = _omitted(examples, settings)
    given = (*examples, *complete, *omitted, *complete_examples(omitted))
    return [_distracted(e, examples, settings, chance) for e in given]


def _omitted(examples: Sequence[Example], settings: TrainSettings) -> list[Example]:
    chosen: list[Example] = []
    for name, share in settings.omissions.items():
        own = [example for example in examples if corpus_of(example) == name]
        made = omitting(own, settings.language)
        random.Random(f"{settings.seed}.{name}").shuffle(made)
        chosen += made[: round(len(own) * share)]
    return chosen


_MOST_DISTRACTORS = 3
_LONG = (6, 20)
"""Foreign turns that make a long conversation; how many of them are seen is up to the window."""


def _distracted(
    example: Example, examples: Sequence[Example], settings: TrainSettings, chance: random.Random
) -> Example:
    drawn = chance.random()
    if drawn < settings.long_share:
        foreign = _conversation(examples, chance.randint(*_LONG), chance)
    elif drawn < settings.long_share + settings.distractor_share:
        foreign = [
            turn
            for _ in range(chance.randint(1, _MOST_DISTRACTORS))
            for turn in chance.choice(examples).history[-1:]
        ]
    else:
        return example
    return attrs.evolve(example, history=(*foreign, *example.history))


def _conversation(examples: Sequence[Example], length: int, chance: random.Random) -> list[Turn]:
    """Return at least so many turns: whole dialogues, one after the other."""
    turns: list[Turn] = []
    while len(turns) < length:
        foreign = chance.choice(examples)
        turns += (*foreign.history, Turn(foreign.reference))
    return turns
