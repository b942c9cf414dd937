"""Training RUN: the same readers, augmentation, batches and selection as QUEEN's, its own loss.

A run directory holds `settings.json`, `log.csv`, `checkpoint.pt` (to resume from) and `best.pt`.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import AutoTokenizer, BertModel, get_linear_schedule_with_warmup, set_seed

from baselines.run import EXTRA_WORDS, RunNetwork, run_loss
from baselines.run_examples import (
    RunExample,
    decode_run,
    gold_classes,
    prepare_run,
    rewritten_by_run,
    run_inputs,
)
from queen_sdk.data.examples import Example
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.evaluation.metric_tokens import metric_tokens
from queen_sdk.features import FeatureBuilder
from queen_sdk.pipeline import Pipeline, Prepared
from queen_sdk.rows import ExtraWords
from queen_sdk.training.batches import LengthSampler
from queen_sdk.training.preparation import augment, build_pipeline
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.vocabulary import Vocabulary

HEAD_RATE = 1e-3
"""Learning rate of everything but the encoder, as RUN has it."""
_JUDGING_BATCH = 32


def train_run(
    settings: TrainSettings,
    training: Sequence[Example],
    held_out: Sequence[Example],
    run: Path,
    *,
    checkpoint_seconds: float = 180.0,
    progress: bool = True,
) -> float:
    """Train, or go on where `run` left off; return the best exact match on `held_out`.

    The settings mean what they mean for QUEEN, those of the query aside: RUN has none.
    """
    run.mkdir(parents=True, exist_ok=True)
    _remember(settings, run / "settings.json")
    set_seed(settings.seed)
    pipeline = run_pipeline(settings, run)
    loop = _Loop(settings, pipeline, prepare_run(augment(training, settings), pipeline), run)
    judging = attrs.evolve(settings, distractor_share=0.0, long_share=0.0, complete_share=1.0)
    judged = without_gold(augment(held_out, judging), pipeline)
    loop.go(judged, checkpoint_seconds, progress=progress)
    return loop.best


def _remember(settings: TrainSettings, file: Path) -> None:
    if file.exists():
        before = attrs.evolve(TrainSettings.load(file), encoder=settings.encoder)
        if before != settings:
            raise InvalidArgumentError(
                f"{file.parent} was started with other settings ({file}); resume with those, "
                "or choose another directory"
            )
    settings.save(file)


def run_pipeline(settings: TrainSettings, run: Path) -> Pipeline:
    """Build the stages before the network: no query, and RUN's extra words."""
    tokenizer = AutoTokenizer.from_pretrained(settings.encoder).backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(run / "tokenizer.json"))
    words = ExtraWords(before=EXTRA_WORDS[settings.language])
    plain = attrs.evolve(settings, ablate="no-query", parser=None)
    return build_pipeline(run / "tokenizer.json", plain, Vocabulary(words, ()))


def without_gold(examples: Sequence[Example], pipeline: Pipeline) -> list[RunExample]:
    """Encode examples to judge a model on; one that cannot be encoded counts as copied."""
    prepared = ((e, pipeline.prepare(e.history, e.utterance)) for e in examples)
    return [RunExample(e, p.features) for e, p in prepared if isinstance(p, Prepared)]


def load_run(settings: TrainSettings, weights: Path | None = None) -> RunNetwork:
    """Build the network on its encoder, with trained weights if a file of them is given."""
    encoder = BertModel.from_pretrained(
        settings.encoder,
        add_pooling_layer=False,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
    )
    network = RunNetwork(encoder)
    if weights is not None:
        network.load_state_dict(torch.load(weights, weights_only=True))
    return network


def exact_match_of_run(
    network: RunNetwork,
    judged: Sequence[RunExample],
    builder: FeatureBuilder,
    language: str,
    *,
    progress: bool = False,
) -> float:
    """Return the percentage of rewrites that are their reference, token for token."""
    network.eval()
    ordered = sorted(judged, key=lambda example: len(example.features.input_ids))
    starts = tqdm(range(0, len(ordered), _JUDGING_BATCH), desc="judging", disable=not progress)
    right = 0
    for start in starts:
        batch = ordered[start : start + _JUDGING_BATCH]
        with torch.inference_mode():
            scores = network(**run_inputs([e.features for e in batch], builder)).numpy()
        for one, picture in zip(batch, scores, strict=True):
            text = rewritten_by_run(one.example, one.features, decode_run(picture, one.features))
            wanted = metric_tokens(one.example.reference, language)
            right += metric_tokens(text, language) == wanted
    return 100 * right / len(ordered)


