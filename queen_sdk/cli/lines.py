"""The JSON lines of `queen batch`, read and checked one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import attrs

from queen_sdk.dialogue import read_history, read_utterance
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.values import RewriteResult, Turn
from queen_sdk.wire import json_value

_RESULT_FIELDS = ("edits", "confidence", "skip_reason")


@attrs.frozen(kw_only=True)
class Line:
    """A line that can be rewritten."""

    record: Mapping[str, Any]
    """The object as it came."""
    history: tuple[Turn, ...]
    utterance: str
    size: int
    """Bytes of the line."""

    def answered(self, result: RewriteResult) -> dict[str, Any]:
        """Return the object with what came of it."""
        fields = result.to_dict()
        added = {name: fields[name] for name in _RESULT_FIELDS}
        return {**self.record, "rewrite": result.text, **added}


@attrs.frozen(kw_only=True)
class BadLine:
    """A line that cannot be rewritten."""

    record: Mapping[str, Any]
    """The object as it came, or the text under `line` if it is no object."""
    place: str
    """File and line number."""
    problem: str
    """What is wrong."""
    size: int
    """Bytes of the line."""

    def failed(self) -> dict[str, Any]:
        """Return the object with what is wrong."""
        return {**self.record, "error": self.problem}


def read_lines(source: BinaryIO, *, name: str) -> Iterator[Line | BadLine]:
    """Read lines lazily; empty ones are left out but counted."""
    for number, raw in enumerate(source, start=1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if raw.strip():
            yield _read(raw, f"{name}, line {number}")


def _read(raw: bytes, place: str) -> Line | BadLine:
    text = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
    record: Mapping[str, Any] = {"line": text}
    try:
        data = json_value(raw)
        if not isinstance(data, dict):
            raise InvalidArgumentError(f"must be a JSON object, got {text!r:.60}")
        record = data
        for key in ("history", "utterance"):
            if key not in data:
                raise InvalidArgumentError(f"the key {key!r} is missing")
        return Line(
            record=data,
            history=read_history(data["history"]),
            utterance=read_utterance(data["utterance"]),
            size=len(raw),
        )
    except InvalidArgumentError as error:
        return BadLine(record=record, place=place, problem=str(error), size=len(raw))
