"""The application: a few routes over a middleware, JSON in and JSON out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from queen_sdk.asking import in_thread
from queen_sdk.errors import StoreError, UsageError, missing_extra
from queen_sdk.middleware import Middleware
from queen_sdk.options import at_least_one, positive_seconds
from queen_sdk.server.bodies import RewriteBody, read_rewrite, read_session, read_turn
from queen_sdk.server.schema import body_of
from queen_sdk.session import Session
from queen_sdk.stores import MemoryStore, Store
from queen_sdk.values import RewriteResult
from queen_sdk.wire import json_text

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import HTTPException
    from starlette.exceptions import HTTPException as AnyHTTPException
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise missing_extra("fastapi", "server") from error

MAX_BODY = 1_000_000
"""Bytes of a request's body, unless told otherwise."""
_ROUTES = "GET /health, POST /rewrite, POST /turns, POST /forget"


def create_app(
    middleware: Middleware,
    *,
    store: Store | None = None,
    max_body: int = MAX_BODY,
    body_timeout: float = 10.0,
    version: str = "",
) -> FastAPI:
    """Return the ASGI application.

    Args:
        middleware: What rewrites; its policy holds for every call. Both stay open.
        store: Where sessions are kept; None for this process's memory.
        max_body: Bytes that the body of a request may have.
        body_timeout: Seconds within which it must be here.
        version: Is told by `/health`.

    Raises:
        InvalidArgumentError: An argument is of the wrong type or out of range.
    """
    service = _Service(
        middleware,
        MemoryStore() if store is None else store,
        at_least_one("max_body", max_body),
        positive_seconds("body_timeout", body_timeout),
        version,
    )
    # No pages with scripts from elsewhere; /openapi.json is there for whoever wants them.
    app = FastAPI(title="queen-sdk", version=version or "0", docs_url=None, redoc_url=None)
    app.add_api_route("/health", service.health, methods=["GET"], response_model=None)
    for path, route in (
        ("/rewrite", service.rewrite),
        ("/turns", service.turn),
        ("/forget", service.forget),
    ):
        app.add_api_route(
            path, route, methods=["POST"], response_model=None, openapi_extra=body_of(path)
        )
    app.add_exception_handler(UsageError, _saying(400))
    app.add_exception_handler(StoreError, _saying(503))
    app.add_exception_handler(ClientDisconnect, _saying(400))
    app.add_exception_handler(AnyHTTPException, _refused)
    return app


@attrs.frozen
class _Service:
    """What the routes share, and what they do."""

    middleware: Middleware
    store: Store
    max_body: int
    body_timeout: float
    version: str

    async def health(self) -> Response:
        """Say that the server answers."""
        return _json({"status": "ok", "version": self.version})

    async def rewrite(self, request: Request) -> Response:
        """Rewrite an utterance; whatever fails, the utterance comes back."""
        body = read_rewrite(await self._body(request))
        return _json((await self._rewritten(body)).to_dict())

    async def turn(self, request: Request) -> Response:
        """Record a turn that needs no rewrite."""
        body = read_turn(await self._body(request))
        # Not through the middleware, which would go on without a failing store and say nothing.
        session = Session(self.middleware, body.session, store=self.store)
        recorded = await session.aadd(body.turn.text, role=body.turn.role, key=body.key)
        return _json({"recorded": recorded})

    async def forget(self, request: Request) -> Response:
        """Delete a session and those below it."""
        session = read_session(await self._body(request))
        return _json({"sessions": await in_thread(lambda: self.store.forget(session))})

    def _session(self, id: str) -> Session:
        return self.middleware.session(id, store=self.store)

    async def _rewritten(self, body: RewriteBody) -> RewriteResult:
        options: dict[str, Any] = attrs.asdict(body.options, recurse=False)
        if body.session is not None:
            return await self._session(body.session).arewrite(
                body.utterance, key=body.key, enabled=body.enabled, **options
            )
        policy = self.middleware.policy
        if not body.enabled:
            policy = attrs.evolve(policy, enabled=False)
        return await self.middleware.arewrite(
            body.history, body.utterance, policy=policy, **options
        )

    async def _body(self, request: Request) -> bytes:
        """Return the body.

        Raises:
            HTTPException: It is no JSON, is too large or does not come.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # what a foreign web page may send without asking is not
            raise HTTPException(415, f"send content-type: application/json, not {kind or 'none'!r}")
        try:
            return await asyncio.wait_for(self._received(request), self.body_timeout)
        except asyncio.TimeoutError as error:  # not the built-in one before Python 3.11
            raise HTTPException(
                408, f"the body was not here within {self.body_timeout} seconds"
            ) from error

    async def _received(self, request: Request) -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self.max_body:
                raise HTTPException(413, f"the body may have at most {self.max_body} bytes")
        return bytes(body)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")


def _saying(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        return _json({"error": str(error)}, status)

    return answer


async def _refused(request: Request, error: Exception) -> Response:
    status, detail = getattr(error, "status_code", 500), getattr(error, "detail", "")
    if status in (404, 405):
        detail = f"there is no {request.method} {request.url.path}; there are: {_ROUTES}"
    response = _json({"error": detail}, status)
    response.headers.update(getattr(error, "headers", None) or {})
    if status in (408, 413):
        response.headers["connection"] = "close"  # the rest of the body is not read
    return response
