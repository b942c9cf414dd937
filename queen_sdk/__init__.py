"""Rewrites incomplete utterances of a dialogue into self-contained ones by editing them."""

from queen_sdk.decoding import DecodingSettings, decode
from queen_sdk.errors import QueenError
from queen_sdk.rewriter import Explanation, Rewriter
from queen_sdk.values import Edit, RewriteResult, Source, Timings, Token, Turn

__version__ = "0.1.0"

__all__ = [
    "DecodingSettings",
    "Edit",
    "Explanation",
    "QueenError",
    "RewriteResult",
    "Rewriter",
    "Source",
    "Timings",
    "Token",
    "Turn",
    "__version__",
    "decode",
]
