"""Texts and dialogues as hypothesis draws them: mixed scripts, and all that is odd in Unicode."""

from __future__ import annotations

from hypothesis import strategies as st

ENGLISH = "he she He it Smith Anna the The restaurant cuisine does not care about type".split()
CHINESE = (
    "他",
    "她",
    "史密斯",
    "北京",
    "天气",
    "怎样",
    "喜欢",
    "的",
    "吗",
    "關於",
    "這裡",
    "㐀",
    "𠀀",
)
MARKS = (*".,;:!?'\"()[]-_@+&#*$%/…", "’", "“", "”", "。", "，", "？", "、", "（", "）", "《")
SPACES = (" ", "  ", "\t", "\n", "\u3000", "\u00a0", "\u2028", "\x85")
CLITICS = ("'s", "’s", "'ll", "n't", "don't", "O'Brien", "check-in", "5:30", "10,000", "a@b", "3.5")
ODD = (
    "\ud800",  # lone surrogates
    "\udfff",
    "\x00",
    "\x1b",
    "\u200b",
    "\u200d",
    "\u200e",  # left-to-right, right-to-left marks
    "\u200f",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\ufe0f",
    "\u00ad",
    "e\u0301",
    "İ",
    "ß",
    "ﬁ",
    "ｆｕｌｌ",
    "１２３",
    "！",
    "👩‍👩‍👧",
    "👍🏽",
    "🇩🇪",
    "1️⃣",
    "☀️",
    "한국",
    "مرحبا",
    "кто",
    "かな",
    "[COREF]",
    "[UNK]",
    "[SEP]",
)

_ORDINARY = st.sampled_from((*ENGLISH, *CHINESE, *MARKS, *SPACES, *CLITICS, " ", " ", " "))
_ANY_CHARACTER = st.characters(exclude_categories=())
_FRAGMENT = st.one_of(_ORDINARY, st.sampled_from(ODD), _ANY_CHARACTER)

texts = st.lists(_FRAGMENT, max_size=16).map("".join)
"""Any text."""

sentences = st.lists(_ORDINARY, min_size=1, max_size=12).map("".join)
"""Text that somebody might have typed, in English, Chinese or both."""

roles = st.sampled_from(("user", "assistant", "system", "tool"))
"""Every role."""

histories = st.lists(st.one_of(texts, sentences), max_size=4)
"""Turns of any kind."""

dialogues = st.tuples(
    st.lists(sentences, min_size=1, max_size=4), st.one_of(sentences, sentences, texts)
)
"""A history with something in it, and an utterance."""
