"""The training loop: from corpora and an encoder to selected weights in a run directory.

A run directory holds `settings.json`, `held_out.json`, `origin.json`, `vocabulary.json`,
`tokenizer.json`, `log.csv`, `curve.png`, `checkpoint/` (to resume from) and `best/` (weights and
thresholds of the best epoch).
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import attrs
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import Tensor
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import get_linear_schedule_with_warmup

from queen_sdk.data.examples import Example
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.pipeline import Pipeline
from queen_sdk.training.attending import attend_plainly
from queen_sdk.training.averaging import MeanWeights
from queen_sdk.training.batches import Batch, ExampleDataset, LengthSampler, collate
from queen_sdk.training.curve import draw_curve
from queen_sdk.training.dropping import drop_quickly
from queen_sdk.training.exchanging import exchanged
from queen_sdk.training.judging import (
    judge,
    judged_examples,
    load_selected,
    products_in,
    save_judgement,
    torch_score,
)
from queen_sdk.training.loss import circle_loss, ends_lesson_loss, ends_loss, lesson_loss
from queen_sdk.training.preparation import (
    TrainingExample,
    augment,
    build_pipeline,
    prepare,
    without_labels,
    worth_training,
)
from queen_sdk.training.scorer import QueenScorer
from queen_sdk.training.sealing import seal_parser
from queen_sdk.training.selection import Selected, merit
from queen_sdk.training.settings import TrainSettings
from queen_sdk.training.starting import Start, note_held_out, start
from queen_sdk.training.teaching import taught
from queen_sdk.training.vocabulary import run_vocabulary

_LOG_FIELDS = ("epoch", "step", "seconds", "loss", "exact_match", "incomplete", "untouched")


def train(
    settings: TrainSettings,
    training: Sequence[Example],
    held_out: Sequence[Example],
    run: Path,
    *,
    checkpoint_seconds: float = 180.0,
    progress: bool = True,
) -> Selected:
    """Train a scorer, or go on where `run` left off; return how the best epoch did.

    `held_out` chooses epoch, thresholds and confidence and must not be trained on.
    """
    run.mkdir(parents=True, exist_ok=True)
    _remember(settings, run)
    note_held_out(run, held_out)
    set_seed(settings.seed)
    begun = _begin(settings, run)
    vocabulary = run_vocabulary(run, training, settings, begun.vocabulary)
    pipeline = build_pipeline(run / "tokenizer.json", settings, vocabulary)
    examples = worth_training(prepare(augment(training, settings), pipeline), settings)
    if not examples:
        raise InvalidArgumentError(
            f"none of {len(training)} examples is left to train on; see more word pieces "
            f"(max_length is {settings.max_length}) or allow examples that cannot be rebuilt"
        )
    if settings.exchange_share:
        examples = exchanged(examples, settings, pipeline)
    if settings.teacher is not None:
        examples += without_labels(training, settings, pipeline)
        examples = taught(examples, settings, run, progress=progress)
    judged = judged_examples(held_out, settings, pipeline)
    loop = _Loop(settings, begun.model, pipeline, examples, judged, run, progress=progress)
    loop.go(checkpoint_seconds)
    return load_selected(run)


def _remember(settings: TrainSettings, run: Path) -> None:
    file = run / "settings.json"
    if file.exists():
        before = TrainSettings.load(file)
        if attrs.evolve(before, **settings.places) != settings:
            raise InvalidArgumentError(
                f"{run} was started with other settings ({file}); resume with those, "
                "or choose another directory"
            )
    else:
        settings.save(file)
    seal_parser(settings, run)


def _begin(settings: TrainSettings, run: Path) -> Start:
    """Open what the run starts from, and keep what serving needs of it."""
    begun = start(settings)
    begun.tokenizer.save(str(run / "tokenizer.json"))
    (run / "origin.json").write_text(
        json.dumps(begun.origin, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return begun


def _optimizer(model: QueenScorer, settings: TrainSettings) -> torch.optim.Optimizer:
    """Return what updates all that learns, the parts on top of the encoder faster."""
    head = {id(p) for p in model.head_parameters()}
    learning = [p for p in model.parameters() if p.requires_grad]
    rate = settings.learning_rate
    groups = (
        {"params": [p for p in learning if id(p) not in head], "lr": rate},
        {"params": [p for p in learning if id(p) in head], "lr": rate * settings.head_rate},
    )
    return torch.optim.AdamW(
        [group for group in groups if group["params"]], weight_decay=0.01, fused=True
    )


def _rows_of(batch: Batch) -> Tensor:
    """Tell which cells of either operation are none of padding."""
    return batch.valid.any(dim=1, keepdim=True)


class _Loop:
    """The moving parts of one run."""

    def __init__(
        self,
        settings: TrainSettings,
        model: QueenScorer,
        pipeline: Pipeline,
        examples: Sequence[TrainingExample],
        judged: Sequence[TrainingExample],
        run: Path,
        *,
        progress: bool,
    ) -> None:
        self._settings, self._pipeline, self._run = settings, pipeline, run
        self._judged, self._progress = judged, progress
        self._dataset = ExampleDataset(examples, gold_share=settings.gold_share, seed=settings.seed)
        self._sampler = LengthSampler(
            [len(e.features.input_ids) for e in examples],
            batch_size=settings.batch_size,
            seed=settings.seed,
        )
        loader = DataLoader(
            self._dataset,
            batch_sampler=self._sampler,
            collate_fn=partial(collate, builder=pipeline.builder),
        )
        model.freeze(settings.frozen_layers)
        if settings.only_ends:
            model.requires_grad_(False).ends.requires_grad_(True)
        optimizer = _optimizer(model, settings)
        steps = len(self._sampler) * settings.epochs
        schedule = get_linear_schedule_with_warmup(
            optimizer, round(steps * settings.warm_up), steps
        )
        self._accelerator = Accelerator()
        if self._accelerator.device.type == "cpu":
            drop_quickly(model)
        self._model, self._optimizer, self._loader, self._schedule = self._accelerator.prepare(
            model, optimizer, loader, schedule
        )
        self._mean = MeanWeights(self._accelerator.unwrap_model(self._model), settings.mean_kept)
        if self._accelerator.device.type == "cpu" and settings.precision == "bfloat16":
            attend_plainly(model)  # behind the copy, which is judged as any saved model is
        self._accelerator.register_for_checkpointing(self._mean)
        self._epoch, self._step, self._seconds = 0, 0, 0.0
        self._best: tuple[float, ...] = (-math.inf, 0.0)
        if (run / "checkpoint" / "place.json").exists():
            self._resume()

    def go(self, checkpoint_seconds: float) -> None:
        """Train to the end."""
        per_epoch = len(self._sampler)
        saved = time.monotonic()
        while self._epoch < self._settings.epochs:
            self._dataset.epoch = self._sampler.epoch = self._epoch
            losses: list[float] = []
            started = time.monotonic()
            self._model.train()
            for batch in self._batches(self._step):
                losses.append(self._update(batch))
                self._step += 1
                if time.monotonic() - saved > checkpoint_seconds and self._step < per_epoch:
                    self._seconds += time.monotonic() - started
                    started = time.monotonic()
                    self._checkpoint()
                    saved = time.monotonic()
            self._seconds += time.monotonic() - started
            self._finish_epoch(sum(losses) / max(len(losses), 1))
            saved = time.monotonic()

    def _batches(self, skip: int) -> Iterator[Batch]:
        loader = self._loader
        if skip:
            loader = self._accelerator.skip_first_batches(loader, skip)
        bar = tqdm(
            loader,
            desc=f"epoch {self._epoch + 1}/{self._settings.epochs}",
            initial=skip,
            total=len(self._sampler),
            disable=not (self._progress and self._accelerator.is_local_main_process),
            mininterval=5.0,
        )
        yield from bar

    def _update(self, batch: Batch) -> float:
        with self._accelerator.accumulate(self._model):
            planes = self._planes(batch)
            loss = self._loss(planes, batch)
            if self._settings.agreement_weight:
                again = self._planes(batch)  # other parts are dropped out
                apart = self._apart(planes, again, batch) + self._apart(again, planes, batch)
                loss = (loss + self._loss(again, batch)) / 2
                loss = loss + self._settings.agreement_weight * apart / 2
            self._accelerator.backward(loss)
            self._accelerator.clip_grad_norm_(self._model.parameters(), self._settings.clip)
            self._optimizer.step()
            self._schedule.step()
            self._optimizer.zero_grad()
        self._mean.add(self._accelerator.unwrap_model(self._model))
        return float(loss.detach())

    def _planes(self, batch: Batch) -> Tensor:
        with products_in(self._settings.precision, self._accelerator.device):
            planes: Tensor = self._model(**batch.inputs)
        return planes.float()

    def _loss(self, planes: Tensor, batch: Batch) -> Tensor:
        ends = planes[:, 2:]
        loss = circle_loss(planes[:, :2], batch.positive, batch.valid)
        if self._settings.ends_weight:
            rows = _rows_of(batch).expand_as(ends)
            loss = loss + self._settings.ends_weight * ends_loss(ends, batch.ends, rows)
        if batch.lessons is not None:
            loss = loss + self._settings.teacher_weight * self._distance(planes, batch.lessons)
        return loss

    def _apart(self, planes: Tensor, others: Tensor, batch: Batch) -> Tensor:
        """Return how far a pass is from another one of the same batch, which teaches it."""
        known = torch.cat((batch.valid, _rows_of(batch).expand_as(planes[:, 2:])), dim=1)
        return self._distance(planes, torch.where(known, others.detach(), torch.nan))

    def _distance(self, planes: Tensor, lessons: Tensor) -> Tensor:
        copies = (lessons[:, :2] > 0).any(dim=2).any(dim=1)
        ends = ends_lesson_loss(planes[:, 2:], lessons[:, 2:], copies)
        return lesson_loss(planes[:, :2], lessons[:, :2]) + self._settings.ends_weight * ends

    def _finish_epoch(self, loss: float) -> None:
        self._epoch, self._step = self._epoch + 1, 0
        if self._accelerator.is_main_process:
            selected = self._judge()
            self._log(loss, selected)
        self._accelerator.wait_for_everyone()
        self._checkpoint()

    def _judge(self) -> Selected:
        model = self._mean.model
        builder = self._pipeline.builder
        judgement = judge(torch_score(model), self._judged, builder, self._settings)
        selected = judgement.selected
        if merit(selected) > self._best:
            self._best = merit(selected)
            model.save_pretrained(self._run / "best")
            save_judgement(self._run, judgement, self._epoch)
        return selected

    def _log(self, loss: float, selected: Selected) -> None:
        file = self._run / "log.csv"
        new = not file.exists()
        with file.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            if new:
                writer.writerow(_LOG_FIELDS)
            figures = (loss, selected.exact_match, selected.incomplete_exact_match)
            writer.writerow(
                (
                    self._epoch,
                    self._epoch * len(self._sampler),
                    round(self._seconds),
                    *(round(figure, 4) for figure in figures),
                    round(selected.untouched, 2),
                )
            )
        draw_curve(file, self._run / "curve.png")

    def _checkpoint(self) -> None:
        """Save everything beside the old checkpoint, then swap, so that one is always whole."""
        fresh = self._run / "checkpoint.new"
        self._accelerator.save_state(str(fresh))
        if self._accelerator.is_main_process:
            place = {
                "epoch": self._epoch,
                "step": self._step,
                "best": self._best,
                "seconds": self._seconds,
            }
            (fresh / "place.json").write_text(json.dumps(place), encoding="utf-8")
            old = self._run / "checkpoint"
            shutil.rmtree(old, ignore_errors=True)
            fresh.rename(old)
        self._accelerator.wait_for_everyone()

    def _resume(self) -> None:
        folder = self._run / "checkpoint"
        self._accelerator.load_state(str(folder))
        place = json.loads((folder / "place.json").read_text(encoding="utf-8"))
        self._epoch, self._step = place["epoch"], place["step"]
        self._seconds = place["seconds"]
        self._best = tuple(place["best"])
