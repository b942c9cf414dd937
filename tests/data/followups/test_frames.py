from __future__ import annotations

import re
from itertools import chain, pairwise

import pytest

from queen_sdk.data.followups.frames import read_anytime, read_frames

LANGUAGES = ("en", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_frames_share_a_name_or_an_opening(language: str) -> None:
    frames = read_frames(language)
    names = [frame.name for frame in frames]
    assert len(set(names)) == len(names)
    openings = [frame.turns[0].text for frame in frames]
    assert len(set(openings)) == len(openings)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_frame_has_both_kinds_of_follow_ups(language: str) -> None:
    for frame in read_frames(language):
        assert {f.changed for f in frame.follow_ups} == {True, False}, frame.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_follow_ups_come_after_a_turn(language: str) -> None:
    for frame in read_frames(language):
        assert all(f.history for f in frame.follow_ups), frame.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_turn_of_a_frame_is_followed_by_the_other_side(language: str) -> None:
    for frame in read_frames(language):
        roles = [turn.role for turn in frame.turns]
        assert all(a != b for a, b in pairwise(roles)), frame.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_fits_anytime_holds_no_edits_and_refers_to_nothing(language: str) -> None:
    lines = read_anytime(language), read_anytime(language, held_out=True)
    assert not set(lines[0]) & set(lines[1])
    for line in chain(*lines):
        assert "[" not in line
        assert not re.search(r"\b(he|she|they|him|her|them|its|their)\b", line), line
        assert not re.search("[他她它]", line), line
