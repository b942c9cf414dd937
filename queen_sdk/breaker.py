"""A circuit breaker: after repeated failures, calls are not even tried for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from queen_sdk.forking import survives_fork
from queen_sdk.options import at_least_one, positive_seconds


class CircuitBreaker:
    """Opens after failures in a row; after the cool-down one call at a time tries again."""

    def __init__(
        self,
        *,
        max_failures: int = 5,
        cool_down: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start closed; `cool_down` is in seconds."""
        self._max_failures = at_least_one("max_failures", max_failures)
        self._cool_down = positive_seconds("cool_down", cool_down)
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened: float | None = None
        self._trying = False
        survives_fork(self)

    @property
    def open(self) -> bool:
        """Whether calls are being turned away, but for those that try whether it works again."""
        return self._opened is not None

    def permits(self) -> bool:
        """Say whether a call may be made; if so, tell what came of it by one of the methods."""
        with self._lock:
            if self._opened is None:
                return True
            if self._trying or self._clock() - self._opened < self._cool_down:
                return False
            self._trying = True
            return True

    def succeeded(self) -> None:
        """The call worked: close."""
        with self._lock:
            self._failures, self._opened, self._trying = 0, None, False

    def failed(self) -> None:
        """The call failed: open, if it was one too many or the try after a cool-down."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._max_failures:
                self._opened = self._clock()
            self._trying = False

    def told_nothing(self) -> None:
        """The call was given up for a reason that says nothing about the model."""
        with self._lock:
            self._trying = False
