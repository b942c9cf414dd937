"""Rewriters that do what a test tells them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from queen_sdk.dialogue import HistoryItem, read_history
from queen_sdk.values import Edit, RewriteResult, Source, Turn

Call = tuple[tuple[Turn, ...], str]


class FakeRewriter:
    """Puts the last turn of the history behind the utterance; remembers its calls."""

    def __init__(self, act: Callable[[str], None] = lambda utterance: None) -> None:
        """Take what to do in every call: raise, wait."""
        self.act = act
        self.calls: list[Call] = []
        self.options: list[tuple[float | None, float, tuple[str, ...]]] = []
        self.threads: set[int] = set()

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        turns = read_history(history)
        self.calls.append((turns, utterance))
        self.options.append((threshold, min_confidence, tuple(protect)))
        self.threads.add(threading.get_ident())
        self.act(utterance)
        if not turns:
            return RewriteResult(utterance, original=utterance, skip_reason="no_history")
        text, end = turns[-1].text, len(utterance)
        source = Source(len(turns) - 1, start=0, end=len(text), text=text)
        edit = Edit("insert", start=end, end=end, text=f" {text}", sources=(source,), score=1.0)
        return RewriteResult(
            f"{utterance} {text}", original=utterance, edits=(edit,), confidence=0.9
        )


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
