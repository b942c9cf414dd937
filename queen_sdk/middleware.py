"""The policy of putting a rewriter into a bot, in one place: when, how long, and what if it fails.

Every adapter goes through here. A failure of the model never reaches the bot: the utterance is
passed on as it came, and the result says why. Misuse still raises.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

import attrs

from queen_sdk.asking import CALLER, Rewrites, aask, ask, calling, in_thread, untouched
from queen_sdk.batching import MicroBatcher
from queen_sdk.breaker import CircuitBreaker
from queen_sdk.dialogue import HistoryItem, read_history, read_utterance, spoken_turns
from queen_sdk.errors import DeadlineError, QueueFullError, StoreError, UsageError
from queen_sdk.options import CallOptions
from queen_sdk.policy import Before, Mode, Policy, checked_policy
from queen_sdk.session import Recorded, Session
from queen_sdk.stores import Store
from queen_sdk.telemetry import Event, LogLine, Observer, installed_observers
from queen_sdk.values import RewriteResult, SkipReason, Turn

_LOG = logging.getLogger("queen_sdk.middleware")
_T = TypeVar("_T")


@attrs.frozen
class _Call:
    """A call that has been read, and what was decided about it."""

    turns: tuple[Turn, ...]
    utterance: str
    policy: Policy
    started: float
    clock: float
    skip: SkipReason | None

    @property
    def dropped(self) -> int:
        return max(len(self.turns) - self.policy.max_history, 0)


class Middleware:
    """Stands between a bot and a rewriter, and keeps trouble away from the bot."""

    def __init__(
        self,
        rewriter: Rewrites,
        policy: Policy | None = None,
        *,
        breaker: CircuitBreaker | None = None,
        before: Before | None = None,
        after: Callable[[Event], None] | None = None,
        observers: Sequence[Observer] | None = None,
        log_text: bool = False,
    ) -> None:
        """Put the policy in front of a rewriter.

        Args:
            rewriter: What rewrites. Unless it is a `MicroBatcher`, one is made around it, since
                a call that can be given up needs a thread of its own.
            policy: What holds for every call that does not bring its own.
            breaker: When to stop asking a model that fails.
            before: Sees every call first, and may change its policy.
            after: Sees every call last.
            observers: Are told of every call beside the log; None for Prometheus metrics and
                OpenTelemetry spans, as far as they are installed.
            log_text: Whether the log may hold what users said.
        """
        self._owned = None if isinstance(rewriter, MicroBatcher) else MicroBatcher(rewriter)
        self._rewriter = self._owned or rewriter
        self.policy = policy or Policy()
        self._breaker = breaker or CircuitBreaker()
        self._before = before
        self._after = after
        others = installed_observers() if observers is None else observers
        self._observers: tuple[Observer, ...] = (LogLine(text=log_text), *others)

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        policy: Policy | None = None,
    ) -> RewriteResult:
        """Rewrite one utterance, or say by `skip_reason` why not.

        Args:
            history: As in `Rewriter.rewrite`.
            utterance: As in `Rewriter.rewrite`.
            threshold: Instead of that of the policy.
            min_confidence: Counts if it is higher than that of the policy.
            protect: Terms that are protected beside those of the policy.
            policy: For this call; None for that of the middleware.

        Raises:
            UsageError: An argument is of the wrong type or out of range.
        """
        extra = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        call = self._begin(history, utterance, policy, extra)
        if call.skip is not None:
            return self._end(call, untouched(utterance, call.skip))
        try:
            with calling(timeout=call.policy.timeout):
                result = ask(
                    self._rewriter, call.turns[call.dropped :], utterance, call.policy.options
                )
        except BaseException as error:
            return self._give_up(call, error)
        return self._succeed(call, result)

    async def arewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
        policy: Policy | None = None,
    ) -> RewriteResult:
        """Do what `rewrite` does, without blocking the event loop."""
        extra = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        call = self._begin(history, utterance, policy, extra)
        if call.skip is not None:
            return self._end(call, untouched(utterance, call.skip))
        try:
            with calling(timeout=call.policy.timeout):
                result = await aask(
                    self._rewriter, call.turns[call.dropped :], utterance, call.policy.options
                )
        except BaseException as error:
            return self._give_up(call, error)
        return self._succeed(call, result)

    def message(self, result: RewriteResult, *, mode: Mode | None = None) -> str:
        """Return the words that the bot is given; a search always gets `result.text`."""
        policy = self.policy if mode is None else Policy(mode=mode)  # which checks it
        return result.text if policy.mode == "replace" else result.original

    def session(
        self,
        id: str,
        *,
        store: Store,
        max_turns: int = 20,
        max_tokens: int = 1024,
        record: Recorded = "original",
    ) -> Session:
        """Return a session that goes through this middleware, and on without a failing store.

        A turn that could not be recorded is marked so: `result.unrecorded`.
        """
        return Session(
            self,
            id,
            store=store,
            max_turns=max_turns,
            max_tokens=max_tokens,
            record=record,
            on_store_error=self._store_failed,
            on_skip=self._skipped,
        )

    def close(self) -> None:
        """Finish the calls that wait, and stop; the rewriter stays open."""
        if self._owned is not None:
            self._owned.close()

    async def aclose(self) -> None:
        """Do what `close` does, without blocking the event loop."""
        await in_thread(self.close)

    def __enter__(self) -> Middleware:
        """Return itself; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _begin(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        policy: Policy | None,
        extra: CallOptions,
    ) -> _Call:
        started, clock = time.time(), time.perf_counter()
        turns = read_history(history)
        read_utterance(utterance)
        policy = (self.policy if policy is None else checked_policy(policy)).with_options(extra)
        if self._before is not None:
            try:
                policy = checked_policy(self._before(turns, utterance, policy))
            except Exception as error:
                _LOG.warning("the hook before a call failed: %s", type(error).__name__)
        return _Call(turns, utterance, policy, started, clock, self._skip(turns, utterance, policy))

    def _skip(self, turns: tuple[Turn, ...], utterance: str, policy: Policy) -> SkipReason | None:
        if not policy.enabled:
            return "disabled"
        if not utterance.strip():
            return "empty_utterance"
        if not spoken_turns(turns, utterance):
            return "no_history"
        return None if self._breaker.permits() else "circuit_open"

    def _succeed(self, call: _Call, result: RewriteResult) -> RewriteResult:
        self._breaker.succeeded()
        return self._end(call, _counted_from_all(result, call.dropped))

    def _give_up(self, call: _Call, error: BaseException) -> RewriteResult:
        """Return the utterance as it is; misuse, cancellation and the like are raised again."""
        if isinstance(error, UsageError | QueueFullError) or not isinstance(error, Exception):
            self._breaker.told_nothing()
            if not isinstance(error, QueueFullError):
                raise error
        else:
            self._breaker.failed()
        reason: SkipReason = "error"
        if isinstance(error, DeadlineError):
            reason = "timeout"
        elif isinstance(error, QueueFullError):
            reason = "queue_full"
        return self._end(call, untouched(call.utterance, reason), error)

    def _end(
        self, call: _Call, result: RewriteResult, error: Exception | None = None
    ) -> RewriteResult:
        event = Event(
            result,
            mode=call.policy.mode,
            turns=len(call.turns),
            started=call.started,
            seconds=time.perf_counter() - call.clock,
            session=CALLER.get().session,
            error=error,
        )
        hooks = [observer.rewrote for observer in self._observers]
        for hook in (*hooks, self._after) if self._after else hooks:
            _guarded(hook, event)
        return result

    def _skipped(
        self, result: RewriteResult, turns: Sequence[Turn], error: Exception | None
    ) -> None:
        """Tell of an utterance that a session passed on by itself."""
        now, clock = time.time(), time.perf_counter()
        call = _Call(tuple(turns), result.original, self.policy, now, clock, result.skip_reason)
        self._end(call, result, error)

    def _store_failed(self, error: StoreError) -> None:
        for observer in self._observers:
            _guarded(observer.store_failed, error)


def _guarded(hook: Callable[[_T], None], value: _T) -> None:
    try:
        hook(value)
    except Exception as error:
        _LOG.warning("a hook after a call failed: %s", type(error).__name__)


def _counted_from_all(result: RewriteResult, dropped: int) -> RewriteResult:
    """Let the sources count turns from the start of the history that the caller gave."""
    if not dropped:
        return result
    edits = tuple(
        attrs.evolve(
            edit,
            sources=tuple(
                source if source.turn is None else attrs.evolve(source, turn=source.turn + dropped)
                for source in edit.sources
            ),
        )
        for edit in result.edits
    )
    return attrs.evolve(result, edits=edits, dropped_turns=result.dropped_turns + dropped)
