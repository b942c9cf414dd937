"""Rewrites incomplete utterances of a dialogue into self-contained ones by editing them."""

from queen_sdk.batching import MicroBatcher
from queen_sdk.breaker import CircuitBreaker
from queen_sdk.decoding import DecodingSettings, decode
from queen_sdk.errors import QueenError
from queen_sdk.middleware import Middleware
from queen_sdk.options import CallOptions
from queen_sdk.policy import Policy
from queen_sdk.rewriter import Explanation, Rewriter
from queen_sdk.session import Session
from queen_sdk.stores import MemoryStore, RedisStore, SqliteStore, Store
from queen_sdk.values import Edit, RewriteResult, Source, Timings, Token, Turn

__version__ = "0.1.0"

__all__ = [
    "CallOptions",
    "CircuitBreaker",
    "DecodingSettings",
    "Edit",
    "Explanation",
    "MemoryStore",
    "MicroBatcher",
    "Middleware",
    "Policy",
    "QueenError",
    "RedisStore",
    "RewriteResult",
    "Rewriter",
    "Session",
    "Source",
    "SqliteStore",
    "Store",
    "Timings",
    "Token",
    "Turn",
    "__version__",
    "decode",
]
