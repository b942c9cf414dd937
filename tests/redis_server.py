"""A real Redis server for tests, on a free port, that can be stopped and started again."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

BINARY = shutil.which("redis-server")


def free_port() -> int:
    """Return a port that nobody listens on, low enough for the second port of a cluster's node."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port was found")


class RedisServer:
    """One server process; with a directory it keeps every write on disk, else nothing."""

    def __init__(self, directory: Path | None = None, options: Sequence[str] = ()) -> None:
        self._directory = directory
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        assert BINARY is not None
        kept = ["--save", "", "--appendonly", "no"]
        if self._directory is not None:
            kept[-1:] = ["yes", "--appendfsync", "always", "--dir", str(self._directory)]
        self._process = subprocess.Popen(
            [BINARY, "--port", str(self.port), "--bind", "127.0.0.1", *kept, *self._options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + 20
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > ends:
                self.kill()
                raise RuntimeError("redis-server did not start")
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
