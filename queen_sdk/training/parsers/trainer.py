"""The training loop of an embedded parser."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import torch
from tqdm.auto import tqdm

from queen_sdk.data.chatty import chatty
from queen_sdk.data.swapping import Swapper
from queen_sdk.data.treebanks import Sentence
from queen_sdk.evaluation.parsing import Decisions
from queen_sdk.parsing.inputs import ParserInputs
from queen_sdk.training.averaging import MeanWeights
from queen_sdk.training.parsers.examples import ExampleMaker, Loosened, relations
from queen_sdk.training.parsers.learning import Steps, balance, batches, examples_of, judge, merit
from queen_sdk.training.parsers.network import ParserNetwork
from queen_sdk.training.parsers.teacher import Teacher
from queen_sdk.training.parsers.teaching import annotate
from queen_sdk.training.parsers.vectors import WordVectors, encoder_vectors, fresh_vectors

_WIDTHS = {"zh": 72}
_WIDTH = 96
_JOINED_WIDTHS = {"zh": 64}
_WARM_UP = 0.15


@attrs.frozen(kw_only=True)
class ParserSettings:
    """What decides the outcome of a training."""

    language: str
    epochs: int = attrs.field(default=10, validator=attrs.validators.ge(1))
    batch_size: int = attrs.field(default=32, validator=attrs.validators.ge(1))
    learning_rate: float = 3e-3
    width: int = attrs.field()
    """Of each direction of the recurrent layers; Chinese sentences have more units."""
    joined_width: int | None = attrs.field()
    """Of what is known of one unit, below the recurrent layers; None leaves it as it is."""
    word_width: int = 64
    """Of the word vectors."""
    dropout: float = 0.33
    relation_weight: float = 1.0
    """Share of the relations in the loss, beside the structure."""
    swapped: float = 0.3
    """Share of the sentences of an epoch in which words are swapped for others of their kind."""
    loosened: float = 0.25
    """Share of the Chinese words that are read character by character in an epoch."""
    taught: float = 1.0
    """Texts that a teacher has read, per epoch and sentence of the treebank."""
    kept: float = 0.998
    """Of the mean of the weights, at each step; the mean is what is judged and kept."""
    seed: int = 13

    @width.default
    def _width(self) -> int:
        return _WIDTHS.get(self.language, _WIDTH)

    @joined_width.default
    def _joined_width(self) -> int | None:
        return _JOINED_WIDTHS.get(self.language)


@attrs.frozen(eq=False)
class TrainedParser:
    """The best epoch of a training."""

    network: ParserNetwork
    vocabulary: tuple[str, ...]
    decisions: Decisions
    """On the development part, which chose the epoch and the balance."""


def train_parser(
    settings: ParserSettings,
    training: Sequence[Sentence],
    development: Sequence[Sentence],
    *,
    encoder: Path | None = None,
    teacher: Teacher | None = None,
    texts: Sequence[str] = (),
    progress: bool = True,
) -> TrainedParser:
    """Train a parser and keep the epoch whose decisions have most merit on `development`.

    With an `encoder`, its word vectors are used, so that words outside the treebank are known too.
    With a `teacher`, what that finds in `texts` is learnt beside the trees.
    """
    torch.manual_seed(settings.seed)
    words = (
        fresh_vectors(training, width=settings.word_width)
        if encoder is None
        else encoder_vectors(
            encoder, training, language=settings.language, width=settings.word_width
        )
    )
    labels = relations(training) if teacher is None else teacher.labels
    inputs = ParserInputs(words.vocabulary)
    maker = ExampleMaker(inputs, labels)
    taught = [] if teacher is None else annotate(teacher, texts, inputs, progress=progress)
    drawn = min(len(taught), round(settings.taught * len(training)))
    torch.manual_seed(settings.seed)  # whatever the vectors and the teacher drew
    network = _network(settings, words, len(labels))
    mean = MeanWeights(network, settings.kept)
    judged = examples_of(development, maker)
    steps = Steps(
        network,
        [([p for p in network.parameters() if p.requires_grad], settings.learning_rate)],
        steps=-(-(len(training) + drawn) // settings.batch_size) * settings.epochs,
        warm_up=_WARM_UP,
        relation_weight=settings.relation_weight,
    )
    swapper = Swapper(training)
    best: tuple[Decisions, ParserNetwork] | None = None
    bar = tqdm(range(settings.epochs), desc="epochs", disable=not progress)
    for epoch in bar:
        chance = random.Random(f"{settings.seed} {epoch}")
        typed = (chatty(_varied(s, swapper, settings, chance), chance) for s in training)
        loose = ExampleMaker(Loosened(inputs, settings.loosened, chance), labels)
        made = examples_of(typed, loose) + chance.sample(taught, drawn)
        for batch in batches(made, settings.batch_size, chance):
            steps.step(batch)
            mean.add(network)
        found = judge(mean.model, judged)
        bar.set_postfix(macro_f1=f"{found.macro_f1:.3f}", accuracy=f"{found.accuracy:.3f}")
        if best is None or merit(found) > merit(best[0]):
            best = found, copy.deepcopy(mean.model)
    assert best is not None  # there is at least one epoch
    kept = best[1].eval()
    balance(kept, judged)
    return TrainedParser(kept, words.vocabulary, judge(kept, judged))


def train_best(
    settings: ParserSettings,
    training: Sequence[Sentence],
    development: Sequence[Sentence],
    *,
    seeds: int = 1,
    **given: Any,
) -> TrainedParser:
    """Train with so many seeds, from that of the settings on, and keep what has most merit.

    What else is given is given to each training.
    """
    trained = (
        train_parser(attrs.evolve(settings, seed=seed), training, development, **given)
        for seed in range(settings.seed, settings.seed + seeds)
    )
    return max(trained, key=lambda one: merit(one.decisions))


def _varied(
    sentence: Sentence, swapper: Swapper, settings: ParserSettings, chance: random.Random
) -> Sentence:
    return swapper.swap(sentence, chance) if chance.random() < settings.swapped else sentence


def _network(settings: ParserSettings, words: WordVectors, labels: int) -> ParserNetwork:
    network = ParserNetwork(
        words.vectors,
        relations=labels,
        width=settings.width,
        dropout=settings.dropout,
        joined_width=settings.joined_width,
    )
    network.words.weight.requires_grad_(not words.fixed)
    return network
