"""A large parser that is not served: a pretrained encoder below the same heads.

It learns from the treebanks as the small one does, but knows the language beforehand; then it reads
texts without trees for the small one to learn from.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm
from transformers import AutoModel, AutoTokenizer

from queen_sdk.data.chatty import chatty
from queen_sdk.data.treebanks import Sentence
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.parsing import Decisions
from queen_sdk.parsing.inputs import LONGEST, Ids, Span
from queen_sdk.tokenization import token_spans
from queen_sdk.training.parsers.examples import ExampleMaker, relations
from queen_sdk.training.parsers.learning import Steps, batches, examples_of, judge
from queen_sdk.training.parsers.network import ParserHeads

TEACHER_FILE = "teacher.pt"

_PIECES = 4
"""Word pieces of a token that are looked at."""
_WIDTH = 192
_DROPOUT = 0.2
_WARM_UP = 0.1


@attrs.frozen(kw_only=True)
class TeacherSettings:
    """What decides the outcome of a teacher's training."""

    epochs: int = attrs.field(default=3, validator=attrs.validators.ge(1))
    batch_size: int = attrs.field(default=16, validator=attrs.validators.ge(1))
    learning_rate: float = 2e-4
    """Of the encoder."""
    heads_learning_rate: float = 1e-3
    frozen_layers: int = 2
    """Lowest layers of the encoder that stay as they are, as its embeddings do."""
    longest: int = 72
    """Tokens of the longest sentence that is learnt from."""
    relation_weight: float = 0.5
    seed: int = 13


class PieceInputs:
    """Tokens to the word pieces of an encoder."""

    def __init__(self, encoder: Path) -> None:
        """Take the tokenizer of the encoder in a directory."""
        self._tokenizer = AutoTokenizer.from_pretrained(encoder)
        self.pad: int = self._tokenizer.pad_token_id
        self.ends: tuple[int, int] = (self._tokenizer.cls_token_id, self._tokenizer.sep_token_id)

    def cut(self, text: str) -> list[Span]:
        """Return the tokens, `LONGEST` of them at most."""
        return token_spans(text, LONGEST)

    def encode(self, units: Sequence[str]) -> Ids:
        """Return the first pieces of each token, one row per token, filled up with padding."""
        rows = np.full((len(units), _PIECES), self.pad, dtype=np.int64)
        if units:
            pieces = self._tokenizer(list(units), add_special_tokens=False)["input_ids"]
            for row, found in zip(rows, pieces, strict=True):
                row[: len(found)] = found[:_PIECES]
        return rows


