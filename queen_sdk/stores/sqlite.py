"""Sessions in one SQLite file, shared by the processes of a machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from queen_sdk.errors import ClosedError, DamagedStoreError, StoreError, UnavailableStoreError
from queen_sdk.options import at_least_one, positive_seconds
from queen_sdk.stores.base import (
    DAY,
    REMEMBERED_KEYS,
    SCHEMA,
    Record,
    checked_id,
    checked_key,
    checked_ttl,
    key_digest,
)
from queen_sdk.stores.codec import Codec, KeyFunction, newer_store

_APPLICATION = 0x5155454E  # "QUEN", by which SQLite files of ours are known
_TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, turns INTEGER NOT NULL, expires REAL) WITHOUT ROWID;
CREATE INDEX expiry ON sessions (expires);
CREATE TABLE turns (
    session TEXT NOT NULL, position INTEGER NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (session, position)
) WITHOUT ROWID;
CREATE TABLE keys (
    session TEXT NOT NULL, digest BLOB NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (session, digest)
) WITHOUT ROWID;
"""
# "0" is the character behind "/".
_BELOW = "(id = :prefix OR (id > :prefix || '/' AND id < :prefix || '0'))"
_SWEEP_EVERY = 256
_SWEEP_AT_MOST = 512

_STORES: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


