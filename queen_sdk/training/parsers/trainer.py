"""The training loop of an embedded parser."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from queen_sdk.data.chatty import chatty
from queen_sdk.data.treebanks import Sentence
from queen_sdk.evaluation.parsing import ENDS, Decisions
from queen_sdk.parsing.base import EllipsisEnds
from queen_sdk.parsing.embedded import COMBINATION_ENDS
from queen_sdk.parsing.inputs import ParserInputs
from queen_sdk.training.parsers.examples import (
    NONE,
    ExampleMaker,
    ParserExample,
    relations,
)
from queen_sdk.training.parsers.network import ParserNetwork
from queen_sdk.training.parsers.vectors import WordVectors, encoder_vectors, fresh_vectors

_WARM_UP = 0.15


@attrs.frozen(kw_only=True)
class ParserSettings:
    """What decides the outcome of a training."""

    language: str
    epochs: int = attrs.field(default=10, validator=attrs.validators.ge(1))
    batch_size: int = attrs.field(default=32, validator=attrs.validators.ge(1))
    learning_rate: float = 3e-3
    width: int = 96
    """Of each direction of the recurrent layers."""
    word_width: int = 64
    """Of the word vectors."""
    dropout: float = 0.33
    relation_weight: float = 0.5
    """Share of the relations in the loss, beside the structure."""
    seed: int = 13


@attrs.frozen(eq=False)
class TrainedParser:
    """The best epoch of a training."""

    network: ParserNetwork
    vocabulary: tuple[str, ...]
    decisions: Decisions
    """On the development part, which chose the epoch."""


def train_parser(
    settings: ParserSettings,
    training: Sequence[Sentence],
    development: Sequence[Sentence],
    *,
    encoder: Path | None = None,
    progress: bool = True,
) -> TrainedParser:
    """Train a parser and keep the epoch whose decisions are best on `development` (macro-F1).

    With an `encoder`, its word vectors are used, so that words outside the treebank are known too.
    """
    torch.manual_seed(settings.seed)
    words = (
        fresh_vectors(training, width=settings.word_width)
        if encoder is None
        else encoder_vectors(
            encoder, training, language=settings.language, width=settings.word_width
        )
    )
    labels = relations(training)
    maker = ExampleMaker(ParserInputs(words.vocabulary), labels)
    network = _network(settings, words, len(labels))
    judged = _examples(development, maker)
    optimization = _Optimization(network, settings, len(training))
    best: tuple[Decisions, dict[str, Tensor]] | None = None
    bar = tqdm(range(settings.epochs), desc="epochs", disable=not progress)
    for epoch in bar:
        chance = random.Random(f"{settings.seed} {epoch}")
        optimization.epoch(_examples([chatty(s, chance) for s in training], maker), chance)
        found = judge(network, judged)
        bar.set_postfix(macro_f1=f"{found.macro_f1:.3f}", accuracy=f"{found.accuracy:.3f}")
        if best is None or found.macro_f1 > best[0].macro_f1:
            best = found, {k: v.clone() for k, v in network.state_dict().items()}
    assert best is not None  # there is at least one epoch
    network.load_state_dict(best[1])
    return TrainedParser(network.eval(), words.vocabulary, best[0])


class _Optimization:
    """The steps of one training."""

    def __init__(self, network: ParserNetwork, settings: ParserSettings, examples: int) -> None:
        self._network, self._settings = network, settings
        self._optimizer = torch.optim.AdamW(
            [p for p in network.parameters() if p.requires_grad],
            lr=settings.learning_rate,
            weight_decay=1e-4,
        )
        steps = -(-examples // settings.batch_size) * settings.epochs
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, settings.learning_rate, total_steps=steps + 1, pct_start=_WARM_UP
        )

    def epoch(self, examples: Sequence[ParserExample], chance: random.Random) -> None:
        """Go once through the examples."""
        self._network.train()
        for batch in _batches(examples, self._settings.batch_size, chance):
            loss = _loss(self._network, batch, self._settings)
            self._optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
            self._optimizer.step()
            self._schedule.step()


def judge(network: ParserNetwork, examples: Sequence[ParserExample]) -> Decisions:
    """Compare the decisions of a network with those of the trees."""
    network.eval()
    pairs: list[tuple[EllipsisEnds, EllipsisEnds]] = []
    with torch.inference_mode():
        for batch in _batches(examples, 64, None):
            tensors = _Tensors.of(batch)
            structure, _ = network.judge(
                network.hidden(tensors.inputs, tensors.lengths), tensors.mask
            )
            found = _decision_scores(structure).argmax(dim=-1).tolist()
            gold = [COMBINATION_ENDS[example.combination] for example in batch]
            pairs += zip(gold, (ENDS[k] for k in found), strict=True)
    return Decisions.of(pairs)


def _network(settings: ParserSettings, words: WordVectors, labels: int) -> ParserNetwork:
    network = ParserNetwork(
        words.vectors, relations=labels, width=settings.width, dropout=settings.dropout
    )
    network.words.weight.requires_grad_(not words.fixed)
    return network


def _examples(sentences: Sequence[Sentence], maker: ExampleMaker) -> list[ParserExample]:
    made = (maker.make(sentence) for sentence in sentences)
    return [example for example in made if example is not None]


def _batches(
    examples: Sequence[ParserExample], size: int, chance: random.Random | None
) -> Iterator[list[ParserExample]]:
    """Yield batches of about one length, in an order of chance if there is any."""
    noise = (lambda: 0.0) if chance is None else lambda: chance.uniform(0, 4)
    order = sorted(examples, key=lambda example: len(example.inputs) + noise())
    batches = [order[k : k + size] for k in range(0, len(order), size)]
    if chance is not None:
        chance.shuffle(batches)
    yield from batches


@attrs.frozen(eq=False)
class _Tensors:
    """A padded batch."""

    inputs: Tensor
    lengths: Tensor
    mask: Tensor
    labels: Tensor
    heads: Tensor
    roles: Tensor
    combinations: Tensor

    @classmethod
    def of(cls, batch: Sequence[ParserExample]) -> _Tensors:
        def padded(arrays: list[Tensor], value: int) -> Tensor:
            return nn.utils.rnn.pad_sequence(arrays, batch_first=True, padding_value=value)

        lengths = torch.tensor([len(example.inputs) for example in batch])
        return cls(
            inputs=padded([torch.from_numpy(e.inputs) for e in batch], 0),
            lengths=lengths,
            mask=torch.arange(int(lengths.max())) < lengths.unsqueeze(1),
            labels=padded([torch.from_numpy(e.labels) for e in batch], NONE),
            heads=padded([torch.from_numpy(e.heads) for e in batch], NONE),
            roles=torch.tensor([(_root(e), *e.roles) for e in batch]),
            combinations=torch.tensor([e.combination for e in batch]),
        )


def _root(example: ParserExample) -> int:
    return next((k for k, head in enumerate(example.heads) if head == k), NONE)


def _loss(
    network: ParserNetwork, batch: Sequence[ParserExample], settings: ParserSettings
) -> Tensor:
    tensors = _Tensors.of(batch)
    hidden = network.hidden(tensors.inputs, tensors.lengths)
    structure, roles = network.judge(hidden, tensors.mask)
    decisions = _decision_scores(structure)
    gold = torch.tensor([ENDS.index(COMBINATION_ENDS[e.combination]) for e in batch])
    arcs = network.arcs(hidden).masked_fill(~tensors.mask.unsqueeze(1), -1e4)
    cross_entropy = nn.functional.cross_entropy
    shaped = (
        cross_entropy(
            roles.transpose(1, 2).flatten(0, 1), tensors.roles.flatten(), ignore_index=NONE
        )
        + cross_entropy(
            network.relations(hidden).flatten(0, 1), tensors.labels.flatten(), ignore_index=NONE
        )
        + cross_entropy(arcs.flatten(0, 1), tensors.heads.flatten(), ignore_index=NONE)
    )
    asked = cross_entropy(structure, tensors.combinations) + cross_entropy(decisions, gold)
    return asked + settings.relation_weight * shaped


def _decision_scores(structure: Tensor) -> Tensor:
    """Return the log-probability of each decision: its combinations together."""
    logs = torch.log_softmax(structure, dim=-1)
    groups = [[k for k, ends in enumerate(COMBINATION_ENDS) if ends == wanted] for wanted in ENDS]
    return torch.stack([torch.logsumexp(logs[..., group], dim=-1) for group in groups], dim=-1)
