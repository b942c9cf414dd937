"""The store in a file: other processes, crashes, full disks, foreign files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from queen_sdk.errors import DamagedStoreError, NewerStoreError, UnavailableStoreError
from queen_sdk.stores import Record, SqliteStore
from queen_sdk.stores.base import SCHEMA
from queen_sdk.values import Turn

WRITER = """
import sys
from queen_sdk.stores import Record, SqliteStore
from queen_sdk.values import Turn

path, name, count, sessions = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = SqliteStore(path, timeout=60)
for k in range(count):
    record = Record(Turn(f"{name}:{k}:" + "x" * 200 + ":end"), key=f"{name}:{k}")
    assert store.append(f"user/{k % sessions}", record, max_turns=100_000)
    print(k, flush=True)
"""


def writer(path: Path, name: str, count: int, sessions: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(path), name, str(count), str(sessions)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def record(text: str, key: str | None = None) -> Record:
    return Record(Turn(text), key=key)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


class TestProcesses:
    def test_several_processes_write_at_once(self, path: Path) -> None:
        writers = [writer(path, name, 60, 3) for name in "abc"]
        for one in writers:
            one.communicate(timeout=120)
            assert one.returncode == 0
        store = SqliteStore(path)
        for k in range(3):
            found = [kept.turn.text.split(":") for kept in store.load(f"user/{k}")]
            assert len(found) == 60
            for name in "abc":
                own = [int(number) for owner, number, *_ in found if owner == name]
                assert own == list(range(k, 60, 3))
        store.close()

    @pytest.mark.parametrize("after", [1, 700, pytest.param(5000, marks=pytest.mark.slow)])
    def test_a_killed_writer_loses_no_acknowledged_turn(self, path: Path, after: int) -> None:
        with writer(path, "w", 10_000, 5) as victim:
            assert victim.stdout is not None
            lines = iter(victim.stdout.readline, "")
            acknowledged = next(number for line in lines if (number := int(line)) >= after)
            victim.send_signal(signal.SIGKILL)
            rest = [int(line) for line in lines if line.endswith("\n")]
        acknowledged = max([acknowledged, *rest])
        assert after <= acknowledged < 9_999
        store = SqliteStore(path)
        kept = [one for k in range(5) for one in store.load(f"user/{k}")]
        numbers = sorted(int(one.turn.text.split(":")[1]) for one in kept)
        assert numbers == list(range(len(numbers)))
        assert acknowledged + 1 <= len(numbers) <= acknowledged + 2
        assert all(one.turn.text.endswith(":end") for one in kept)
        # The request that was under way comes again: recorded once, whether it had arrived or not.
        for k in range(acknowledged, acknowledged + 3):
            store.append(f"user/{k % 5}", record(f"w:{k}:again", f"w:{k}"), max_turns=100_000)
        assert sum(len(store.load(f"user/{k}")) for k in range(5)) == acknowledged + 3
        store.close()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    def test_a_child_has_its_own_connection(self, path: Path) -> None:
        script = (
            "import os, sys\n"
            "from queen_sdk.stores import Record, SqliteStore\n"
            "from queen_sdk.values import Turn\n"
            "store = SqliteStore(sys.argv[1])\n"
            "store.append('a', Record(Turn('parent')), max_turns=9)\n"
            "inherited = store._connection\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    store.append('a', Record(Turn('child')), max_turns=9)\n"
            "    assert store._connection is not inherited\n"
            "    sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0\n"
            "store.append('a', Record(Turn('parent again')), max_turns=9)\n"
            "assert [kept.turn.text for kept in store.load('a')] == "
            "['parent', 'child', 'parent again']\n"
            "store.close()\n"
        )
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, str(path)],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr

    def test_a_lock_that_is_not_given_back_is_an_error(self, path: Path) -> None:
        store = SqliteStore(path, timeout=0.1)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableStoreError, match="locked"):
            store.append("anna", record("a"), max_turns=5)
        assert store.load("anna") == ()
        other.execute("ROLLBACK")
        assert store.append("anna", record("a"), max_turns=5)
        other.close()
        store.close()


def fill(store: SqliteStore) -> int:
    """Append until there is no room; return how many turns were acknowledged."""
    for k in range(10_000):
        try:
            store.append("anna", record(f"{k}:" + "x" * 500, str(k)), max_turns=10_000)
        except UnavailableStoreError as error:
            assert "see that its disk has room" in str(error)  # noqa: PT017
            return k
    raise AssertionError("there was no end to the room")


class TestFullDisk:
    def test_a_full_file_refuses_whole_turns(self, store: SqliteStore) -> None:
        connection = store._connection
        assert connection is not None
        connection.execute("PRAGMA max_page_count = 40")
        recorded = fill(store)
        numbers = [int(kept.turn.text.split(":")[0]) for kept in store.load("anna")]
        assert numbers == list(range(recorded))
        connection.execute("PRAGMA max_page_count = 1000000")
        assert store.append("anna", record("room", str(recorded)), max_turns=10_000)
        assert len(store.load("anna")) == recorded + 1

    def test_a_full_disk_refuses_whole_turns(self, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("a small file system cannot be mounted here")
        try:
            store = SqliteStore(disk / "sessions.db")
            recorded = fill(store)
            assert recorded > 10
            assert len(store.load("anna")) == recorded
            store.close()
            again = SqliteStore(disk / "sessions.db")
            assert len(again.load("anna")) == recorded
            again.close()
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
    def test_a_directory_that_may_not_be_written_is_an_error(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        with pytest.raises(UnavailableStoreError, match="cannot be used now"):
            SqliteStore(tmp_path / "sessions.db")
        tmp_path.chmod(0o700)


class TestFiles:
    @pytest.mark.skipif(os.name != "posix", reason="needs file modes")
    def test_a_new_file_is_for_its_owner_only(self, store: SqliteStore, path: Path) -> None:
        store.append("anna", record("a"), max_turns=5)
        assert {file.stat().st_mode & 0o077 for file in path.parent.iterdir()} == {0}

    def test_a_newer_file_is_refused(self, path: Path) -> None:
        SqliteStore(path).close()
        raw = sqlite3.connect(path)
        raw.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        raw.close()
        with pytest.raises(
            NewerStoreError, match=rf"sessions\.db was written with schema {SCHEMA + 1}"
        ):
            SqliteStore(path)

    def test_a_file_that_becomes_newer_is_refused(self, store: SqliteStore, path: Path) -> None:
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        raw.close()
        with pytest.raises(NewerStoreError, match="pip install --upgrade queen-sdk"):
            store.append("anna", record("a"), max_turns=5)

    def test_a_file_of_another_program_is_left_alone(self, path: Path) -> None:
        raw = sqlite3.connect(path)
        raw.execute("CREATE TABLE theirs (a)")
        raw.close()
        before = path.read_bytes()
        with pytest.raises(DamagedStoreError, match="of another program; give another path"):
            SqliteStore(path)
        assert path.read_bytes() == before

    def test_a_file_of_another_kind_is_damage(self, path: Path) -> None:
        path.write_text("These are not the sessions you are looking for. " * 40)
        with pytest.raises(DamagedStoreError, match="cannot be read"):
            SqliteStore(path)

    def test_a_missing_directory_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableStoreError, match="unable to open"):
            SqliteStore(tmp_path / "absent" / "sessions.db")

    def test_what_is_forgotten_is_not_in_the_file(self, store: SqliteStore, path: Path) -> None:
        for k in range(200):
            store.append(f"anna/{k}", record("whale song"), max_turns=5)
        store.append("bob", record("sea shanty"), max_turns=5)
        assert store.forget("anna") == 200
        content = b"".join(one.read_bytes() for one in path.parent.iterdir())
        assert b"whale" not in content
        assert b"anna" not in content
        assert b"shanty" in content

    def test_expired_sessions_leave_the_file(self, path: Path) -> None:
        store = SqliteStore(path, ttl=0.05)
        for k in range(20):
            store.append(f"s{k}", record("a", "1"), max_turns=5)
        time.sleep(0.1)
        for k in range(300):
            store.append("new", record(str(k)), max_turns=5)
        connection = store._connection
        assert connection is not None
        for table in ("sessions", "turns", "keys"):
            name = "id" if table == "sessions" else "session"
            rows = connection.execute(f"SELECT DISTINCT {name} FROM {table}").fetchall()
            assert rows in ([("new",)], [])
        store.close()
