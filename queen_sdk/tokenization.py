"""Text to tokens: words, Chinese characters, marks and emoji, each with its offsets.

One rule set for every language, so that mixed text needs no decision: a Han or kana character is
a token, and so is a word of any other script, a punctuation mark, and an emoji with its modifiers
and joiners. White space, control and format characters and lone surrogates belong to no token.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

from queen_sdk.values import Token

_CJK = (
    "\u3005-\u3007\u3021-\u3029\u3040-\u309f\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U000323af"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u20d0-\u20df\ufe20-\ufe2f"
)
_LETTER = rf"(?![{_CJK}])[^\W_][{_MARKS}]*"
_WORD = rf"(?:{_LETTER})+"
_CLITIC = r"['’](?:s|S|ll|LL|re|RE|ve|VE|d|D|m|M)(?!\w)"
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_MODIFIERS = "[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
_IGNORED = (
    r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef"
)
_SYMBOLS = frozenset("%‰#@&％＃＠＆")
"""Punctuation to Unicode, part of what is meant to a reader."""

_TOKEN = re.compile(
    rf"""
      [{_CJK}][\ufe00-\ufe0f\U000e0100-\U000e01ef]*       # a character and its variation selector
    | [0-9\#*]\ufe0f?\u20e3                               # keycap
    | [\U0001f1e6-\U0001f1ff]{{2}}                        # flag
    | {_EMOJI}{_MODIFIERS}(?:\u200d{_EMOJI}{_MODIFIERS})* # emoji, joined ones whole
    | {_CLITIC}                                           # 's, 'll, ... after a word
    | {_WORD}(?:
          [-_@+&]+{_WORD}                                 # check-in, user_name, a@b
        | ['’](?!(?:s|S|ll|LL|re|RE|ve|VE|d|D|m|M)(?!\w)){_WORD}   # don't, O'Brien
        | \.(?=[a-z0-9]){_WORD}                           # 3.5, example.com
        | (?<=[0-9])[:,](?=[0-9]){_WORD}                  # 5:30, 10,000
      )*
    | [^\s\w{_IGNORED}{_MARKS}][{_MARKS}\ufe0e\ufe0f]*          # any other mark
    | _
    """,
    re.VERBOSE,
)


def tokenize(text: str, *, start: int = 0, marks: bool = True) -> tuple[Token, ...]:
    """Cut `text` into tokens from offset `start` on; `text[t.start:t.end] == t.text` for each.

    Without `marks`, punctuation belongs to no token.
    """
    return tuple(
        Token(match.group(), start=match.start(), end=match.end())
        for match in _TOKEN.finditer(text, start)
        if marks or not is_mark(match.group())
    )


def token_spans(text: str, most: int) -> list[tuple[int, int]]:
    """Return the offsets of the first `most` tokens: many times quicker than the tokens."""
    return [match.span() for match in islice(_TOKEN.finditer(text), most)]


def is_mark(token: str) -> bool:
    """Tell whether a token is punctuation, unlike words, clitics such as 's, symbols and emoji."""
    first = token[0]
    if first.isalnum() or first in _SYMBOLS or unicodedata.category(first)[0] != "P":
        return False
    return not any(map(str.isalnum, token))
