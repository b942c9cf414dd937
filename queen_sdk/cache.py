"""Results that were asked for before."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from queen_sdk.forking import survives_fork
from queen_sdk.options import CallOptions, at_least_one
from queen_sdk.values import RewriteResult, Turn


class ResultCache:
    """Keeps the most recently used results of one rewriter; shared between threads.

    It holds digests of the dialogues, not their histories.
    """

    def __init__(self, max_results: int) -> None:
        """Start empty."""
        self._max_results = at_least_one("max_results", max_results)
        self._results: OrderedDict[bytes, RewriteResult] = OrderedDict()
        self._lock = threading.Lock()
        survives_fork(self)

    def get(self, digest: bytes) -> RewriteResult | None:
        """Return the result kept under `digest`."""
        with self._lock:
            result = self._results.get(digest)
            if result is not None:
                self._results.move_to_end(digest)
            return result

    def add(self, digest: bytes, result: RewriteResult) -> RewriteResult:
        """Keep a result; return the one kept before if another thread was faster."""
        with self._lock:
            kept = self._results.setdefault(digest, result)
            self._results.move_to_end(digest)
            while len(self._results) > self._max_results:
                self._results.popitem(last=False)
            return kept

    def __len__(self) -> int:
        """Return how many results are kept."""
        return len(self._results)


def dialogue_digest(turns: Sequence[Turn], utterance: str, options: CallOptions) -> bytes:
    """Return bytes that stand for a dialogue and how it is to be rewritten."""
    parts = [part for turn in turns for part in (turn.role, turn.text)]
    settings = (options.threshold, options.min_confidence, options.protect)
    digest = hashlib.blake2b(repr(settings).encode("utf-8", "surrogatepass"), digest_size=16)
    for part in (*parts, utterance):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return digest.digest()
