"""Rewriters without a model: what any model has to beat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from queen_sdk.data.examples import Example
from queen_sdk.errors import InvalidArgumentError

_ENGLISH_PRONOUN = re.compile(
    r"\b(?:he|him|she|it|they|them|his|hers|its|theirs?|her(?:(?=\s+(?P<behind_her>\w+))|))\b",
    re.IGNORECASE,
)
_POSSESSIVES = frozenset(("his", "hers", "its", "their", "theirs"))
_FUNCTION_WORD = re.compile(
    "a|about|after|all|also|am|an|and|any|are|as|at|be|because|been|but|by|can|could|did|do|"
    "does|during|each|for|from|had|has|have|he|hello|her|here|hi|him|his|how|i|i'd|i'll|i'm|"
    "i've|if|in|is|it|it's|its|just|many|may|me|more|most|much|my|no|not|of|ok|okay|on|one|or|"
    "other|our|please|she|should|so|some|sorry|than|thank|thanks|that|the|their|them|then|"
    "there|these|they|this|those|to|was|we|well|were|what|when|where|which|who|whom|whose|why|"
    "will|with|would|yes|you|your",
    re.IGNORECASE,
)
_WORD_OR_MARK = re.compile(r"\w+(?:(?!['\u2019]s\b)[-'\u2019.&]\w+)*|['\u2019]s\b|[^\w\s]")
_NAME_LINKS = frozenset(("of", "the", "and", "&"))
_LONGEST_NOUN_CHUNK = 4

_CHINESE_PRONOUN = re.compile("(?<![其吉])[他她它]们?")  # not in 其他 (other) and 吉他 (guitar)
_NO_CHINESE_CONTENT = re.compile(
    "为什么|怎么样|什么|怎么|知道|认识|喜欢|觉得|可以|没有|因为|所以|如果|但是|就是|不是|还是|一个|这个|那个"
    "|一下|[我你您他她它们的了吗呢吧啊呀哦嗯哈是有在和跟也都就不没很挺太真好还又要想会能说看听爱谁哪这那啥]"
    "|[给让被把对吃去来到过]|[^\u4e00-\u9fff]+"
)


def copy(example: Example) -> str:
    """Return the utterance as it is."""
    return example.utterance


def pronoun_substitution(example: Example, language: str) -> str:
    """Put one name or noun of the history in the place of every third-person pronoun.

    Demonstratives stay: "that" and "there" are more often something else. Without a candidate,
    nothing is replaced. The candidate is found without a parser:

    `en`: the last run of capitalised words in the history, function words ("What", "The") not
    counted, else the last "the ..." or "a ..." up to the next function word or mark. "his" and its
    like become the candidate with 's.

    `zh`: cut the turns at function words and at everything that is no Chinese character, and keep
    what has two characters or more: the longest piece that a later turn says again, else the first
    piece of the history.

    Raises:
        InvalidArgumentError: if `language` is neither `en` nor `zh`.
    """
    turns = [turn.text for turn in example.history]
    if language == "en":
        return _substitute_english(example.utterance, _english_candidate(turns))
    if language == "zh":
        return _substitute_chinese(example.utterance, _chinese_candidate(turns))
    raise InvalidArgumentError(f"language must be 'en' or 'zh', got {language!r}.")


def _substitute_english(utterance: str, candidate: str | None) -> str:
    if candidate is None:
        return utterance

    def replacement(match: re.Match[str]) -> str:
        behind_her = match["behind_her"]
        # "her" before a noun is whose it is; before "to", "about" or nothing, an object.
        owner = behind_her is not None and not _FUNCTION_WORD.fullmatch(behind_her)
        return f"{candidate}'s" if owner or match[0].lower() in _POSSESSIVES else candidate

    return _ENGLISH_PRONOUN.sub(replacement, utterance)


def _substitute_chinese(utterance: str, candidate: str | None) -> str:
    return utterance if candidate is None else _CHINESE_PRONOUN.sub(candidate, utterance)


def _english_candidate(turns: Sequence[str]) -> str | None:
    for chunks in (_names, _noun_chunks):
        for turn in reversed(turns):
            found = list(chunks(turn))
            if found:
                return found[-1]
    return None


def _names(turn: str) -> Iterator[str]:
    """Yield the runs of capitalised words; "of", "the" and "and" may stand within one."""
    run: list[re.Match[str]] = []
    for match in [*_WORD_OR_MARK.finditer(turn), None]:
        if match and _is_name_word(match.group()):
            run.append(match)
        elif run and match and match.group() in _NAME_LINKS:
            continue
        elif run:
            yield turn[run[0].start() : run[-1].end()]
            run = []


def _is_name_word(word: str) -> bool:
    return word[0].isupper() and not _FUNCTION_WORD.fullmatch(word)


def _noun_chunks(turn: str) -> Iterator[str]:
    """Yield "the", "a" or "an" and the words behind, up to a function word or a mark."""
    words = list(_WORD_OR_MARK.finditer(turn))
    for index, first in enumerate(words):
        if first.group().lower() not in ("the", "a", "an"):
            continue
        last = first
        for match in words[index + 1 : index + _LONGEST_NOUN_CHUNK]:
            if _FUNCTION_WORD.fullmatch(match.group()) or not match.group()[0].isalnum():
                break
            last = match
        if last is not first:
            yield turn[first.start() : last.end()]


def _chinese_candidate(turns: Sequence[str]) -> str | None:
    pieces = [
        (index, piece)
        for index, turn in enumerate(turns)
        for piece in _NO_CHINESE_CONTENT.split(turn)
        if len(piece) > 1
    ]
    shared = [
        piece[start:end]
        for index, piece in pieces
        for start in range(len(piece) - 1)
        for end in range(start + 2, len(piece) + 1)
        if any(piece[start:end] in later for later in turns[index + 1 :])
    ]
    if shared:
        return max(shared, key=len)
    return pieces[0][1] if pieces else None
