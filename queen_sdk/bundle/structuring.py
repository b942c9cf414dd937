"""JSON to attrs values, strictly: each field must be there, known, and of its declared type."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

T = TypeVar("T", bound="attrs.AttrsInstance")

_PLAIN: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a finite number",
}


def structure(kind: type[T], data: object, *, where: str = "") -> T:
    """Make an attrs value of `kind` from a parsed JSON object.

    A field with a default may be missing. Fields may be plain values, attrs values, tuples and
    mappings of those, and any of these or None.

    Raises:
        ValueError: Something is missing, unknown or of the wrong type; the message says where.
    """
    if not isinstance(data, dict):
        raise ValueError(f"{where or 'the content'} must be an object, got {_shown(data)}")
    fields = {field.name: field for field in attrs.fields(kind)}
    prefix = f"{where}." if where else ""
    unknown = sorted(data.keys() - fields.keys())
    if unknown:
        raise ValueError(
            f"the field {prefix}{unknown[0]} is unknown (known are {', '.join(fields)}); "
            "it may be of a newer release of queen-sdk"
        )
    missing = [n for n, f in fields.items() if f.default is attrs.NOTHING and n not in data]
    if missing:
        raise ValueError(f"the field {prefix}{missing[0]} is missing")
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], data[name], prefix + name) for name in data})


def _value(kind: Any, data: object, where: str) -> Any:
    if attrs.has(kind):
        return structure(kind, data, where=where)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not types.NoneType)
        return None if data is None else _value(inner, data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise ValueError(f"{where} must be an array, got {_shown(data)}")
        return tuple(_value(arguments[0], item, f"{where}[{k}]") for k, item in enumerate(data))
    if origin is Mapping:
        if not isinstance(data, dict):
            raise ValueError(f"{where} must be an object, got {_shown(data)}")
        return {key: _value(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    return data if kind is Any else _plain(kind, data, where)


def _plain(kind: type, data: object, where: str) -> Any:
    if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        if abs(data) <= sys.float_info.max:
            return float(data)
    elif type(data) is kind:
        return data
    raise ValueError(f"{where} must be {_PLAIN[kind]}, got {_shown(data)}")


def _shown(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."
