"""What the threads of a micro-batcher do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from queen_sdk.asking import Rewrites, ask
from queen_sdk.cache import ResultCache, dialogue_digest
from queen_sdk.options import CallOptions
from queen_sdk.values import RewriteResult
from queen_sdk.waiting import FairQueue, Job


def work(
    queue: FairQueue,
    rewriter: Rewrites,
    cache: ResultCache | None,
    *,
    max_batch: int,
    max_wait: float,
) -> None:
    """Take jobs and run them until the queue is closed and empty."""
    while jobs := queue.take(max_batch, max_wait):
        groups: dict[CallOptions, list[Job]] = {}
        for job in jobs:
            if job.begin():
                groups.setdefault(job.options, []).append(job)
        for options, group in groups.items():
            if len(group) > 1 and _run_together(group, options, rewriter, cache):
                continue
            for job in group:
                _run_alone(job, rewriter, cache)


def _run_together(
    jobs: Sequence[Job], options: CallOptions, rewriter: Rewrites, cache: ResultCache | None
) -> bool:
    """Say whether it worked; if not, one of the jobs is at fault and the others are not."""
    together: Any = getattr(rewriter, "rewrite_batch", None)
    if together is None:
        return False
    try:
        results = together(
            [(job.turns, job.utterance) for job in jobs],
            batch_size=len(jobs),
            **attrs.asdict(options, recurse=False),
        )
    except Exception:
        return False
    for job, result in zip(jobs, results, strict=True):
        _finish(job, result, cache)
    return True


def _run_alone(job: Job, rewriter: Rewrites, cache: ResultCache | None) -> None:
    try:
        result = ask(rewriter, job.turns, job.utterance, job.options)
    except BaseException as error:
        job.deliver(error)
    else:
        _finish(job, result, cache)


def _finish(job: Job, result: RewriteResult, cache: ResultCache | None) -> None:
    if cache is not None:
        result = cache.add(dialogue_digest(job.turns, job.utterance, job.options), result)
    job.deliver(result)
