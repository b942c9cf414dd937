"""`queen serve`: the rewriter behind HTTP."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing

from queen_sdk import __version__
from queen_sdk.cli.command import Command, add_call_options
from queen_sdk.errors import missing_extra
from queen_sdk.middleware import Middleware
from queen_sdk.options import CallOptions
from queen_sdk.policy import Policy
from queen_sdk.rewriter import Rewriter
from queen_sdk.stores import MemoryStore, RedisStore, SqliteStore, Store


def _configure(parser: argparse.ArgumentParser) -> None:
    add_call_options(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="port to listen on (8765)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=0.5,
        metavar="S",
        help="seconds after which an utterance is passed on as it is (0.5)",
    )
    parser.add_argument(
        "--max-history", type=int, default=20, metavar="N", help="newest turns that are used (20)"
    )
    parser.add_argument(
        "--max-body", type=int, default=1_000_000, metavar="N", help="bytes of a request (1000000)"
    )
    parser.add_argument(
        "--store",
        metavar="FILE|redis://...",
        help="where sessions are kept (default: in memory, until the server stops)",
    )


def _run(arguments: argparse.Namespace) -> int:
    try:
        import uvicorn
    except ImportError as error:
        raise missing_extra("uvicorn", "server") from error
    from queen_sdk.server.app import create_app

    policy = Policy(
        timeout=arguments.timeout,
        max_history=arguments.max_history,
        options=CallOptions(threshold=arguments.threshold, min_confidence=arguments.min_confidence),
    )
    with ExitStack() as opened:
        rewriter = opened.enter_context(Rewriter(arguments.bundle, threads=1))
        rewriter.warm_up()  # else the first call would wait for it, and be late
        store = opened.enter_context(closing(_store(arguments.store)))
        middleware = opened.enter_context(Middleware(rewriter, policy))
        app = create_app(middleware, store=store, max_body=arguments.max_body, version=__version__)
        # The middleware writes its own line for each call; paths say nothing more.
        uvicorn.run(app, host=arguments.host, port=arguments.port, access_log=False)
    return 0


def _store(place: str | None) -> Store:
    if place is None:
        return MemoryStore()
    if place.startswith(("redis://", "rediss://", "unix://")):
        return RedisStore(place)
    return SqliteStore(place)


COMMAND = Command("serve", help="answer rewrite requests over HTTP", configure=_configure, run=_run)