class TeacherNetwork(ParserHeads):
    """An encoder that sees one vector per token: the mean of its pieces."""

    def __init__(self, encoder: Path, inputs: PieceInputs, *, relations: int) -> None:
        """Take the encoder in a directory, and what makes its inputs."""
        model = AutoModel.from_pretrained(encoder)
        super().__init__(
            model.config.hidden_size, relations=relations, width=_WIDTH, dropout=_DROPOUT
        )
        self.encoder = model
        self.dropout = nn.Dropout(_DROPOUT)
        self._pad, self._ends = inputs.pad, inputs.ends

    def hidden(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return a vector per token."""
        batch, longest, _ = inputs.shape
        if lengths is None:
            lengths = torch.full((batch,), longest)
        table = self.encoder.get_input_embeddings()
        real = (inputs != self._pad).unsqueeze(-1)
        words = (table(inputs) * real).sum(dim=2) / real.sum(dim=2).clamp(min=1)
        first, last = table(torch.tensor(self._ends))
        words = torch.cat([first.expand(batch, 1, -1), words, last.expand(batch, 1, -1)], dim=1)
        places = torch.arange(longest + 2)
        ending = (places == lengths.unsqueeze(1) + 1).unsqueeze(-1)
        found = self.encoder(
            inputs_embeds=torch.where(ending, last, words),
            attention_mask=(places < lengths.unsqueeze(1) + 2).long(),
        ).last_hidden_state
        kept: Tensor = self.dropout(found[:, 1:-1])
        return kept


@attrs.frozen(eq=False)
class Teacher:
    """A trained teacher."""

    network: TeacherNetwork
    inputs: PieceInputs
    labels: tuple[str, ...]
    """The relations in the order of their numbers."""
    encoder: str
    """Name of the encoder's directory."""
    decisions: Decisions
    """On the development part, which chose the epoch."""


def train_teacher(
    settings: TeacherSettings,
    training: Sequence[Sentence],
    development: Sequence[Sentence],
    *,
    encoder: Path,
    progress: bool = True,
) -> Teacher:
    """Let an encoder learn from a treebank; keep the best epoch on `development` (macro-F1)."""
    torch.manual_seed(settings.seed)
    labels = relations(training)
    inputs = PieceInputs(encoder)
    maker = ExampleMaker(inputs, labels)
    network = TeacherNetwork(encoder, inputs, relations=len(labels))
    steps = Steps(
        network,
        _groups(network, settings),
        steps=-(-len(training) // settings.batch_size) * settings.epochs,
        warm_up=_WARM_UP,
        relation_weight=settings.relation_weight,
    )
    judged = examples_of(development, maker)
    best: tuple[Decisions, dict[str, Tensor]] | None = None
    bar = tqdm(range(settings.epochs), desc="epochs of the teacher", disable=not progress)
    for epoch in bar:
        chance = random.Random(f"{settings.seed} {epoch}")
        made = examples_of((chatty(s, chance) for s in training), maker)
        fitting = [example for example in made if len(example.inputs) <= settings.longest]
        for batch in batches(fitting, settings.batch_size, chance):
            steps.step(batch)
        found = judge(network, judged)
        bar.set_postfix(macro_f1=f"{found.macro_f1:.3f}", accuracy=f"{found.accuracy:.3f}")
        if best is None or found.macro_f1 > best[0].macro_f1:
            best = found, {k: v.clone() for k, v in network.state_dict().items()}
    assert best is not None  # there is at least one epoch
    network.load_state_dict(best[1])
    return Teacher(network.eval(), inputs, labels, encoder.name, best[0])


def save_teacher(teacher: Teacher, out: Path) -> None:
    """Write a teacher into a directory."""
    out.mkdir(parents=True, exist_ok=True)
    counts = [(*pair, count) for pair, count in teacher.decisions.counts.items()]
    stored = {
        "labels": list(teacher.labels),
        "encoder": teacher.encoder,
        "counts": counts,
        "weights": teacher.network.state_dict(),
    }
    torch.save(stored, out / TEACHER_FILE)


def load_teacher(directory: Path, encoder: Path) -> Teacher:
    """Read a teacher that was made of the encoder in a directory.

    Raises:
        InvalidArgumentError: There is none, or it was made of another encoder.
    """
    file = directory / TEACHER_FILE
    if not file.is_file():
        raise InvalidArgumentError(f"there is no {file}; queen parser teach writes one")
    stored = torch.load(file, weights_only=True)
    if stored["encoder"] != encoder.name:
        raise InvalidArgumentError(
            f"{file} was made of the encoder {stored['encoder']}, got {encoder.name}"
        )
    inputs = PieceInputs(encoder)
    network = TeacherNetwork(encoder, inputs, relations=len(stored["labels"]))
    network.load_state_dict(stored["weights"])
    decisions = Decisions({(gold, found): n for gold, found, n in stored["counts"]})
    return Teacher(network.eval(), inputs, tuple(stored["labels"]), encoder.name, decisions)


def _groups(
    network: TeacherNetwork, settings: TeacherSettings
) -> list[tuple[list[nn.Parameter], float]]:
    """Freeze what stays as it is, and return the rest with its learning rates."""
    lower = network.encoder.encoder.layer[: settings.frozen_layers]
    for part in (network.encoder.embeddings, *lower):
        part.requires_grad_(False)
    own = [p for p in network.encoder.parameters() if p.requires_grad]
    known = {id(p) for p in network.encoder.parameters()}
    heads = [p for p in network.parameters() if id(p) not in known]
    return [(own, settings.learning_rate), (heads, settings.heads_learning_rate)]