class SqliteStore:
    """Keeps sessions in a file: several processes may use it, and killing one loses nothing.

    Deleted text is overwritten in the file.
    """

    waits: ClassVar[bool] = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl: float | None = DAY,
        timeout: float = 5.0,
        key: KeyFunction | None = None,
    ) -> None:
        """Open the file, or make it.

        Args:
            path: Where it is; its directory must exist, on a local disk.
            ttl: Seconds after its last turn that a session is kept; None for ever.
            timeout: Seconds to wait while other processes write.
            key: From a session id to its 32-byte key, to encrypt what was said; session ids stay
                readable.

        Raises:
            NewerStoreError: A newer release wrote the file.
            DamagedStoreError: The file is something else.
            UnavailableStoreError: It cannot be opened.
        """
        self._path = Path(os.path.abspath(path))
        self._ttl = checked_ttl(ttl)
        self._timeout = positive_seconds("timeout", timeout)
        self._codec = Codec(key)
        self._lock = threading.Lock()
        self._closed = False
        self._appends = 0
        self._connection: sqlite3.Connection | None = None
        with self._translated():
            self._connection = self._connect()
        _STORES.add(self)

    def load(self, session: str) -> tuple[Record, ...]:
        """Return the kept turns of a session, oldest first."""
        checked_id(session)
        with self._translated(), self._using() as connection:
            rows = connection.execute(
                "SELECT payload FROM turns JOIN sessions ON id = session "
                "WHERE session = ? AND (expires IS NULL OR expires > ?) ORDER BY position",
                (session, time.time()),
            ).fetchall()
        return tuple(self._codec.decode(session, payload) for (payload,) in rows)

    def append(self, session: str, record: Record, *, max_turns: int) -> bool:
        """Record a turn and drop all but the newest `max_turns`; False if its key is known."""
        checked_id(session)
        checked_key(record.key)
        at_least_one("max_turns", max_turns)
        payload = self._codec.encode(session, record)
        digest = None if record.key is None else key_digest(record.key)
        with self._translated(), self._writing() as connection:
            self._sweep(connection, session)
            if digest is not None and _known(connection, session, digest):
                return False
            position = self._advance(connection, session)
            connection.execute("INSERT INTO turns VALUES (?, ?, ?)", (session, position, payload))
            connection.execute(
                "DELETE FROM turns WHERE session = ? AND position <= ?",
                (session, position - max_turns),
            )
            if digest is not None:
                connection.execute("INSERT INTO keys VALUES (?, ?, ?)", (session, digest, position))
                connection.execute(
                    "DELETE FROM keys WHERE session = ? AND position <= ?",
                    (session, position - max(REMEMBERED_KEYS, max_turns)),
                )
        return True

    def delete(self, session: str) -> None:
        """Delete one session."""
        checked_id(session)
        with self._translated(), self._writing() as connection:
            _delete(connection, "id = :session", session=session)

    def forget(self, prefix: str) -> int:
        """Delete the session `prefix` and all below it; return how many there were."""
        checked_id(prefix)
        with self._translated(), self._writing() as connection:
            found = _delete(connection, _BELOW, prefix=prefix)
        with self._translated(), self._using() as connection:
            # The log still holds what was said; it is emptied unless another process reads it now.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return found

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connect(self) -> sqlite3.Connection:
        with suppress(OSError):  # SQLite will say what is wrong; nobody else is to read a new file
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(
            self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables in a new file; refuse a file of another kind before touching it."""
        if self._version(connection) == 0:
            connection.execute("PRAGMA journal_mode = WAL")
            with _transaction(connection):
                if self._version(connection) == 0:
                    for statement in filter(str.strip, _TABLES.split(";")):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _version(self, connection: sqlite3.Connection) -> int:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if application != _APPLICATION:
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if application or version or tables:
                raise DamagedStoreError(
                    f"{self._path} is an SQLite file of another program; give another path"
                )
            return 0
        if version > SCHEMA:
            raise newer_store(str(self._path), version)
        return version

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                raise ClosedError("this store was closed; make a new one")
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._using() as connection, _transaction(connection):
            if self._version(connection) == 0:
                raise DamagedStoreError(f"{self._path} has lost its tables; delete it")
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise UnavailableStoreError(
                f"{self._path} cannot be used now: {error}; see that its disk has room, that it "
                "may be written and that no process holds it locked"
            ) from error
        except sqlite3.DatabaseError as error:
            raise DamagedStoreError(
                f"{self._path} cannot be read: {error}; move it away or restore a copy"
            ) from error
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: {error}") from error

    def _advance(self, connection: sqlite3.Connection, session: str) -> int:
        expires = None if self._ttl is None else time.time() + self._ttl
        connection.execute("INSERT OR IGNORE INTO sessions VALUES (?, 0, NULL)", (session,))
        connection.execute(
            "UPDATE sessions SET turns = turns + 1, expires = ? WHERE id = ?", (expires, session)
        )
        row = connection.execute("SELECT turns FROM sessions WHERE id = ?", (session,)).fetchone()
        return int(row[0])

    def _sweep(self, connection: sqlite3.Connection, session: str) -> None:
        """Delete this session if it has expired, and now and then the others that have."""
        now = time.time()
        _delete(connection, "id = :session AND expires <= :now", session=session, now=now)
        self._appends += 1
        if self._appends % _SWEEP_EVERY == 1:
            some = f"(SELECT id FROM sessions WHERE expires <= :now LIMIT {_SWEEP_AT_MOST})"
            _delete(connection, f"id IN {some}", now=now)

    def _leave_to_parent(self) -> None:
        """Forget the parent's connection without closing it, which would drop its locks."""
        self._lock = threading.Lock()
        if self._connection is not None:
            _INHERITED.append(self._connection)
            self._connection = None


_INHERITED: list[sqlite3.Connection] = []


def _known(connection: sqlite3.Connection, session: str, digest: bytes) -> bool:
    query = "SELECT 1 FROM keys WHERE session = ? AND digest = ?"
    return connection.execute(query, (session, digest)).fetchone() is not None


def _delete(connection: sqlite3.Connection, which: str, **values: str | float) -> int:
    found = connection.execute(f"SELECT id FROM sessions WHERE {which}", values).fetchall()
    for table in ("turns", "keys"):
        connection.executemany(f"DELETE FROM {table} WHERE session = ?", found)
    connection.executemany("DELETE FROM sessions WHERE id = ?", found)
    return len(found)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself may have rolled back when the disk is full
            connection.execute("ROLLBACK")
        raise


def _after_fork() -> None:
    for store in _STORES:
        store._leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
