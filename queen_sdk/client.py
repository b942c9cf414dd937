"""A rewriter that is somewhere else: calls a queen server, with the standard library alone."""

from __future__ import annotations

import http.client
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from queen_sdk.dialogue import HistoryItem, read_history, read_utterance
from queen_sdk.errors import InvalidArgumentError, RemoteError
from queen_sdk.options import CallOptions, positive_seconds
from queen_sdk.values import RewriteResult
from queen_sdk.wire import json_text, json_value, result_of

_LARGEST_ANSWER = 16_000_000


class RemoteRewriter:
    """Asks a server that `queen serve` started; safe to share between threads.

    Put a `Middleware` in front of it: then a server that is down costs no answer.
    """

    def __init__(
        self, url: str, *, timeout: float = 1.0, headers: Mapping[str, str] | None = None
    ) -> None:
        """Name the server; it is not called yet.

        Args:
            url: Its address, such as `http://127.0.0.1:8765`; a path is put before `/rewrite`.
            timeout: Seconds to wait for the connection, and for each part of the answer.
            headers: Are sent along, such as an authorization that a proxy asks for.

        Raises:
            InvalidArgumentError: An argument is of the wrong type or out of range.
        """
        self.url = _checked(url)
        self._timeout = positive_seconds("timeout", timeout)
        self._headers = {"content-type": "application/json", **(headers or {})}

    def rewrite(
        self,
        history: Sequence[HistoryItem],
        utterance: str,
        *,
        threshold: float | None = None,
        min_confidence: float = 0.0,
        protect: Sequence[str] = (),
    ) -> RewriteResult:
        """Have one utterance rewritten, as by `Rewriter.rewrite`.

        Raises:
            InvalidArgumentError: An argument is of the wrong type or out of range.
            RemoteError: The server cannot be reached, or answers something else than a result.
        """
        options = CallOptions(threshold=threshold, min_confidence=min_confidence, protect=protect)
        call = {
            "history": [{"role": t.role, "content": t.text} for t in read_history(history)],
            "utterance": read_utterance(utterance),
            "threshold": options.threshold,
            "min_confidence": options.min_confidence,
            "protect": list(options.protect),
        }
        status, answer = self._post("/rewrite", json_text(call).encode())
        if status != 200:
            raise RemoteError(f"{self.url}/rewrite answered {status}: {_complaint(answer)}")
        try:
            result = result_of(json_value(answer))
        except InvalidArgumentError as error:
            raise RemoteError(f"what {self.url}/rewrite answered {error}") from error
        if result.original != utterance:
            raise RemoteError(f"{self.url}/rewrite answered for another utterance")
        return result

    def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        # Not urllib.request: a proxy of the environment is none of a neighbour's business.
        address = urlsplit(self.url)
        secure = address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=self._timeout)
        try:
            connection.request("POST", address.path + path, body, self._headers)
            response = connection.getresponse()
            answer = response.read(_LARGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise RemoteError(
                f"no answer from {self.url} ({type(error).__name__}: {error}); "
                "is the server running? (queen serve)"
            ) from error
        finally:
            connection.close()
        if len(answer) > _LARGEST_ANSWER:
            raise RemoteError(f"{self.url}{path} answered more than {_LARGEST_ANSWER} bytes")
        return response.status, answer


def _checked(url: object) -> str:
    try:
        address = urlsplit(url) if isinstance(url, str) else None
        fits = (
            address is not None
            and address.scheme in ("http", "https")
            and address.hostname is not None
            and address.port != 0  # raises for a port that is none
            and not (address.query or address.fragment or address.username)
            and str(url).isascii()
            and str(url).isprintable()
            and " " not in str(url)
        )
    except ValueError:
        fits = False
    if not fits:
        raise InvalidArgumentError(
            f"url must be the address of a queen server, such as http://127.0.0.1:8765, got {url!r}"
        )
    return str(url).rstrip("/")


def _complaint(answer: bytes) -> str:
    """Return what a server says is wrong."""
    try:
        fields: Any = json_value(answer)
        return str(fields["error"])[:500]
    except (InvalidArgumentError, KeyError, TypeError):
        return repr(answer[:80])
