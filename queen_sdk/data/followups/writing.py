"""Templates to text: choices, slots, edits, and the habits of a writer."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

import attrs

from queen_sdk.errors import DataError

_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_SLOT = re.compile(r"\{([A-Za-z_]+)(\d?)(?:/(\d))?\}")
_ARTICLE = re.compile(r"(?<=\b[aA])(?= [aeioAEIO])")
_EDIT = re.compile(r"\[([^\[\]>]*)>([^\[\]>]*)\]")
_SPACE_BEFORE_MARK = re.compile(r" +(?=[?.!,])")
_LAST_MARKS = "?.!？。！"
_MISTYPABLE = re.compile(r"(?<![\w'])[a-z]{5,}(?![\w'])")


class Filling:
    """One choice of fillers: a slot means the same wherever it stands, `{city2}` another city."""

    def __init__(self, lists: Mapping[str, tuple[str, ...]], chance: random.Random) -> None:
        """Take the fillers by slot and the source of chance."""
        self._lists = lists
        self._chance = chance
        self._order: dict[str, list[str]] = {}

    def write(self, template: str) -> str:
        """Take one of each `(a|b)`, and put fillers into slots.

        `{city/1}` is the second field of a filler whose fields are separated by slashes, `{City}`
        begins with a capital letter.
        """
        before = None
        while before != template:  # choices and fillers may hold others
            before = template
            template = _CHOICE.sub(lambda m: self._chance.choice(m[1].split("|")), template)
            template = _SLOT.sub(self._filler, template)
        return _ARTICLE.sub("n", template)

    def _filler(self, slot: re.Match[str]) -> str:
        name, which, field = slot[1].lower(), int(slot[2] or 1), int(slot[3] or 0)
        if name not in self._lists:
            raise DataError(f"no list of fillers is called {name!r}")
        if name not in self._order:
            self._order[name] = self._chance.sample(self._lists[name], len(self._lists[name]))
        try:
            filler = self._order[name][which - 1].split("/")[field]
        except IndexError:
            raise DataError(f"{slot[0]}: the fillers of {name!r} are too few") from None
        return filler[0].upper() + filler[1:] if slot[1][0].isupper() else filler


@attrs.frozen
class Written:
    """A follow-up in two versions."""

    utterance: str
    reference: str
    copied: tuple[str, ...]
    """What the reference takes from the history."""
    replaces: bool
    """Whether every edit replaces something."""


def apply_edits(text: str) -> Written:
    """Return what the user says, and what is meant."""
    edits = [match.groups() for match in _EDIT.finditer(text)]
    said, meant = (_tidy(_EDIT.sub(rf"\{group}", text)) for group in (1, 2))
    return Written(said, meant, tuple(copy for _, copy in edits), all(old for old, _ in edits))


def _tidy(text: str) -> str:
    return _SPACE_BEFORE_MARK.sub("", re.sub(" {2,}", " ", text)).strip()


@attrs.frozen
class Habit:
    """How somebody writes."""

    lower: bool = False
    upper: bool = False
    unmarked: bool = False
    """Ends no sentence with a mark."""

    def apply(self, text: str) -> str:
        """Return the text as this writer would type it."""
        if self.unmarked:
            text = text.rstrip(_LAST_MARKS) or text
        if self.upper:
            return text.upper()
        return text.lower() if self.lower else text


def mistype(template: str, chance: random.Random) -> str:
    """Leave out or swap two letters of a word that the edits leave alone."""
    places = [
        (match.start(), match.end())
        for kept in re.finditer(r"(?:^|\])([^\[\]]*)", template)
        for match in _MISTYPABLE.finditer(template, kept.start(1), kept.end(1))
    ]
    if not places:
        return template
    start, end = chance.choice(places)
    k = chance.randrange(start + 1, end - 2)
    swapped = template[k + 1] + template[k] if chance.random() < 0.5 else template[k]
    return template[:k] + swapped + template[k + 2 :]
