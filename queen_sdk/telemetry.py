"""What the middleware tells the outside about its calls: a log line, metrics, spans.

None of them carries what was said, unless the log is asked to.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import threading
from typing import Any, Protocol

import attrs

from queen_sdk.errors import StoreError
from queen_sdk.values import RewriteResult

_LOG = logging.getLogger("queen_sdk.middleware")
_FAILURES = frozenset({"timeout", "queue_full", "circuit_open", "error"})
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@attrs.frozen
class Event:
    """One call that went through the middleware."""

    result: RewriteResult
    """What the caller got."""
    mode: str = attrs.field(kw_only=True)
    """`replace` or `retrieval`."""
    turns: int = attrs.field(kw_only=True)
    """How many turns the history had."""
    started: float = attrs.field(kw_only=True)
    """When it began, in seconds since 1970."""
    seconds: float = attrs.field(kw_only=True)
    """How long it took, waiting included."""
    session: str | None = attrs.field(default=None, kw_only=True)
    """The session it belongs to, if it has one."""
    error: Exception | None = attrs.field(default=None, kw_only=True)
    """What the caller was spared."""

    @property
    def failed(self) -> bool:
        """Whether the utterance was passed on because something did not work."""
        return self.result.skip_reason in _FAILURES

    def fields(self) -> dict[str, Any]:
        """Return what can be logged without saying who said what."""
        result = self.result
        return {
            "changed": result.changed,
            "skip_reason": result.skip_reason,
            "mode": self.mode,
            "edits": len(result.edits),
            "confidence": result.confidence,
            "milliseconds": round(self.seconds * 1e3, 3),
            "history_turns": self.turns,
            "dropped_turns": result.dropped_turns,
            "characters": len(result.original),
            "language": result.language,
            "model": result.model,
            "error": type(self.error).__name__ if self.error is not None else None,
        }


class Observer(Protocol):
    """Is told what the middleware does; must be quick, and safe to share between threads."""

    def rewrote(self, event: Event) -> None:
        """Take note of a call."""
        ...

    def store_failed(self, error: StoreError) -> None:
        """Take note of a session store that failed, while the dialogue went on."""
        ...


class LogLine:
    """Writes one line per call to the logger `queen_sdk.middleware`: a word and JSON."""

    def __init__(self, *, text: bool = False) -> None:
        """Say whether words and session ids of users, and messages of errors, may be logged."""
        self._text = text

    def rewrote(self, event: Event) -> None:
        """Log a call: failures as warnings, the rest as information."""
        level = logging.WARNING if event.failed else logging.INFO
        if not _LOG.isEnabledFor(level):
            return
        fields = event.fields()
        if self._text:
            fields["session"] = event.session
            fields["original"], fields["text"] = event.result.original, event.result.text
            fields["message"] = None if event.error is None else str(event.error)
        self._write(level, "rewrite", fields)

    def store_failed(self, error: StoreError) -> None:
        """Log a failure of a store."""
        fields = {"error": type(error).__name__}
        if self._text:
            fields["message"] = str(error)
        self._write(logging.WARNING, "store", fields)

    def _write(self, level: int, what: str, fields: dict[str, Any]) -> None:
        _LOG.log(level, "%s %s", what, json.dumps(fields), extra={"queen": fields})


class PrometheusMetrics:
    """Counts calls by outcome and store failures, and times the calls."""

    _made: dict[int, tuple[Any, Any, Any]] = {}  # noqa: RUF012
    _making = threading.Lock()

    def __init__(self, registry: Any = None) -> None:
        """Register the metrics, once per registry; None is the process's own."""
        import prometheus_client

        registry = registry or prometheus_client.REGISTRY
        with self._making:
            if id(registry) not in self._made:
                self._made[id(registry)] = (
                    prometheus_client.Counter(
                        "queen_rewrites",
                        "Calls by outcome: changed, or why not",
                        ["outcome"],
                        registry=registry,
                    ),
                    prometheus_client.Histogram(
                        "queen_rewrite_seconds",
                        "Seconds per call, waiting included",
                        buckets=_BUCKETS,
                        registry=registry,
                    ),
                    prometheus_client.Counter(
                        "queen_store_failures",
                        "Failures of the session store",
                        ["error"],
                        registry=registry,
                    ),
                )
        self._calls, self._seconds, self._store_failures = self._made[id(registry)]

    def rewrote(self, event: Event) -> None:
        """Count and time a call."""
        self._calls.labels(outcome=event.result.skip_reason or "changed").inc()
        self._seconds.observe(event.seconds)

    def store_failed(self, error: StoreError) -> None:
        """Count a failure of a store."""
        self._store_failures.labels(error=type(error).__name__).inc()


class OpenTelemetrySpans:
    """Writes a span per call, below the span of whoever called."""

    def __init__(self, provider: Any = None) -> None:
        """Take a tracer provider; None is the process's own."""
        from opentelemetry import trace

        self._trace = trace
        self._tracer = trace.get_tracer("queen_sdk", tracer_provider=provider)

    def rewrote(self, event: Event) -> None:
        """Write the span of a call that has just ended."""
        began = round(event.started * 1e9)
        span = self._tracer.start_span("queen.rewrite", start_time=began)
        for name, value in event.fields().items():
            if value is not None:
                span.set_attribute(f"queen.{name}", value)
        if event.failed:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(end_time=began + round(event.seconds * 1e9))

    def store_failed(self, error: StoreError) -> None:
        """Add an event to the caller's span."""
        self._trace.get_current_span().add_event(
            "queen.store_failed", {"queen.error": type(error).__name__}
        )


def installed_observers() -> tuple[Observer, ...]:
    """Return metrics and spans, as far as their libraries are installed."""
    found: list[Observer] = []
    if importlib.util.find_spec("prometheus_client"):
        found.append(PrometheusMetrics())
    if importlib.util.find_spec("opentelemetry") and importlib.util.find_spec(
        "opentelemetry.trace"
    ):
        found.append(OpenTelemetrySpans())
    return tuple(found)
