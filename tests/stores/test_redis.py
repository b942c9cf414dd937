"""The store in Redis: the server goes away and comes back, a cluster, foreign keys."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis_server import BINARY, RedisServer

from queen_sdk.errors import (
    DamagedStoreError,
    InvalidArgumentError,
    MissingExtraError,
    NewerStoreError,
    StoreError,
    UnavailableStoreError,
)
from queen_sdk.stores import Record, RedisStore
from queen_sdk.stores.base import SCHEMA
from queen_sdk.values import Turn

redis = pytest.importorskip("redis")


def record(text: str, key: str | None = None) -> Record:
    return Record(Turn(text), key=key)


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Any]:
    opened = redis.Redis.from_url(redis_server.url)
    opened.flushall()
    yield opened
    opened.close()


class TestKeys:
    def test_all_keys_of_a_user_share_a_hash_tag(
        self, redis_server: RedisServer, client: Any
    ) -> None:
        store = RedisStore(redis_server.url)
        for session in ("anna", "anna/1", "anna/2", "安/娜"):
            store.append(session, record("a"), max_turns=5)
        store.close()
        names = sorted(name.decode() for name in client.scan_iter())
        assert names == [
            "queen:keys:{%E5%AE%89}/%E5%A8%9C",
            "queen:keys:{anna}",
            "queen:keys:{anna}/1",
            "queen:keys:{anna}/2",
            "queen:schema",
            "queen:turns:{%E5%AE%89}/%E5%A8%9C",
            "queen:turns:{anna}",
            "queen:turns:{anna}/1",
            "queen:turns:{anna}/2",
        ]

    def test_every_key_expires(self, redis_server: RedisServer, client: Any) -> None:
        store = RedisStore(redis_server.url, ttl=100)
        store.append("anna", record("a", "1"), max_turns=5)
        for name in client.keys("queen:*{*"):
            assert 99_000 < client.pttl(name) <= 100_000
        store.close()
        store = RedisStore(redis_server.url, ttl=None)
        store.append("anna", record("b", "2"), max_turns=5)
        assert {client.pttl(name) for name in client.keys("queen:*{*")} == {-1}
        store.close()

    def test_keys_of_others_are_left_alone(self, redis_server: RedisServer, client: Any) -> None:
        client.set("queen:other:{anna}", "theirs")
        client.set("{anna}", "theirs")
        store = RedisStore(redis_server.url)
        store.append("anna", record("a"), max_turns=5)
        assert store.forget("anna") == 1
        assert sorted(client.keys()) == [b"queen:other:{anna}", b"queen:schema", b"{anna}"]
        store.close()

    @pytest.mark.parametrize("namespace", ["", "a b", "{a}", "a*", 7])
    def test_namespaces_are_checked(self, namespace: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="namespace must be letters"):
            RedisStore("redis://localhost", namespace=namespace)


class TestVersions:
    def test_a_newer_schema_is_refused(self, redis_server: RedisServer, client: Any) -> None:
        client.set("queen:schema", SCHEMA + 1)
        store = RedisStore(redis_server.url)
        for _ in range(2):
            with pytest.raises(NewerStoreError, match=f"schema {SCHEMA + 1}, this release"):
                store.load("anna")
        with pytest.raises(NewerStoreError):
            store.append("anna", record("a"), max_turns=5)
        assert client.keys("queen:turns*") == []
        store.close()

    def test_a_newer_record_is_refused(self, redis_server: RedisServer, client: Any) -> None:
        client.rpush("queen:turns:{anna}", bytes((SCHEMA + 1,)) + b"novel")
        store = RedisStore(redis_server.url)
        with pytest.raises(NewerStoreError, match="session 'anna' was written with schema"):
            store.load("anna")
        store.close()

    def test_another_schema_key_is_damage(self, redis_server: RedisServer, client: Any) -> None:
        client.set("queen:schema", "theirs")
        store = RedisStore(redis_server.url)
        with pytest.raises(DamagedStoreError, match="give another namespace"):
            store.load("anna")
        store.close()

    def test_another_type_is_an_error(self, redis_server: RedisServer, client: Any) -> None:
        client.set("queen:turns:{anna}", "theirs")
        store = RedisStore(redis_server.url)
        with pytest.raises(StoreError, match="Redis refused: WRONGTYPE"):
            store.load("anna")
        store.close()


class TestServer:
    @pytest.mark.parametrize("url", ["localhost", "http://localhost", 7, None])
    def test_urls_are_checked(self, url: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="url must be like redis://"):
            RedisStore(url)

    def test_a_server_that_is_not_there_is_an_error_without_password(self) -> None:
        store = RedisStore("redis://me:secret@127.0.0.1:1/0")
        with pytest.raises(UnavailableStoreError, match="see that it runs") as caught:
            store.load("anna")
        assert "secret" not in str(caught.value)
        store.close()

    def test_a_server_that_hangs_is_given_up(self, redis_server: RedisServer, client: Any) -> None:
        store = RedisStore(redis_server.url, timeout=0.1)
        store.append("anna", record("a"), max_turns=5)
        client.client_pause(1500)
        began = time.monotonic()
        with pytest.raises(UnavailableStoreError):
            store.append("anna", record("b", "b"), max_turns=5)
        assert time.monotonic() - began < 1.2
        time.sleep(1.6)
        store.append("anna", record("b", "b"), max_turns=5)
        assert [kept.turn.text for kept in store.load("anna")] == ["a", "b"]
        store.close()

    def test_a_server_that_stays_away_costs_no_time(self) -> None:
        store = RedisStore("redis://127.0.0.1:1/0")
        for _ in range(5):
            with pytest.raises(UnavailableStoreError, match="see that it runs"):
                store.load("anna")
        with pytest.raises(UnavailableStoreError, match="it is asked again soon"):
            store.load("anna")
        time.sleep(0.6)
        with pytest.raises(UnavailableStoreError, match="see that it runs"):
            store.load("anna")
        store.close()

    def test_no_memory_is_an_error(self, redis_server: RedisServer, client: Any) -> None:
        store = RedisStore(redis_server.url)
        store.append("anna", record("a"), max_turns=5)
        client.config_set("maxmemory", "1")
        try:
            with pytest.raises(UnavailableStoreError, match="has memory"):
                store.append("anna", record("b"), max_turns=5)
        finally:
            client.config_set("maxmemory", "0")
        assert len(store.load("anna")) == 1
        store.close()

    def test_scripts_that_the_server_forgot_are_sent_again(
        self, redis_server: RedisServer, client: Any
    ) -> None:
        store = RedisStore(redis_server.url)
        store.append("anna", record("a"), max_turns=5)
        client.script_flush()
        assert store.append("anna", record("b"), max_turns=5)
        store.close()

    def test_a_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "redis", None)
        with pytest.raises(MissingExtraError, match=r"queen-sdk\[redis\]"):
            RedisStore("redis://localhost")


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a server that keeps every write on disk."""
    if BINARY is None:
        pytest.skip("redis-server is not installed; apt-get install redis-server")
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


