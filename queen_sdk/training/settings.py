"""Everything that decides the outcome of a training run, kept beside its weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.template import TemplateSettings

Ablation = Literal["none", "no-query", "no-coref", "no-ellipsis"]
"""A part of the query template that is left out, as in the paper's ablations."""

SelectOn = Literal["train-split", "eval"]
"""What model and thresholds are chosen on: examples carved from training, or the paper's way."""

Precision = Literal["float32", "bfloat16"]
"""bfloat16 is faster on processors that have it (AVX512-BF16, most GPUs)."""

LEAST_UNTOUCHED = 97.5
"""Percent of complete held-out utterances that is asked for unless told otherwise: changing what is
right is worse than missing an edit, and what models were not chosen on has shown less restraint."""


@attrs.frozen(kw_only=True)
class TrainSettings:
    """The settings of one run."""

    data: tuple[str, ...]
    """Names of the corpora, as `queen_sdk.data.readers.CORPORA` has them."""
    repeats: Mapping[str, float] = attrs.field(factory=dict)
    """How often the examples of a corpus come in one pass, where that is not once; 0.5 takes half
    of them."""
    complete_repeats: Mapping[str, float] = attrs.field(factory=dict)
    """The same for the complete utterances of a corpus alone, on top of that: they are to teach
    restraint on texts of its kind."""
    omissions: Mapping[str, float] = attrs.field(factory=dict)
    """Turns of the histories of a corpus that repeat a phrase, for each of its examples: they are
    given without it, to be completed, and as they were said, to be left alone."""
    language: str
    """Language of the model."""
    encoder: str | None = None
    """Directory of the pretrained encoder; only its name is kept in bundles."""
    init: str | None = None
    """A bundle, by name or directory, or a run to start from, in the place of an encoder."""
    mean_with: str | None = None
    """A second run or bundle of the same beginnings: the start is the mean of both weights."""
    teacher: str | None = None
    """A run whose scores are soft targets beside the gold cells."""
    teacher_weight: float = attrs.field(default=1.0, validator=attrs.validators.ge(0))
    """Of the distance to the teacher's scores, beside the loss on the gold cells."""
    unlabelled_share: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    """Turns of the histories that are given as utterances of which only the teacher knows what is
    to be done, as a share of the examples."""
    agreement_weight: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    """Of the distance between two passes over each batch with other parts dropped out, beside the
    loss on the gold cells (R-drop); a step takes twice as long."""
    ends_weight: float = attrs.field(default=0.5, validator=attrs.validators.ge(0))
    """Of finding where what is copied begins and ends, beside the loss on the gold cells."""
    only_ends: bool = False
    """Learn nothing but that: quick, for a model of an older release."""
    frozen_layers: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    """Lowest layers of the encoder that keep their weights, and its embeddings with them: a step of
    a large encoder takes less time and memory."""
    epochs: int = attrs.field(default=6, validator=attrs.validators.ge(1))
    batch_size: int = attrs.field(default=32, validator=attrs.validators.ge(1))
    learning_rate: float = 1.5e-4
    head_rate: float = 4.0
    """The projections learn this many times faster than the encoder."""
    warm_up: float = 0.06
    """Share of the steps in which the rate rises; then it falls in a line to zero."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    dropout: float = 0.1
    precision: Precision = attrs.field(
        default="float32", validator=attrs.validators.in_(("float32", "bfloat16"))
    )
    """Of the products inside the network while it learns; weights and judging are float32."""
    seed: int = 13
    max_length: int = attrs.field(default=256, validator=attrs.validators.ge(32))
    """Word pieces that the model sees at most, in training as in serving: beyond the lengths that
    it has learnt it goes astray."""
    complete_share: float = 0.2
    """References that are given as utterances of their own, as a share of the examples."""
    distractor_share: float = 0.15
    """Examples that get a few turns of other dialogues put in front of theirs."""
    long_share: float = 0.1
    """Examples that get so many that the window is full, as it is in a long conversation."""
    exchange_share: float = attrs.field(
        default=0.0, validator=(attrs.validators.ge(0), attrs.validators.le(1))
    )
    """Examples in which other words stand in the place of those that are copied."""
    gold_share: float = 0.5
    """Examples whose coreference marks are the gold ones; the others take the collection's."""
    extra_words: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(0))
    )
    """How many function words the model may add, mined where it has fewer; None for six, or for
    those of the model that the run starts from."""
    held_out: float = 0.05
    """Share of the dialogues carved from training to choose model and thresholds."""
    select_on: SelectOn = attrs.field(
        default="train-split", validator=attrs.validators.in_(("train-split", "eval"))
    )
    ablate: Ablation = attrs.field(
        default="none",
        validator=attrs.validators.in_(("none", "no-query", "no-coref", "no-ellipsis")),
    )
    marks: bool = True
    """Whether the model sees punctuation; say no for a corpus that has none, such as REWRITE."""
    opening: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    """Word pieces up to which the first turn stays in view when later ones are dropped."""
    parser: str | None = None
    """The parser of the ellipsis part: "embedded", "spacy:PIPELINE", "ltp:MODEL"; None for none."""
    limit: int | None = None
    """Read only so many training examples; None for all."""
    rebuildable: bool = False
    """Train only on examples whose reference the edits rebuild word for word."""
    most_judged: int = attrs.field(default=1_000, validator=attrs.validators.ge(1))
    """Held-out examples of one corpus that choose epoch and thresholds, at most."""
    least_untouched: float = attrs.field(
        default=LEAST_UNTOUCHED, validator=(attrs.validators.ge(0), attrs.validators.le(100))
    )
    """Percent of the complete held-out utterances that the chosen thresholds must leave alone."""
    mean_kept: float = attrs.field(
        default=0.998, validator=(attrs.validators.ge(0), attrs.validators.lt(1))
    )
    """Of the mean of the weights, at each step; the mean is what is judged and kept."""

    def __attrs_post_init__(self) -> None:
        """Check that there is exactly one thing to start from, and what is repeated."""
        if (self.encoder is None) == (self.init is None):
            raise InvalidArgumentError(
                f"a run starts from either an encoder or init, got {self.encoder!r} "
                f"and {self.init!r}"
            )
        if self.mean_with is not None and self.init is None:
            raise InvalidArgumentError(f"mean_with={self.mean_with!r} needs init, the first run")
        if self.unlabelled_share and self.teacher is None:
            raise InvalidArgumentError(
                f"unlabelled_share={self.unlabelled_share} needs a teacher, who knows what is to "
                "be done with such utterances"
            )
        for setting in ("repeats", "complete_repeats", "omissions"):
            for name, times in getattr(self, setting).items():
                if name not in self.data or not 0 < times < math.inf:
                    raise InvalidArgumentError(
                        f"{setting} must give corpora of {', '.join(self.data)} a number above 0, "
                        f"got {name}={times}"
                    )

    @property
    def places(self) -> dict[str, Any]:
        """The settings that are paths: where things are may change, and bundles keep only names."""
        names = ("encoder", "init", "mean_with", "teacher")
        return {name: getattr(self, name) for name in names}

    @property
    def template(self) -> TemplateSettings:
        """The template that the ablation leaves."""
        return TemplateSettings(
            query=self.ablate != "no-query",
            coreference=self.ablate != "no-coref",
            ellipsis=self.ablate != "no-ellipsis",
            marks=self.marks,
            opening=self.opening,
        )

    def save(self, path: Path) -> None:
        """Write the settings as JSON."""
        path.write_text(json.dumps(attrs.asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> TrainSettings:
        """Read what `save` wrote."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        try:
            return cls(**{**fields, "data": tuple(fields["data"])})
        except (TypeError, KeyError) as error:
            raise InvalidArgumentError(f"{path} does not hold training settings: {error}") from None
