"""The bodies of `queen_sdk.server.bodies` as `/openapi.json` describes them."""

from __future__ import annotations

from typing import Any

_TEXT: dict[str, Any] = {"type": "string"}
_TURN: dict[str, Any] = {
    "oneOf": [
        _TEXT,
        {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2},
        {
            "type": "object",
            "properties": {"role": _TEXT, "content": _TEXT},
            "required": ["role", "content"],
        },
    ]
}
_BODIES: dict[str, dict[str, Any]] = {
    "/rewrite": {
        "properties": {
            "utterance": _TEXT,
            "history": {"type": "array", "items": _TURN},
            "session": _TEXT,
            "key": {"type": ["string", "null"]},
            "enabled": {"type": "boolean", "default": True},
            "threshold": {"type": ["number", "null"]},
            "min_confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
            "protect": {"type": "array", "items": _TEXT},
        },
        "required": ["utterance"],
        "oneOf": [{"required": ["history"]}, {"required": ["session"]}],
    },
    "/turns": {
        "properties": {
            "session": _TEXT,
            "text": _TEXT,
            "role": {**_TEXT, "default": "assistant"},
            "key": {"type": ["string", "null"]},
        },
        "required": ["session", "text"],
    },
    "/forget": {"properties": {"session": _TEXT}, "required": ["session"]},
}


def body_of(path: str) -> dict[str, Any]:
    """Return what OpenAPI says of the body of `POST path`."""
    schema = {"type": "object", "additionalProperties": False, **_BODIES[path]}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
