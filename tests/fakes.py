"""Rewriters that do what a test tells them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from queen_sdk.dialogue import HistoryItem
from queen_sdk.testing import FakeRewriter
from queen_sdk.values import RewriteResult

__all__ = ["BatchRewriter", "FakeRewriter", "Gate", "fail"]


class BatchRewriter(FakeRewriter):
    """One that can also take several at once, and notes how many."""

    def __init__(self, act: Callable[[str], None] = lambda utterance: None) -> None:
        super().__init__(act)
        self.batches: list[int] = []

    def rewrite_batch(
        self,
        dialogues: Sequence[tuple[Sequence[HistoryItem], str]],
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        batch_size: int = 32,
    ) -> list[RewriteResult]:
        self.batches.append(len(dialogues))
        return [
            self.rewrite(
                history,
                utterance,
                threshold=threshold,
                min_confidence=min_confidence,
                protect=protect,
            )
            for history, utterance in dialogues
        ]


class Gate:
    """Holds calls back until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.waiting = 0

    def __call__(self, utterance: str) -> None:
        self.waiting += 1
        assert self.opened.wait(30)

    def wait_for(self, callers: int) -> None:
        """Return when so many calls are being held back."""
        ends = time.monotonic() + 30
        while self.waiting < callers:
            assert time.monotonic() < ends
            time.sleep(0.001)


def fail(utterance: str) -> None:
    """Fail as a model does."""
    raise RuntimeError(f"the model choked on {utterance}")
