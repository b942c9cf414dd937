"""The middleware: what it tells hooks, logs, metrics and spans."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from fakes import FakeRewriter, fail

from queen_sdk import (
    MemoryStore,
    Middleware,
    Policy,
    RewriteResult,
    Turn,
)
from queen_sdk.errors import InvalidArgumentError, UnavailableStoreError
from queen_sdk.telemetry import Event

HISTORY = ["Smith needs an expensive restaurant."]
UTTERANCE = "Does he care?"

Ask = Callable[..., RewriteResult]
Make = Callable[..., Middleware]


class TestHooks:
    def test_the_hook_before_chooses_the_policy(
        self, fake: FakeRewriter, make: Make, ask: Ask
    ) -> None:
        def before(turns: Sequence[Turn], utterance: str, policy: Policy) -> Policy:
            return attrs.evolve(policy, enabled=not utterance.startswith("/"))

        middleware = make(before=before)
        assert ask(middleware, utterance="/help").skip_reason == "disabled"
        assert ask(middleware, utterance="help").changed

    def test_a_hook_before_that_returns_no_policy_does_no_harm(
        self, make: Make, ask: Ask, caplog: pytest.LogCaptureFixture
    ) -> None:
        forgetful: Any = lambda turns, utterance, policy: None  # noqa: E731
        assert ask(make(before=forgetful)).changed
        assert "failed: InvalidArgumentError" in caplog.text

    def test_a_policy_and_a_mode_are_what_they_claim(self, make: Make) -> None:
        middleware = make()
        wrong: Any = {"enabled": False}
        with pytest.raises(InvalidArgumentError, match="must be a Policy, got dict"):
            middleware.rewrite(HISTORY, UTTERANCE, policy=wrong)
        with pytest.raises(InvalidArgumentError, match="mode must be one of"):
            middleware.message(middleware.rewrite(HISTORY, UTTERANCE), mode=wrong)

    def test_the_hook_after_sees_the_event(self, make: Make, ask: Ask) -> None:
        seen: list[Event] = []
        result = ask(make(Policy(mode="retrieval", timeout=30), after=seen.append), ["a", "b"])
        assert [event.result for event in seen] == [result]
        assert (seen[0].mode, seen[0].turns, seen[0].failed) == ("retrieval", 2, False)
        assert 0 < seen[0].seconds < 30

    def test_broken_hooks_do_no_harm(
        self, make: Make, ask: Ask, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: object) -> Any:
            raise ValueError("user text")

        assert ask(make(before=broken, after=broken)).changed
        assert caplog.text.count("failed: ValueError") == 2
        assert "user text" not in caplog.text


class TestLog:
    def logged(self, caplog: pytest.LogCaptureFixture) -> list[tuple[int, dict[str, Any]]]:
        return [
            (record.levelno, json.loads(record.getMessage().removeprefix("rewrite ")))
            for record in caplog.records
        ]

    def test_a_line_says_what_happened_without_the_words(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "queen_sdk.middleware")
        make().session("anna", store=MemoryStore()).add("x")
        make().rewrite(HISTORY, UTTERANCE)
        [(level, fields)] = self.logged(caplog)
        assert level == logging.INFO
        assert 0 < fields.pop("milliseconds") < 30_000
        assert fields == {
            "changed": True,
            "skip_reason": None,
            "mode": "replace",
            "edits": 1,
            "confidence": 0.9,
            "history_turns": 1,
            "dropped_turns": 0,
            "characters": len(UTTERANCE),
            "language": None,
            "model": None,
            "error": None,
        }
        assert caplog.records[0].queen["edits"] == 1  # type: ignore[attr-defined]
        for word in ("Smith", "Does", "anna"):
            assert word not in caplog.text

    def test_a_failure_is_a_warning_without_its_message(
        self, fake: FakeRewriter, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        fake.act = fail
        make().rewrite(HISTORY, "secret")
        [(level, fields)] = self.logged(caplog)
        assert (level, fields["skip_reason"], fields["error"]) == (
            logging.WARNING,
            "error",
            "RuntimeError",
        )
        assert "secret" not in caplog.text

    def test_words_are_logged_if_asked_for(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "queen_sdk.middleware")
        session = make(log_text=True).session("anna", store=MemoryStore())
        session.rewrite("a")
        session.rewrite("b")
        fields = self.logged(caplog)[-1][1]
        assert (fields["session"], fields["original"], fields["text"]) == ("anna", "b", "b a")


class TestObservers:
    def test_prometheus_counts_outcomes(self, fake: FakeRewriter, make: Make) -> None:
        prometheus = pytest.importorskip("prometheus_client")
        from queen_sdk.telemetry import PrometheusMetrics

        registry = prometheus.CollectorRegistry()
        middleware = make(observers=[PrometheusMetrics(registry)])
        again = make(observers=[PrometheusMetrics(registry)])
        middleware.rewrite(HISTORY, "a")
        middleware.rewrite([], "a")
        fake.act = fail
        again.rewrite(HISTORY, "a")
        middleware._store_failed(UnavailableStoreError("away"))
        counted = {
            outcome: registry.get_sample_value("queen_rewrites_total", {"outcome": outcome})
            for outcome in ("changed", "no_history", "error", "timeout")
        }
        assert counted == {"changed": 1, "no_history": 1, "error": 1, "timeout": None}
        assert registry.get_sample_value("queen_rewrite_seconds_count") == 3
        failures = {"error": "UnavailableStoreError"}
        assert registry.get_sample_value("queen_store_failures_total", failures) == 1

    def test_opentelemetry_gets_a_span(self, fake: FakeRewriter, make: Make) -> None:
        pytest.importorskip("opentelemetry.sdk")
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        from queen_sdk.telemetry import OpenTelemetrySpans

        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        middleware = make(observers=[OpenTelemetrySpans(provider)])
        with provider.get_tracer("bot").start_as_current_span("turn") as turn:
            middleware.rewrite(HISTORY, UTTERANCE)
            fake.act = fail
            middleware.rewrite(HISTORY, UTTERANCE)
            middleware._store_failed(UnavailableStoreError("away"))
        good, bad, parent = exporter.get_finished_spans()
        assert good.name == "queen.rewrite"
        assert good.parent is not None
        assert good.parent.span_id == turn.get_span_context().span_id
        assert good.attributes is not None
        assert good.attributes["queen.changed"] is True
        assert good.status.is_ok
        assert not bad.status.is_ok
        assert [event.name for event in parent.events] == ["queen.store_failed"]
        shown = " ".join(span.to_json() for span in (good, bad, parent))
        assert "Smith" not in shown
        assert UTTERANCE not in shown

    def test_what_is_installed_is_used(self, fake: FakeRewriter) -> None:
        policy = Policy(timeout=30)
        with Middleware(fake, policy) as one, Middleware(fake, policy) as other:
            assert one.rewrite(HISTORY, UTTERANCE) == other.rewrite(HISTORY, UTTERANCE)
