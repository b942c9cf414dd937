"""Sessions in Redis, shared by the machines of a service."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from queen_sdk.breaker import CircuitBreaker
from queen_sdk.errors import (
    ClosedError,
    DamagedStoreError,
    InvalidArgumentError,
    StoreError,
    UnavailableStoreError,
    missing_extra,
)
from queen_sdk.options import at_least_one, positive_seconds
from queen_sdk.stores.base import (
    DAY,
    REMEMBERED_KEYS,
    SCHEMA,
    Record,
    belongs,
    checked_id,
    checked_key,
    checked_ttl,
    key_digest,
)
from queen_sdk.stores.codec import Codec, KeyFunction, newer_store

_APPEND = """
local turns, keys = KEYS[1], KEYS[2]
local digest, payload, max_turns, max_keys, ttl = unpack(ARGV)
if redis.call('LPOS', keys, digest) then return 0 end
redis.call('RPUSH', keys, digest)
redis.call('LTRIM', keys, -tonumber(max_keys), -1)
redis.call('RPUSH', turns, payload)
redis.call('LTRIM', turns, -tonumber(max_turns), -1)
for _, key in ipairs(KEYS) do
  if ttl == '' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ttl) end
end
return 1
"""
_FAILURES_IN_A_ROW = 5
_COOL_DOWN = 0.5
_NAMESPACE = re.compile(r"[A-Za-z0-9_.:-]+")


class RedisStore:
    """Keeps sessions in Redis 6.2 or newer; finds the server again after it was away.

    All keys of a user carry one hash tag and so live on one node of a cluster. The server is first
    asked when it is first needed; after failures in a row, calls fail at once for half a second.
    """

    waits: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        *,
        ttl: float | None = DAY,
        timeout: float = 0.5,
        key: KeyFunction | None = None,
        namespace: str = "queen",
    ) -> None:
        """Take the address of the server.

        Args:
            url: Such as redis://localhost:6379/0, rediss:// for TLS, unix:// for a socket.
            ttl: Seconds after its last turn that a session is kept; None for ever.
            timeout: Seconds to wait for a connection, and for an answer.
            key: From a session id to its 32-byte key, to encrypt what was said; session ids stay
                readable.
            namespace: How all keys begin, for servers that others use too.

        Raises:
            MissingExtraError: redis is not installed.
            InvalidArgumentError: `url` is not the address of a Redis server.
        """
        redis = _redis()
        seconds = positive_seconds("timeout", timeout)
        try:
            client = redis.Redis.from_url(
                url,
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                health_check_interval=30,
                retry=redis.retry.Retry(redis.backoff.NoBackoff(), 1),
            )
        except (ValueError, AttributeError, TypeError) as error:
            raise InvalidArgumentError(
                f"url must be like redis://localhost:6379/0 ({error})"
            ) from error
        self._set_up(client, ttl=ttl, key=key, namespace=namespace)

    @classmethod
    def over(
        cls,
        client: Any,
        *,
        ttl: float | None = DAY,
        key: KeyFunction | None = None,
        namespace: str = "queen",
    ) -> RedisStore:
        """Make a store over a client of your own: RedisCluster, or one that Sentinel gave."""
        store = cls.__new__(cls)
        store._set_up(client, ttl=ttl, key=key, namespace=namespace)
        return store

    def _set_up(
        self, client: Any, *, ttl: float | None, key: KeyFunction | None, namespace: str
    ) -> None:
        if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
            raise InvalidArgumentError(
                f"namespace must be letters, digits, '_', '.', ':' or '-', got {namespace!r}"
            )
        self._errors = _redis().exceptions
        self._client = client
        self._append = client.register_script(_APPEND)
        self._ttl = checked_ttl(ttl)
        self._codec = Codec(key)
        self._namespace = namespace
        self._breaker = CircuitBreaker(max_failures=_FAILURES_IN_A_ROW, cool_down=_COOL_DOWN)
        self._checked = False
        self._closed = False

    def load(self, session: str) -> tuple[Record, ...]:
        """Return the kept turns of a session, oldest first."""
        checked_id(session)
        with self._using():
            payloads = self._client.lrange(self._name("turns", session), 0, -1)
        return tuple(self._codec.decode(session, payload) for payload in payloads)

    def append(self, session: str, record: Record, *, max_turns: int) -> bool:
        """Record a turn and drop all but the newest `max_turns`; False if its key is known."""
        checked_id(session)
        at_least_one("max_turns", max_turns)
        # The client sends a command again if the answer got lost: every append needs a key.
        digest = key_digest(checked_key(record.key) or uuid.uuid4().hex)
        ttl = "" if self._ttl is None else max(round(self._ttl * 1000), 1)
        with self._using():
            recorded = self._append(
                keys=[self._name("turns", session), self._name("keys", session)],
                args=[
                    digest,
                    self._codec.encode(session, record),
                    max_turns,
                    max(REMEMBERED_KEYS, max_turns),
                    ttl,
                ],
            )
        # Without a key of the caller's, a repeat can only be the client's own second attempt.
        return bool(recorded) or record.key is None

    def delete(self, session: str) -> None:
        """Delete one session."""
        checked_id(session)
        with self._using():
            self._client.delete(self._name("turns", session), self._name("keys", session))

    def forget(self, prefix: str) -> int:
        """Delete the session `prefix` and all below it; return how many there were.

        Looks through the names of all keys of the server, without blocking it.
        """
        checked_id(prefix)
        user = quote(prefix.partition("/")[0], safe="")
        found: set[str] = set()
        with self._using():
            names = self._client.scan_iter(match=f"{self._namespace}:*:{{{user}}}*", count=1000)
            for name in names:
                text = name.decode() if isinstance(name, bytes) else str(name)
                session = self._session_of(text)
                if session is not None and belongs(session, prefix):
                    self._client.delete(name)
                    found.add(session)
        return len(found)

    def close(self) -> None:
        """Close the connections."""
        self._closed = True
        self._client.close()

    def _name(self, kind: str, session: str) -> str:
        user, _, dialogue = session.partition("/")
        below = "/" + quote(dialogue) if dialogue else ""
        return f"{self._namespace}:{kind}:{{{quote(user, safe='')}}}{below}"

    def _session_of(self, name: str) -> str | None:
        pattern = re.escape(self._namespace) + r":(?:turns|keys):\{([^{}]+)\}(/.+)?"
        match = re.fullmatch(pattern, name)
        return unquote(match[1] + (match[2] or "")) if match else None

    @contextmanager
    def _using(self) -> Iterator[None]:
        if self._closed:
            raise ClosedError("this store was closed; make a new one")
        if not self._breaker.permits():
            raise UnavailableStoreError("Redis was away a moment ago; it is asked again soon")
        errors = self._errors
        try:
            if not self._checked:
                self._check_schema()
            yield
        except (errors.ConnectionError, errors.TimeoutError, errors.OutOfMemoryError) as error:
            self._breaker.failed()
            raise UnavailableStoreError(
                f"Redis cannot be used now: {error}; see that it runs, answers and has memory"
            ) from error
        except errors.RedisError as error:
            self._breaker.succeeded()  # it answers
            raise StoreError(f"Redis refused: {error}") from error
        except BaseException:
            self._breaker.told_nothing()
            raise
        self._breaker.succeeded()

    def _check_schema(self) -> None:
        name = f"{self._namespace}:schema"
        self._client.set(name, SCHEMA, nx=True)
        found = self._client.get(name) or b"0"
        try:
            version = int(found)
        except ValueError as error:
            raise DamagedStoreError(
                f"the key {name} of Redis holds {found!r:.40}, not a schema version; "
                "give another namespace"
            ) from error
        if version > SCHEMA:
            raise newer_store(f"the namespace {self._namespace!r} of Redis", version)
        self._checked = True


def _redis() -> Any:
    try:
        import redis
        import redis.backoff
        import redis.retry
    except ImportError as error:
        raise missing_extra("redis", "redis") from error
    return redis
