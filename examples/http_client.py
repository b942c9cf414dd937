"""Have utterances rewritten by a server, with nothing of queen-sdk in the bot itself.

`rewritten` is all that a bot needs; the rest starts a server (as `queen serve` in a shell would),
asks it, stops it and asks again, to show that a server that is down costs no answer.

$ python examples/http_client.py
with the server:    Does the RTX-4090 come with a warranty?
switched off:       Does it come with a warranty?
without the server: Does it come with a warranty?
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from urllib.request import Request, urlopen

HISTORY = [
    {"role": "user", "content": "Do you sell the RTX-4090?"},
    {"role": "assistant", "content": "Yes, we have it in stock."},
]
UTTERANCE = "Does it come with a warranty?"


def rewritten(
    server: str,
    history: list[dict[str, str]],
    utterance: str,
    *,
    enabled: bool = True,
    timeout: float = 1.0,
) -> str:
    """Return the self-contained utterance; the utterance itself if anything goes wrong."""
    body = json.dumps({"history": history, "utterance": utterance, "enabled": enabled})
    headers = {"content-type": "application/json"}
    try:
        request = Request(f"{server}/rewrite", body.encode(), headers)
        with urlopen(request, timeout=timeout) as answer:
            return str(json.load(answer)["text"])
    except (OSError, HTTPException, ValueError, KeyError):
        return utterance


@contextmanager
def serving() -> Iterator[str]:
    """Run `queen serve` and give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "queen_sdk.cli", "serve", "--port", port, "--timeout", "30"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Ask with a server, with the switch off, and without a server."""
    with serving() as server:
        print("with the server:   ", rewritten(server, HISTORY, UTTERANCE, timeout=30))
        print(
            "switched off:      ", rewritten(server, HISTORY, UTTERANCE, enabled=False, timeout=30)
        )
    print("without the server:", rewritten(server, HISTORY, UTTERANCE))


if __name__ == "__main__":
    main()
