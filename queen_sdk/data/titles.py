"""Stand-ins for the titles that CANARD's training part lacks, for training only.

They are derived from the references, or made up; nothing here may be used where a model is judged
on an evaluation part.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

_MARKS = ".,?!\"'() "
_HEADINGS = (
    "Early life",
    "Early years",
    "Childhood and education",
    "Family and personal life",
    "Personal life",
    "Career",
    "Early career",
    "Later career",
    "Solo career",
    "Political career",
    "Beginnings",
    "Formation",
    "Breakthrough",
    "Return",
    "Breakup and reunion",
    "Later years",
    "Retirement",
    "Death",
    "Legacy",
    "Influences",
    "Musical style",
    "Playing style",
    "Works",
    "Writing",
    "Film and television",
    "Reception",
    "Awards and honors",
    "Critical response",
    "Controversy",
    "Criticism",
    "Public image",
    "Views",
    "Philanthropy",
    "Trial",
    "Military service",
    "Production",
    "Plot",
    "History",
    "Background",
    "Other projects",
)
_ASKING = frozenset(
    "what who whom whose why when where how which did do does was were is are has have had can"
    " could besides aside other in after before during".split()
)
_KINDS = ("band", "musician", "singer", "actor", "politician", "baseball", "film", "album")
_SECTION_SHARE, _KIND_SHARE = 0.85, 0.12
_LEADING = re.compile(r"^(?:about|at|by|for|from|of|on|than|to|with) ")
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][\w'\u2019-]+ ?){1,4}")


def stand_in_title(turns: Iterable[tuple[str, str]]) -> str:
    """Return the capitalised text that the rewrites of a dialogue insert most often, or "".

    Each turn is a question and its rewrite.
    """
    written: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for question, rewrite in turns:
        before, after = ([w.strip(_MARKS).lower() for w in t.split()] for t in (question, rewrite))
        for tag, _, _, start, end in SequenceMatcher(None, before, after, False).get_opcodes():
            span = " ".join(rewrite.split()[start:end]).strip(_MARKS)
            span = _LEADING.sub("", re.sub(r"['\u2019]s?$", "", span))
            # Titles have a capital; so has the first word of a question.
            if tag != "equal" and span and not (span.islower() or after[start] in _ASKING):
                counts[span.lower()] += 1
                written.setdefault(span.lower(), span)
    return written[counts.most_common(1)[0][0]] if counts else ""


def stand_in_headings(title: str, answers: Sequence[str], seed: str) -> tuple[str, ...]:
    """Return a title as an encyclopedia may write it and, mostly, the heading of a section.

    Without a title, the name that answers have most often is one; nothing if they have none.

    Some titles get a word in brackets that says what they are. A heading is made up, with or
    without years, or it is a name out of an answer: what a model has to look past.
    """
    title = title or _most_frequent(_names_in(answers))
    if not title:
        return ()
    chance = random.Random(seed)
    if chance.random() < _KIND_SHARE:
        title = f"{title} ({chance.choice(_KINDS)})"
    if chance.random() >= _SECTION_SHARE:
        return (title,)
    return (title, _heading(title, answers, chance))


def _names_in(answers: Sequence[str]) -> list[str]:
    return [name.strip() for answer in answers for name in _NAME.findall(answer)]


def _most_frequent(names: Sequence[str]) -> str:
    return Counter(names).most_common(1)[0][0] if names else ""


def _heading(title: str, answers: Sequence[str], chance: random.Random) -> str:
    names = [name for name in _names_in(answers) if name not in title]
    heading = chance.choice(_HEADINGS)
    if names and chance.random() < 0.3:
        heading = chance.choice(names)
    start = chance.randint(1890, 2012)
    years = f"{start}-{start + chance.randint(1, 9)}"
    return chance.choice((heading, heading, heading, f"{heading} ({years})", f"{years}: {heading}"))
