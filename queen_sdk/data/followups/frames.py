"""Frames: dialogues with slots and the follow-ups that fit them, as their files hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files

import attrs

from queen_sdk.errors import DataError
from queen_sdk.values import Role, Turn

HELD_OUT = 1000
"""The number of the first frame of the evaluation part."""

_ROLES: Mapping[str, Role] = {"u": "user", "a": "assistant"}


@attrs.frozen
class FollowUp:
    """Something a user may say after some turns."""

    history: tuple[Turn, ...]
    text: str
    """With slots, choices and edits; without edits it stays unchanged."""

    @property
    def changed(self) -> bool:
        """Whether it holds edits."""
        return "[" in self.text


@attrs.frozen
class Frame:
    """A dialogue with slots."""

    name: str
    number: int
    """Its place in the file, from 0; from `HELD_OUT` in the evaluation part."""
    lists: Mapping[str, tuple[str, ...]]
    """Fillers by slot: its own and those of its language."""
    turns: tuple[Turn, ...]
    follow_ups: tuple[FollowUp, ...]

    @property
    def opening(self) -> str | None:
        """What the user begins with, which needs no history; None where the bot begins."""
        return self.turns[0].text if self.turns[0].role == "user" else None


def read_frames(language: str) -> list[Frame]:
    """Return every frame of a language, those of the evaluation part last."""
    lists = dict(_fillers(line) for line in _lines(f"{language}-lists.txt"))
    return [
        frame
        for name, first in ((f"{language}.txt", 0), (f"{language}-held-out.txt", HELD_OUT))
        for frame in _frames(name, first, lists)
    ]


def read_anytime(language: str, *, held_out: bool = False) -> list[str]:
    """Return what can be said at any time, and never needs the history."""
    return list(_lines(f"{language}-anytime{'-held-out' if held_out else ''}.txt"))


def _frames(name: str, first: int, lists: Mapping[str, tuple[str, ...]]) -> Iterator[Frame]:
    blocks: list[list[str]] = []
    for line in _lines(name):
        if line.startswith("# "):
            blocks.append([])
        elif not blocks:
            raise DataError(f"{name}: {line!r} stands before the first frame ('# name')")
        blocks[-1].append(line)
    for number, block in enumerate(blocks, start=first):
        yield _frame(block, number, lists)


def _frame(block: list[str], number: int, lists: Mapping[str, tuple[str, ...]]) -> Frame:
    own = dict(lists)
    turns: list[Turn] = []
    follow_ups: list[FollowUp] = []
    for line in block[1:]:
        key, _, text = line.partition(" ")
        if key == "-":
            follow_ups.append(FollowUp(tuple(turns), text))
        elif key[:-1] in _ROLES:
            turns.append(Turn(text, role=_ROLES[key[:-1]]))
        else:
            own.update([_fillers(line)])
    if not turns or not follow_ups:
        raise DataError(f"frame {block[0]!r} lacks turns ('u: ', 'a: ') or follow-ups ('- ')")
    return Frame(block[0][2:], number, own, tuple(turns), tuple(follow_ups))


def _fillers(line: str) -> tuple[str, tuple[str, ...]]:
    name, sign, fillers = line.partition(" = ")
    if not sign:
        raise DataError(f"{line!r} is no turn, follow-up or list of fillers ('name = a; b')")
    return name, tuple(filler.strip() for filler in fillers.split(";"))


def _lines(name: str) -> Iterator[str]:
    text = files(__name__.rpartition(".")[0]).joinpath(name).read_text(encoding="utf-8")
    return (line.strip() for line in text.split("\n") if line.strip())
