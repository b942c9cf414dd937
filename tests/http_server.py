"""An application behind a real port, served by uvicorn in a thread."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra: pip install 'queen-sdk[server]'")


@attrs.frozen
class Running:
    """A server that answers."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Return status and JSON; a body that is not bytes is sent as JSON."""
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {"content-type": "application/json"} if headers is None else dict(headers)
            connection.request(method, path, raw, sent)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.ask("POST", path, body)


@contextmanager
def serving(app: Any) -> Iterator[Running]:
    """Serve `app` on a free port while the block lasts."""
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < ends
        time.sleep(0.01)
    try:
        yield Running(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
