"""Reading a dialogue as users hand it over: history forms, roles, speaker tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from rapidfuzz import fuzz

from queen_sdk.errors import InvalidArgumentError
from queen_sdk.values import Role, Turn

HistoryItem: TypeAlias = "str | Turn | tuple[str, str] | Sequence[str] | Mapping[str, Any]"
"""A text, a `Turn`, a `(role, text)` pair, or a `{"role", "content"}` mapping."""

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}

_OWN_ROLES = frozenset(_ROLES.values())

_COLON = r"(?!(?<=\d):\d|://)[:：]"
"""Not that of a time or an address."""
_TAG = re.compile(rf"\s*(?P<name>[^\W\d_][\w .\-]{{0,23}}?)\s{{0,2}}{_COLON}\s*(?=\S)")
_ROLE_TAG = re.compile(
    r"\s*(?:user|human|customer|client|assistant|agent|bot|system|ai|q|a|question|answer|"
    r"用户|顾客|客户|客服|机器人|助手|问|答|甲|乙)\s*[:：]\s*(?=\S)",
    re.IGNORECASE,
)
_SAME_NAME = 90.0
_MOST_SPEAKERS = 32


def read_history(history: Sequence[HistoryItem]) -> tuple[Turn, ...]:
    """Turn any accepted history form into turns.

    Raises:
        InvalidArgumentError: `history` is one string, or holds an item of no accepted form.
    """
    if isinstance(history, (str, bytes, Mapping)) or not isinstance(history, Sequence):
        raise InvalidArgumentError(
            f"history must be a sequence of turns, got {type(history).__name__}; "
            "put a single turn into a list"
        )
    return tuple(_read_turn(item, index) for index, item in enumerate(history))


def read_utterance(utterance: object) -> str:
    """Return `utterance` if it is a string.

    Raises:
        InvalidArgumentError: It is not.
    """
    if not isinstance(utterance, str):
        raise InvalidArgumentError(f"utterance must be a str, got {type(utterance).__name__}")
    return utterance


def _read_turn(item: object, index: int) -> Turn:
    if isinstance(item, str):
        return Turn(item)
    if isinstance(item, Turn):
        if item.role in _OWN_ROLES and isinstance(item.text, str):
            return item
        return Turn(_text(item.text, index), role=_role(item.role, index))
    if isinstance(item, Mapping):
        if "role" not in item or "content" not in item:
            raise InvalidArgumentError(
                f"history[{index}] must have the keys 'role' and 'content', "
                f"got {sorted(map(str, item))}"
            )
        return Turn(_text(item["content"], index), role=_role(item["role"], index))
    if isinstance(item, Sequence) and not isinstance(item, bytes) and len(item) == 2:
        return Turn(_text(item[1], index), role=_role(item[0], index))
    raise InvalidArgumentError(
        f"history[{index}] is a {type(item).__name__}; allowed are str, Turn, (role, text) "
        "and {'role': …, 'content': …}"
    )


def _text(text: object, index: int) -> str:
    if not isinstance(text, str):
        raise InvalidArgumentError(
            f"the text of history[{index}] must be a str, got {type(text).__name__}"
        )
    return text


def _role(role: object, index: int) -> Role:
    known = _ROLES.get(role.lower()) if isinstance(role, str) else None
    if known is None:
        raise InvalidArgumentError(
            f"unknown role {role!r} in history[{index}]; allowed are {', '.join(_ROLES)}"
        )
    return known


def spoken_turns(turns: Sequence[Turn], utterance: str) -> list[int]:
    """Return the indices of the turns to read: user and assistant turns with some text.

    A last turn that is the utterance itself, handed over by mistake, is left out.
    """
    spoken = [
        index
        for index, turn in enumerate(turns)
        if turn.role in ("user", "assistant") and not _blank(turn.text)
    ]
    if spoken and turns[spoken[-1]].role == "user":
        last = turns[spoken[-1]].text
        if last == utterance or last.strip() == utterance.strip():
            spoken.pop()
    return spoken


def _blank(text: str) -> bool:
    return not text or text.isspace()


def tag_lengths(texts: Sequence[str]) -> list[int]:
    """Return how many leading characters of each text are a speaker tag such as "Anna: ".

    `texts` are the turns of a history and, last, the utterance. A tag is a role word ("User:",
    "Q:", "客服："), a name that tags several of the texts, or any name if every turn of a history
    has one; names that differ by a slip of the pen count as one.
    """
    found = [_TAG.match(text) for text in texts]
    counts = Counter(match["name"].casefold() for match in found if match)
    everybody = len(found) > 1 and all(found[:-1]) and (len(found) > 2 or all(found))
    speakers = {name for name in counts if everybody or _is_speaker(name, counts)}
    lengths = []
    for text, match in zip(texts, found, strict=True):
        role = _ROLE_TAG.match(text)
        if role:
            lengths.append(role.end())
        elif match and match["name"].casefold() in speakers:
            lengths.append(match.end())
        else:
            lengths.append(0)
    return lengths


def _is_speaker(name: str, counts: Counter[str]) -> bool:
    if counts[name] > 1:
        return True
    others = islice((other for other in counts if other != name), _MOST_SPEAKERS)
    return any(fuzz.ratio(name, other) >= _SAME_NAME for other in others)
