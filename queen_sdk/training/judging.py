"""Judging a network on held-out examples: its thresholds, its confidence, and how it does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import torch

from queen_sdk.confidence import ConfidenceSettings
from queen_sdk.data.examples import Example
from queen_sdk.decoding import DecodingSettings, Scores
from queen_sdk.features import EncodedBatch, FeatureBuilder
from queen_sdk.pipeline import Pipeline
from queen_sdk.training.batches import as_tensors
from queen_sdk.training.preparation import (
    TrainingExample,
    augment,
    build_pipeline,
    prepare,
    sample_of_each,
)
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.selection import Selected, fit_confidence, score_examples, select_thresholds
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.vocabulary import load_vocabulary

_BEST = "best"
_FILE = "selected.json"


@attrs.frozen
class Judgement:
    """What held-out examples say of a network."""

    selected: Selected
    confidence: ConfidenceSettings


def judged_examples(
    held_out: Sequence[Example], settings: TrainSettings, pipeline: Pipeline
) -> list[TrainingExample]:
    """Encode what a network is judged by.

    As many complete utterances as others, since restraint counts as much as rewriting; and what no
    edit can rebuild too, since users will say such things.
    """
    judging = attrs.evolve(settings, distractor_share=0.0, long_share=0.0, complete_share=1.0)
    chosen = augment(sample_of_each(held_out, settings), judging)
    return prepare(chosen, pipeline, hopeless=True)


def judge(
    model: torch.nn.Module,
    judged: Sequence[TrainingExample],
    builder: FeatureBuilder,
    language: str,
) -> Judgement:
    """Choose thresholds and fit the confidence."""
    scored = score_examples(judged, torch_score(model), builder, language)
    selected = select_thresholds(scored, language)
    return Judgement(selected, fit_confidence(scored, selected.decoding, language))


def torch_score(model: torch.nn.Module) -> Callable[[EncodedBatch], Scores]:
    """Return a function that scores a batch with a torch model, in evaluation mode."""

    def score(batch: EncodedBatch) -> Scores:
        model.eval()
        device = next(model.parameters()).device
        inputs = {name: tensor.to(device) for name, tensor in as_tensors(batch).items()}
        with torch.inference_mode():
            scores: Scores = model(**inputs).float().cpu().numpy()
        return scores

    return score


def save_judgement(run: Path, judgement: Judgement, epoch: int) -> None:
    """Keep beside the best weights of a run how they did."""
    fields = {"epoch": epoch, **attrs.asdict(judgement)}
    (run / _BEST / _FILE).write_text(json.dumps(fields, indent=2), encoding="utf-8")


def load_selected(run: Path) -> Selected:
    """Read how the best epoch of a run did."""
    fields = json.loads((run / _BEST / _FILE).read_text(encoding="utf-8"))["selected"]
    return Selected(**{**fields, "decoding": DecodingSettings(**fields["decoding"])})


def select_again(run: Path, held_out: Sequence[Example], *, most_judged: int | None) -> Selected:
    """Judge the best epoch of a finished run again, with the rules as they are now."""
    settings = TrainSettings.load(run / "settings.json")
    if most_judged is not None:
        settings = attrs.evolve(settings, most_judged=most_judged)
    pipeline = build_pipeline(run / "tokenizer.json", settings, load_vocabulary(run))
    judged = judged_examples(held_out, settings, pipeline)
    model = QueenScorer.from_pretrained(run / _BEST)
    judgement = judge(model, judged, pipeline.builder, settings.language)
    epoch = json.loads((run / _BEST / _FILE).read_text(encoding="utf-8"))["epoch"]
    save_judgement(run, judgement, epoch)
    return judgement.selected
