"""JSON as it comes from outside and goes back: from a file, over a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from queen_sdk.editing import apply_edits
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.values import Edit, RewriteResult, Source, Timings


def json_value(raw: bytes) -> Any:
    """Return the value that JSON in UTF-8 stands for.

    Raises:
        InvalidArgumentError: It is not that.
    """
    try:
        return json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"is not UTF-8 (byte {error.start + 1})") from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"is not JSON ({error})") from error


def json_text(value: Any, encoding: str = "utf-8", *, indent: int | None = None) -> str:
    """Return JSON that `encoding` can hold, with as few escapes as that takes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def result_of(fields: object) -> RewriteResult:
    """Return the result that `RewriteResult.to_dict` made `fields` of.

    Fields that are not known here are left out, so that a newer server can be understood.

    Raises:
        InvalidArgumentError: They do not describe a result.
    """
    try:
        return _result(fields)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"is not the result of a rewrite ({error!r:.80})") from error


def _result(fields: Any) -> RewriteResult:
    if not isinstance(fields, Mapping):
        raise TypeError(type(fields).__name__)
    original, confidence = str(fields["original"]), fields["confidence"]
    edits = tuple(_edit(edit) for edit in fields["edits"])
    text = apply_edits(original, edits)
    if text != fields["text"]:
        raise ValueError("text and edits disagree")
    return RewriteResult(
        text,
        original=original,
        edits=edits,
        confidence=None if confidence is None else float(confidence),
        skip_reason=fields["skip_reason"],
        dropped_turns=int(fields.get("dropped_turns", 0)),
        language=fields.get("language"),
        model=fields.get("model"),
        timings=_timings(fields.get("timings", {})),
    )


def _edit(fields: Mapping[str, Any]) -> Edit:
    return Edit(
        fields["kind"],
        start=int(fields["start"]),
        end=int(fields["end"]),
        text=str(fields["text"]),
        sources=tuple(
            Source(source["turn"], start=source["start"], end=source["end"], text=source["text"])
            for source in fields["sources"]
        ),
        score=float(fields["score"]),
    )


def _timings(fields: Mapping[str, Any]) -> Timings:
    known = {stage.name for stage in attrs.fields(Timings)}
    return Timings(**{stage: float(spent) for stage, spent in fields.items() if stage in known})
