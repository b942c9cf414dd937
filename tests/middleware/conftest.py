"""A middleware in front of a fake, and both ways to call it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from fakes import FakeRewriter

from queen_sdk import (
    Middleware,
    Policy,
    RewriteResult,
)

HISTORY = ["Smith needs an expensive restaurant."]
UTTERANCE = "Does he care?"

Ask = Callable[..., RewriteResult]
Make = Callable[..., Middleware]


@pytest.fixture
def fake() -> FakeRewriter:
    return FakeRewriter()


@pytest.fixture
def make(fake: FakeRewriter) -> Iterator[Make]:
    """Return a function that puts a middleware in front of the fake."""
    made: list[Middleware] = []

    def build(policy: Policy | None = None, **settings: Any) -> Middleware:
        policy = policy or Policy(timeout=30)  # the machine may be busy
        made.append(Middleware(fake, policy, **{"observers": (), **settings}))
        return made[-1]

    yield build
    for middleware in made:
        middleware.close()


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Return a function that calls a middleware one way or the other."""

    def call(
        middleware: Middleware,
        history: Sequence[Any] = HISTORY,
        utterance: str = UTTERANCE,
        **settings: Any,
    ) -> RewriteResult:
        if request.param == "sync":
            return middleware.rewrite(history, utterance, **settings)
        return asyncio.run(middleware.arewrite(history, utterance, **settings))

    return call
