"""Draw examples from the frames, the same ones for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import attrs

from queen_sdk.data.examples import Example
from queen_sdk.data.followups.frames import HELD_OUT, FollowUp, Frame, read_anytime, read_frames
from queen_sdk.data.followups.writing import Filling, Habit, Written, apply_edits, mistype
from queen_sdk.values import Turn

PER_FRAME = 80
"""Examples that are drawn from a frame unless told otherwise."""

_UNCHANGED = 0.34
_LATE = 0.2
"""Dialogues of which the bot knows less than was said."""
_ASKED_BEFORE = 0.25
_TALKATIVE = 0.2
"""Bots that add something of no use."""
_GREETED = 0.2
_OTHER_TOPIC = 0.15
_MOST_TURNS = 6
_LED_IN = 0.08
"""Questions with something polite in front."""
_MISTYPED = 0.03
_SHOUTED = 0.01
_LOWER = 0.4
_UNMARKED = 0.4
_TRIES = 20
_OTHER_THING = re.compile(r"\{\w+?\d")
_QUESTION_MARKS = ("?", "？")


def generate(language: str, *, per_frame: int = PER_FRAME, seed: int = 13) -> list[Example]:
    """Return examples of every frame, no dialogue twice; ids are `followups-en:FRAME.NUMBER`.

    A frame that has less to offer gives fewer.
    """
    frames = read_frames(language)
    anytime = {part: read_anytime(language, held_out=part) for part in (False, True)}
    examples: list[Example] = []
    for frame in frames:
        held_out = frame.number >= HELD_OUT
        others = [f for f in frames if (f.number >= HELD_OUT) == held_out]
        chance = random.Random(f"{seed} {language} {frame.name}")
        drawer = _Drawer(language, frame, others, anytime[held_out], chance)
        found: dict[tuple[tuple[Turn, ...], str], Example] = {}
        for _ in range(per_frame * _TRIES):
            if len(found) == per_frame:
                break
            drawn = drawer.draw(f"followups-{language}:{frame.number}.{len(found)}")
            found.setdefault((drawn.history, drawn.utterance), drawn)
        examples += found.values()
    return examples


class _Drawer:
    """Draws examples from one frame."""

    def __init__(
        self,
        language: str,
        frame: Frame,
        others: Sequence[Frame],
        anytime: Sequence[str],
        chance: random.Random,
    ) -> None:
        self._language = language
        self._frame = frame
        self._others = others
        self._anytime = anytime
        self._chance = chance
        self._waiting: dict[bool, list[FollowUp]] = {True: [], False: []}

    def draw(self, name: str) -> Example:
        chance = self._chance
        changed = chance.random() >= _UNCHANGED
        follow_up = self._next(changed)
        filling = Filling(self._frame.lists, chance)
        text = follow_up.text if changed else self._unchanged(follow_up)
        if changed or text is follow_up.text:
            text = filling.write(text)
        if text.endswith(_QUESTION_MARKS) and chance.random() < _LED_IN:
            text = self._joined(filling.write("{lead}"), _uncapitalised(text))
        if chance.random() < _MISTYPED:
            text = mistype(text, chance)
        written = apply_edits(text)
        said = (*follow_up.history, *(self._asked_before(follow_up) if changed else ()))
        turns = [attrs.evolve(turn, text=filling.write(turn.text)) for turn in said]
        if turns[-1].role == "assistant" and chance.random() < _TALKATIVE:
            more = self._joined(turns[-1].text, filling.write("{aside}"))
            turns[-1] = attrs.evolve(turns[-1], text=more)
        history = self._preceded(self._cut(turns, written))
        habit = self._habit()
        return Example(
            tuple(
                attrs.evolve(turn, text=habit.apply(turn.text)) if turn.role == "user" else turn
                for turn in history
            ),
            utterance=habit.apply(written.utterance),
            reference=habit.apply(written.reference),
            id=name,
        )

    def _next(self, changed: bool) -> FollowUp:
        """Return the follow-ups in turn, in an order that changes from round to round."""
        waiting = self._waiting[changed]
        if not waiting:
            all_of_them = self._frame.follow_ups
            wanted = [f for f in all_of_them if f.changed is changed] or list(all_of_them)
            waiting += self._chance.sample(wanted, len(wanted))
        return waiting.pop()

    def _asked_before(self, follow_up: FollowUp) -> tuple[Turn, ...]:
        """Sometimes return another question about the same thing, and an answer without news."""
        if self._chance.random() >= _ASKED_BEFORE:
            return ()
        copied = apply_edits(follow_up.text).copied
        before = [
            said.utterance
            for other in self._frame.follow_ups
            if other.text != follow_up.text and other.history == follow_up.history
            if not _OTHER_THING.search(other.text)
            for said in [apply_edits(other.text)]
            if said.copied
            and said.replaces
            and all(any(c in copy for copy in copied) for c in said.copied)
            if said.utterance.endswith(_QUESTION_MARKS)
        ]
        if not before:
            return ()
        return Turn(self._chance.choice(before)), Turn("{reply}", role="assistant")

    def _unchanged(self, follow_up: FollowUp) -> str:
        """Return the follow-up, the opening said of other things, another topic, or small talk."""
        kind = self._chance.random()
        own, other = self._frame.opening, self._chance.choice(self._others)
        if kind < 0.4 and not follow_up.changed:
            return follow_up.text
        if kind < 0.6 and own is not None:
            return Filling(self._frame.lists, self._chance).write(own)
        if kind < 0.75 and other.opening is not None:
            return Filling(other.lists, self._chance).write(other.opening)
        return Filling(self._frame.lists, self._chance).write(self._chance.choice(self._anytime))

    def _cut(self, turns: list[Turn], written: Written) -> list[Turn]:
        """Sometimes leave turns out, if everything that is copied still stands in another."""
        if self._chance.random() >= _LATE:
            return turns
        shorter = self._chance.choice(
            ([turn for turn in turns if turn.role == "user"], turns[-1:], turns[-2:])
        )
        texts = [turn.text.casefold() for turn in shorter]
        kept = all(any(c.casefold() in text for text in texts) for c in written.copied)
        return shorter if shorter and kept else turns

    def _preceded(self, turns: list[Turn]) -> list[Turn]:
        """Sometimes put a greeting or another topic in front."""
        kind = self._chance.random()
        before: Sequence[Turn] = ()
        lists = self._frame.lists
        if turns[0].role == "user" and kind < _GREETED:
            before = (Turn("{greeting}"), Turn("{welcome}", role="assistant"))
        elif turns[0].role == "user" and kind < _GREETED + _OTHER_TOPIC:
            other = self._chance.choice(self._others)
            if other is not self._frame and other.opening is not None:
                before, lists = other.turns[:2], other.lists
        filling = Filling(lists, self._chance)
        written = [attrs.evolve(turn, text=filling.write(turn.text)) for turn in before]
        return (written + turns)[-_MOST_TURNS:] if len(turns) + 2 <= _MOST_TURNS else turns

    def _joined(self, first: str, second: str) -> str:
        if self._language == "en":
            return f"{first} {second}"
        return first + ("，" if first[-1:].isalnum() else "") + second

    def _habit(self) -> Habit:
        chance = self._chance
        latin = self._language == "en"
        upper, lower = chance.random() < _SHOUTED, chance.random() < _LOWER
        return Habit(latin and lower, latin and upper, chance.random() < _UNMARKED)


_FIRST_WORD = re.compile(
    r"^(?:\[[^>\]]*>)?\[?"
    r"(?:And|Are|Can|Could|Did|Do|Does|How|Is|What|When|Where|Which|Who|Why|Will|Would)\b"
)
"""Of a text, and of what an edit at its beginning puts there."""


def _uncapitalised(text: str) -> str:
    for _ in range(2):  # "[How about>Is" has one of either kind
        text = _FIRST_WORD.sub(lambda word: word[0].lower(), text)
    return text
