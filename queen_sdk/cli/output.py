"""Text and JSON to streams that may not be able to hold every character."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from queen_sdk.values import RewriteResult
from queen_sdk.wire import json_text


def say(text: str, *, stream: TextIO | None = None) -> None:
    r"""Print a line, on stdout by default; what its encoding cannot hold becomes `\uXXXX`."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def say_json(value: Any) -> None:
    """Print a value as one line of JSON on stdout."""
    print(json_text(value, sys.stdout.encoding or "utf-8"))


def details(result: RewriteResult) -> list[str]:
    """Return what there is to say below a rewrite: edits, confidence or skip reason."""
    lines = [str(edit) for edit in result.edits]
    sure = None if result.confidence is None else f"confidence {result.confidence:.2f}"
    if result.skip_reason is None:
        lines.append(sure or "confidence unknown")
    else:
        lines.append(f"unchanged: {result.skip_reason}" + (f" ({sure})" if sure else ""))
    if result.dropped_turns:
        lines.append(f"turns left out or cut: {result.dropped_turns}")
    return lines
