"""The circuit breaker."""

from __future__ import annotations

from typing import Any

import pytest

from queen_sdk.breaker import CircuitBreaker
from queen_sdk.errors import InvalidArgumentError


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(max_failures=3, cool_down=10, clock=clock)


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        assert breaker.permits()
        breaker.failed()


def test_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    breaker.succeeded()
    fail(breaker, 2)
    assert not breaker.open
    fail(breaker, 1)
    assert breaker.open
    assert not breaker.permits()


def test_after_the_cool_down_one_call_tries(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now = 9.9
    assert not breaker.permits()
    clock.now = 10
    assert breaker.permits()
    assert not breaker.permits()
    breaker.succeeded()
    assert not breaker.open
    assert breaker.permits()


def test_a_failed_try_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now = 10
    assert breaker.permits()
    breaker.failed()
    clock.now = 19
    assert not breaker.permits()
    clock.now = 20
    assert breaker.permits()


def test_a_try_that_told_nothing_lets_the_next_one_try(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now = 10
    assert breaker.permits()
    breaker.told_nothing()
    assert breaker.open
    assert breaker.permits()


@pytest.mark.parametrize(
    ("name", "value"), [("max_failures", 0), ("cool_down", 0), ("cool_down", "1")]
)
def test_settings_are_checked(name: str, value: Any) -> None:
    settings: dict[str, Any] = {name: value}
    with pytest.raises(InvalidArgumentError, match=f"{name} must be"):
        CircuitBreaker(**settings)