class _Loop:
    """The moving parts of one run."""

    def __init__(
        self,
        settings: TrainSettings,
        pipeline: Pipeline,
        examples: Sequence[RunExample],
        run: Path,
    ) -> None:
        self._settings, self._builder, self._run = settings, pipeline.builder, run
        self._examples = examples
        self._sampler = LengthSampler(
            # The pictures cost most, so those of like size go together.
            [len(e.features.history_index) * len(e.features.utterance_index) for e in examples],
            batch_size=settings.batch_size,
            seed=settings.seed,
        )
        self._network = load_run(settings)
        self._optimizer = torch.optim.AdamW(
            [
                {"params": list(self._network.bert.parameters()), "lr": settings.learning_rate},
                {"params": self._network.head_parameters(), "lr": HEAD_RATE},
            ],
            weight_decay=0.01,
            fused=True,
        )
        steps = len(self._sampler) * settings.epochs
        self._schedule = get_linear_schedule_with_warmup(
            self._optimizer, round(steps * settings.warm_up), steps
        )
        self._epoch, self._step, self._seconds = 0, 0, 0.0
        self.best = -1.0
        if (run / "checkpoint.pt").exists():
            self._resume()

    def go(self, judged: Sequence[RunExample], every: float, *, progress: bool) -> None:
        """Train to the end, saving every so many seconds and after every epoch."""
        while self._epoch < self._settings.epochs:
            self._sampler.epoch = self._epoch
            losses = self._train_epoch(every, progress=progress)
            self._epoch, self._step = self._epoch + 1, 0
            match = exact_match_of_run(
                self._network, judged, self._builder, self._settings.language
            )
            if match > self.best:
                self.best = match
                _save(self._network.state_dict(), self._run / "best.pt")
            self._log(float(np.mean(losses)) if losses else float("nan"), match)
            self._checkpoint()

    def _train_epoch(self, every: float, *, progress: bool) -> list[float]:
        self._network.train()
        saved = started = time.monotonic()
        losses: list[float] = []
        batches = list(self._sampler)
        bar = tqdm(
            batches[self._step :],
            desc=f"RUN epoch {self._epoch + 1}/{self._settings.epochs}",
            initial=self._step,
            total=len(batches),
            disable=not progress,
            mininterval=5.0,
        )
        for indices in bar:
            losses.append(self._update([self._examples[k] for k in indices]))
            self._step += 1
            if time.monotonic() - saved > every and self._step < len(batches):
                saved = time.monotonic()
                self._seconds += saved - started
                started = saved
                self._checkpoint()
        self._seconds += time.monotonic() - started
        return losses

    def _update(self, batch: Sequence[RunExample]) -> float:
        scores = self._network(**run_inputs([e.features for e in batch], self._builder))
        loss = run_loss(scores, gold_classes(batch, scores.shape[2:]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._settings.clip)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad()
        return float(loss.detach())

    def _log(self, loss: float, match: float) -> None:
        file = self._run / "log.csv"
        new = not file.exists()
        with file.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            if new:
                writer.writerow(("epoch", "seconds", "loss", "exact_match"))
            writer.writerow((self._epoch, round(self._seconds), round(loss, 5), round(match, 2)))

    def _checkpoint(self) -> None:
        state = {
            "network": self._network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
            "random": torch.get_rng_state(),
            "place": (self._epoch, self._step, self.best, self._seconds),
        }
        _save(state, self._run / "checkpoint.pt")

    def _resume(self) -> None:
        state = torch.load(self._run / "checkpoint.pt", weights_only=True)
        self._network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["random"])
        self._epoch, self._step, self.best, self._seconds = state["place"]


def _save(state: dict[str, Any], path: Path) -> None:
    """Write beside the old file, then swap, so that one of them is always whole."""
    fresh = path.with_suffix(".new")
    torch.save(state, fresh)
    os.replace(fresh, path)
