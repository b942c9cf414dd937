"""Which language a dialogue is in, as far as choosing a bundle needs to know.

Decided by script; Latin text is taken for English unless common words of another language
outnumber the English ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SCRIPTS = (
    (
        "zh",
        re.compile(
            r"[\u3005-\u3007\u3100-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
            r"\U00020000-\U000323af]"
        ),
    ),
    ("ja", re.compile(r"[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]")),
    ("ko", re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")),
    ("ar", re.compile(r"[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff]")),
    ("ru", re.compile(r"[\u0400-\u052f]")),
    ("el", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    (
        "latin",
        re.compile(
            r"[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u1d00-\u1dbf\u1e00-\u1eff"
            r"\u2c60-\u2c7f\ua722-\ua7ff\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a"
            r"\U0001d400-\U0001d7ff]"
        ),
    ),
)
_WORD = re.compile(r"[^\W\d_]+")
_COMMON = {
    "en": "the is are was were do does did and of to in it he she they what how that this with for "
    "you i my your not no yes have has can will about on at an as be by but from her his him us we "
    "who when where which if or there would could should please",
    "es": "el los las es está son y de que en un una por para con no sí qué cómo cuánto dónde su "
    "lo pero más muy hay y tiene ella mañana",
    "fr": "le les la est sont et de que qui dans un une pour avec ne pas je tu il elle nous vous "
    "combien où quel quelle mais très ce cette des du au",
    "de": "der die das ist sind und von zu im ein eine für mit nicht ja nein was wie wo ich du er "
    "sie wir ihr aber sehr dem den auf auch",
    "it": "il lo gli è sono e di che in un una per con non sì come quanto dove ma più molto della "
    "nel anche questo",
    "pt": "o os as é são e de que em um uma por para com não sim como quanto onde mas mais muito "
    "do da no na isso você",
    "nl": "de het een is zijn en van te in voor met niet ja nee wat hoe waar ik jij hij zij wij "
    "maar ook dat deze",
    "vi": "là và của có không được một những này đó tôi bạn anh chị cho với",
    "id": "yang dan di ke dari untuk dengan tidak ya apa bagaimana ini itu saya anda dia ada",
    "tr": "ve bir bu ne için ile değil evet hayır mi mı ben sen o çok daha var yok",
    "pl": "i w na z do nie tak co jak gdzie jest są to ten ta ale bardzo dla się",
}
_COMMON_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_LONGEST_LOOK = 2_000
_KANA_SHARE = 5
"""Japanese has a kana for every few Han characters; a stray one is a Chinese decoration."""


def detect_language(history: Sequence[str], utterance: str) -> str:
    """Return the code of the dialogue's language; the utterance counts more than its history.

    Only the newest few thousand characters are looked at. A dialogue without letters is `en`, one
    in a script that is not known here `und`.
    """
    counts = Counter(_letters(utterance))
    for weight in counts:
        counts[weight] *= 2
    room = _LONGEST_LOOK
    for text in reversed(history):
        counts.update(_letters(text[-room:]))
        room -= len(text)
        if room <= 0:
            break
    if counts["ja"] * _KANA_SHARE >= counts["zh"]:
        counts["ja"] += counts.pop("zh", 0)
    else:
        del counts["ja"]
    script, letters = counts.most_common(1)[0] if counts else ("latin", 0)
    if not letters:
        return "en"
    if counts["zh"] and script == "latin" and counts["zh"] * 4 >= counts["latin"]:
        return "zh"
    if script != "latin":
        return script
    return _latin_language([*history[-4:], utterance])


def _letters(text: str) -> dict[str, int]:
    text = text[-_LONGEST_LOOK:]
    if text.isascii():
        return {"latin": sum(map(str.isalpha, text))}
    found = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS}
    found["und"] = sum(map(str.isalpha, text)) - sum(found.values())
    return {name: count for name, count in found.items() if count > 0}


def _latin_language(texts: Sequence[str]) -> str:
    words = [word.casefold() for text in texts for word in _WORD.findall(text[-_LONGEST_LOOK:])]
    votes = {
        language: sum(word in common for word in words)
        for language, common in _COMMON_WORDS.items()
    }
    best = max(votes, key=lambda language: votes[language])
    return best if votes[best] >= 2 and votes[best] > votes["en"] else "en"