def test_a_crash_under_load_loses_and_doubles_nothing(durable: RedisServer) -> None:
    acknowledged: dict[int, list[int]] = {worker: [] for worker in range(6)}
    refused = [0] * 6
    stop = threading.Event()

    def write(worker: int) -> None:
        store, k = RedisStore(durable.url), 0
        while not stop.is_set():
            try:
                store.append(f"user/{worker}", record(str(k), str(k)), max_turns=100_000)
            except UnavailableStoreError:
                refused[worker] += 1
                time.sleep(0.01)
                continue  # the same turn again, with the same key
            acknowledged[worker].append(k)
            k += 1
        store.close()

    def wait_for_more() -> None:
        goals = [len(done) + 20 for done in acknowledged.values()]
        ends = time.monotonic() + 60
        while any(len(acknowledged[worker]) < goal for worker, goal in enumerate(goals)):
            assert time.monotonic() < ends
            time.sleep(0.01)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in acknowledged]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2):
            wait_for_more()
            durable.kill()
            time.sleep(0.2)
            durable.start()
        wait_for_more()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    store = RedisStore(durable.url, timeout=10)
    for worker, done in acknowledged.items():
        kept = [int(one.turn.text) for one in store.load(f"user/{worker}")]
        assert kept in (done, [*done, len(done)])  # the last one may have lost only its answer
    assert sum(refused) > 0
    store.close()


@pytest.mark.skipif(BINARY is None, reason="redis-server is not installed")
def test_a_cluster_will_do(tmp_path: Path) -> None:
    server = RedisServer(options=("--cluster-enabled", "yes", "--dir", str(tmp_path)))
    server.start()
    try:
        with redis.Redis.from_url(server.url) as node:
            node.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            ends = time.monotonic() + 20
            while "cluster_state:ok" not in str(node.execute_command("CLUSTER", "INFO")):
                assert time.monotonic() < ends
                time.sleep(0.05)
        cluster = redis.RedisCluster.from_url(server.url)
        store = RedisStore.over(cluster)
        for session in ("anna", "anna/1", "bob/2", "}"):
            assert store.append(session, record("a", "1"), max_turns=5)
            assert not store.append(session, record("a", "1"), max_turns=5)
            assert store.load(session) == (record("a", "1"),)
        assert store.forget("anna") == 2
        assert store.load("anna/1") == ()
        cluster.disconnect_connection_pools()  # close() of this client leaves some of them open
        store.close()
    finally:
        server.kill()
