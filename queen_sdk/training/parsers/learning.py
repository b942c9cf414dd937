"""What teacher and embedded parser have in common: batches, loss, judgement and steps."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

import attrs
import torch
from torch import Tensor, nn

from queen_sdk.data.treebanks import Sentence
from queen_sdk.evaluation.parsing import ENDS, Decisions
from queen_sdk.parsing.base import EllipsisEnds
from queen_sdk.parsing.embedded import COMBINATION_ENDS
from queen_sdk.training.parsers.examples import NONE, ExampleMaker, ParserExample
from queen_sdk.training.parsers.network import ParserHeads

_JUDGED_AT_ONCE = 64
_WEIGHT_DECAY = 1e-4
_LARGEST_STEP = 1.0
_IMPOSSIBLE = -1e4
_SHIFTS = tuple(k / 5 for k in range(-5, 8))
"""What may be added to the scores of the first two decisions."""


def examples_of(sentences: Iterable[Sentence], maker: ExampleMaker) -> list[ParserExample]:
    """Make examples of the sentences that can be ones."""
    made = (maker.make(sentence) for sentence in sentences)
    return [example for example in made if example is not None]


def batches(
    examples: Sequence[ParserExample], size: int, chance: random.Random | None = None
) -> Iterator[list[ParserExample]]:
    """Yield batches of about one length, in an order of chance if there is any."""
    noise = (lambda: 0.0) if chance is None else lambda: chance.uniform(0, 4)
    order = sorted(examples, key=lambda example: len(example.inputs) + noise())
    found = [order[k : k + size] for k in range(0, len(order), size)]
    if chance is not None:
        chance.shuffle(found)
    yield from found


@attrs.frozen(eq=False)
class Tensors:
    """A padded batch."""

    inputs: Tensor
    lengths: Tensor
    mask: Tensor
    labels: Tensor
    heads: Tensor
    roles: Tensor
    """Root, subject, verb and object."""
    shares: Tensor
    """Of the eight combinations."""

    @classmethod
    def of(cls, batch: Sequence[ParserExample]) -> Tensors:
        """Put examples together."""

        def padded(arrays: list[Tensor], value: int) -> Tensor:
            return nn.utils.rnn.pad_sequence(arrays, batch_first=True, padding_value=value)

        lengths = torch.tensor([len(example.inputs) for example in batch])
        return cls(
            inputs=padded([torch.from_numpy(e.inputs) for e in batch], 0),
            lengths=lengths,
            mask=torch.arange(int(lengths.max())) < lengths.unsqueeze(1),
            labels=padded([torch.from_numpy(e.labels) for e in batch], NONE),
            heads=padded([torch.from_numpy(e.heads) for e in batch], NONE),
            roles=torch.tensor([(e.root, *e.roles) for e in batch]),
            shares=torch.tensor([e.shares for e in batch]),
        )


class Steps:
    """The steps of one training."""

    def __init__(
        self,
        network: ParserHeads,
        groups: Sequence[tuple[Sequence[nn.Parameter], float]],
        *,
        steps: int,
        warm_up: float,
        relation_weight: float,
    ) -> None:
        """Take the parameters with the highest learning rate of each group."""
        self._network, self._relation_weight = network, relation_weight
        self._optimizer = torch.optim.AdamW(
            [{"params": list(group), "lr": rate} for group, rate in groups],
            weight_decay=_WEIGHT_DECAY,
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, [rate for _, rate in groups], total_steps=steps + 1, pct_start=warm_up
        )

    def step(self, batch: Sequence[ParserExample]) -> None:
        """Learn from one batch."""
        self._network.train()
        loss = _loss(self._network, Tensors.of(batch), self._relation_weight)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._network.parameters(), _LARGEST_STEP)
        self._optimizer.step()
        self._schedule.step()


def judge(network: ParserHeads, examples: Sequence[ParserExample]) -> Decisions:
    """Compare the decisions of a network with those of the trees."""
    found, gold = _believed(network, examples)
    return _compared(found, gold)


def merit(decisions: Decisions) -> float:
    """Return what is to be as high as possible: macro-F1 and accuracy, one as much as the other."""
    return decisions.macro_f1 + decisions.accuracy


def balance(network: ParserHeads, examples: Sequence[ParserExample]) -> None:
    """Shift a network's beliefs in favour of rare decisions, as far as its merit gains by it.

    A network that is right as often as possible neglects them. How far is read off examples that it
    was not trained on; the neighbours of each shift count too, so that no single example decides.
    """
    found, gold = _believed(network, examples)
    logs = torch.log(found.clamp(min=1e-9))
    gained = torch.tensor(
        [
            [merit(_compared(logs + torch.tensor((x, y, 0.0)), gold)) for y in _SHIFTS]
            for x in _SHIFTS
        ]
    )
    smooth = nn.functional.avg_pool2d(gained[None], 3, stride=1, padding=1, count_include_pad=False)
    place = int(smooth.argmax())
    shift = dict(
        zip(ENDS, (_SHIFTS[place // len(_SHIFTS)], _SHIFTS[place % len(_SHIFTS)], 0.0), strict=True)
    )
    last = network.structure[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.bias.add_(torch.tensor([shift[ends] for ends in COMBINATION_ENDS]))


def _believed(
    network: ParserHeads, examples: Sequence[ParserExample]
) -> tuple[Tensor, list[EllipsisEnds]]:
    """Return the share that a network gives to each decision, and the decisions of the trees."""
    network.eval()
    shares: list[Tensor] = []
    gold: list[EllipsisEnds] = []
    with torch.inference_mode():
        for batch in batches(examples, _JUDGED_AT_ONCE):
            tensors = Tensors.of(batch)
            structure, _ = network.judge(
                network.hidden(tensors.inputs, tensors.lengths), tensors.mask
            )
            shares.append(_decisions(torch.softmax(structure, dim=-1)))
            gold += [COMBINATION_ENDS[example.combination] for example in batch]
    return torch.cat(shares), gold


def _compared(scores: Tensor, gold: Sequence[EllipsisEnds]) -> Decisions:
    found = (ENDS[k] for k in scores.argmax(dim=-1).tolist())
    return Decisions.of(zip(gold, found, strict=True))


def _loss(network: ParserHeads, batch: Tensors, relation_weight: float) -> Tensor:
    hidden = network.hidden(batch.inputs, batch.lengths)
    structure, roles = network.judge(hidden, batch.mask)
    arcs = network.arcs(hidden).masked_fill(~batch.mask.unsqueeze(1), _IMPOSSIBLE)
    learnt = (
        (roles.transpose(1, 2), batch.roles),
        (network.relations(hidden), batch.labels),
        (arcs, batch.heads),
    )
    shaped = torch.stack(
        [
            nn.functional.cross_entropy(
                scores.flatten(0, 1), wanted.flatten(), ignore_index=NONE, reduction="sum"
            )
            / (wanted != NONE).sum().clamp(min=1)
            for scores, wanted in learnt
        ]
    )
    found = torch.softmax(structure, dim=-1)
    asked = (
        nn.functional.cross_entropy(structure, batch.shares)
        - (_decisions(batch.shares) * torch.log(_decisions(found).clamp(min=1e-9)))
        .sum(dim=-1)
        .mean()
    )
    return asked + relation_weight * shaped.sum()


def _decisions(shares: Tensor) -> Tensor:
    """Return the share of each decision: its combinations together."""
    members = [[float(ends == wanted) for wanted in ENDS] for ends in COMBINATION_ENDS]
    return shares @ torch.tensor(members)
