"""Judging a network on held-out examples: its thresholds, its confidence, and how it does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import torch

from queen_sdk.bundle import Bundle, Manifest, write_with_card
from queen_sdk.confidence import ConfidenceSettings
from queen_sdk.data.examples import Example
from queen_sdk.decoding import DecodingSettings, Scores, decode
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.features import EncodedBatch, FeatureBuilder
from queen_sdk.model import Model
from queen_sdk.pipeline import Pipeline
from queen_sdk.training.averaging import last_weights
from queen_sdk.training.batches import as_tensors
from queen_sdk.training.preparation import (
    TrainingExample,
    augment,
    build_pipeline,
    prepare,
    sample_of_each,
)
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.selection import (
    Score,
    Selected,
    evaluate_thresholds,
    fit_confidence,
    score_examples,
    select_thresholds,
)
from queen_sdk.training.settings import LEAST_UNTOUCHED, Precision, TrainSettings
from queen_sdk.training.starting import average_with
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
    plain = attrs.evolve(settings, omissions={}, distractor_share=0.0, long_share=0.0)
    judging = attrs.evolve(plain, complete_share=1.0)
    chosen = augment(sample_of_each(held_out, settings), judging)
    return prepare(chosen, pipeline, hopeless=True)


def judge(
    score: Score,
    judged: Sequence[TrainingExample],
    builder: FeatureBuilder,
    settings: TrainSettings,
    *,
    batch_size: int = 32,
    kept: Selected | None = None,
) -> Judgement:
    """Choose thresholds, unless those of an earlier choice are kept, and fit the confidence."""
    language, asked = settings.language, settings.least_untouched
    scored = score_examples(judged, score, builder, language, batch_size=batch_size)
    if kept is None:
        selected = select_thresholds(scored, language, least_untouched=asked)
    else:
        found = evaluate_thresholds(scored, kept.decoding, language)
        selected = attrs.evolve(found, asked=kept.asked)
    return Judgement(selected, fit_confidence(scored, selected.decoding, language))


def torch_score(
    model: torch.nn.Module, precision: Precision = "float32"
) -> Callable[[EncodedBatch], Scores]:
    """Return a function that scores a batch with a torch model, in evaluation mode."""

    def score(batch: EncodedBatch) -> Scores:
        model.eval()
        device = next(model.parameters()).device
        inputs = {name: tensor.to(device) for name, tensor in as_tensors(batch).items()}
        with torch.inference_mode(), products_in(precision, device):
            scores: Scores = model(**inputs).float().cpu().numpy()
        return scores

    return score


def products_in(precision: Precision, device: torch.device) -> torch.autocast:
    """Return a context in which a network computes its products in a precision."""
    half = precision == "bfloat16"
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=half)


def save_judgement(run: Path, judgement: Judgement, epoch: int) -> None:
    """Keep beside the best weights of a run how they did."""
    fields = {"epoch": epoch, **attrs.asdict(judgement)}
    (run / _BEST / _FILE).write_text(json.dumps(fields, indent=2), encoding="utf-8")


def load_selected(run: Path) -> Selected:
    """Read how the best epoch of a run did."""
    fields = json.loads((run / _BEST / _FILE).read_text(encoding="utf-8"))["selected"]
    return Selected(**{**fields, "decoding": DecodingSettings(**fields["decoding"])})


def select_again(
    run: Path,
    held_out: Sequence[Example],
    settings: TrainSettings,
    *,
    only_confidence: bool = False,
    last: bool = False,
    mean_with: Sequence[str] = (),
) -> Selected:
    """Judge the best epoch of a finished run again, with the rules as they are now.

    With `last`, that of the last epoch takes its place; with `mean_with`, the mean of its weights
    and those of other runs or bundles.
    """
    pipeline = build_pipeline(run / "tokenizer.json", settings, load_vocabulary(run))
    judged = judged_examples(held_out, settings, pipeline)
    model = QueenScorer.from_pretrained(run / _BEST)
    epoch = json.loads((run / _BEST / _FILE).read_text(encoding="utf-8"))["epoch"]
    if last:
        epoch, weights = last_weights(run)
        model.load_state_dict(weights)
    if mean_with:
        average_with(model, mean_with)
    score = torch_score(model)
    kept = load_selected(run) if only_confidence else None
    judgement = judge(score, judged, pipeline.builder, settings, kept=kept)
    if last or mean_with:
        model.save_pretrained(run / _BEST)
    save_judgement(run, judgement, epoch)
    return judgement.selected


def select_for_bundle(
    bundle: Bundle,
    held_out: Sequence[Example],
    settings: TrainSettings,
    *,
    only_confidence: bool = False,
) -> Selected:
    """Judge a bundle by the graph that serves it, and write what it says into the manifest.

    What the manifest has of evaluations goes: it was measured with other thresholds or another
    confidence.
    """
    manifest = bundle.manifest
    model = Model(bundle, precision=None, providers=["cpu"], threads=None, decoder=decode)
    judged = judged_examples(held_out, settings, model.pipeline)
    size = 1 if model.precision == "int8" else 32  # as the model serves it
    builder = model.pipeline.builder
    kept = _chosen_before(manifest) if only_confidence else None
    judgement = judge(model.scorer.run, judged, builder, settings, batch_size=size, kept=kept)
    other = {name: figures for name, figures in manifest.scores.items() if name != "evaluation"}
    manifest = attrs.evolve(
        manifest,
        decoding=judgement.selected.decoding,
        confidence=judgement.confidence,
        scores={**other, "selection": attrs.asdict(judgement.selected)},
    )
    write_with_card(bundle.directory, manifest, manifest.files)
    return judgement.selected


def _chosen_before(manifest: Manifest) -> Selected:
    """Return the thresholds of a bundle with what was asked of them; how they did is left open."""
    asked = manifest.scores.get("selection", {}).get("asked", LEAST_UNTOUCHED)
    return Selected(manifest.decoding, math.nan, math.nan, math.nan, asked)


def settings_of(bundle: Bundle) -> TrainSettings:
    """Return the settings that a bundle was trained with.

    Raises:
        InvalidArgumentError: Its manifest does not have them.
    """
    fields = bundle.manifest.training.get("settings", {})
    known = {name: fields[name] for name in attrs.fields_dict(TrainSettings) if name in fields}
    try:
        return TrainSettings(**{**known, "data": tuple(known["data"])})
    except (KeyError, TypeError) as error:
        raise InvalidArgumentError(
            f"the manifest of {bundle.directory} does not say how it was trained ({error})"
        ) from error
