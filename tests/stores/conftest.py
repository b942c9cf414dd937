"""The stores, each behind the same fixture."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis_server import BINARY, RedisServer

from queen_sdk.stores import MemoryStore, RedisStore, SqliteStore, Store

Opener = Callable[..., Store]


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Return a running server without persistence, shared by all tests."""
    pytest.importorskip("redis", reason="redis-py is not installed")
    if BINARY is None:
        pytest.skip("redis-server is not installed; apt-get install redis-server")
    server = RedisServer()
    server.start()
    yield server
    server.kill()


@pytest.fixture
def opened() -> Iterator[list[Store]]:
    """Collect stores that are closed when the test ends."""
    stores: list[Store] = []
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def open_sqlite(tmp_path: Path, opened: list[Store]) -> Opener:
    def make(**settings: Any) -> Store:
        opened.append(SqliteStore(tmp_path / "sessions.db", **settings))
        return opened[-1]

    return make


@pytest.fixture
def open_redis(redis_server: RedisServer, opened: list[Store]) -> Opener:
    namespace = uuid.uuid4().hex

    def make(**settings: Any) -> Store:
        settings = {"namespace": namespace, "timeout": 10.0, **settings}
        opened.append(RedisStore(redis_server.url, **settings))
        return opened[-1]

    return make


@pytest.fixture(params=["sqlite", "redis"])
def reopen(request: pytest.FixtureRequest) -> Opener:
    """Return a function that opens the same store again; only for stores that outlive a process."""
    opener: Opener = request.getfixturevalue(f"open_{request.param}")
    return opener


@pytest.fixture(params=["memory", "sqlite", "redis"])
def open_store(request: pytest.FixtureRequest) -> Opener:
    """Return a function that opens a store with some settings."""
    if request.param == "memory":
        return MemoryStore
    opener: Opener = request.getfixturevalue(f"open_{request.param}")
    return opener


@pytest.fixture
def store(open_store: Opener) -> Store:
    """Return an empty store."""
    return open_store()
