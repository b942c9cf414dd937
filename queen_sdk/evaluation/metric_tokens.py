"""The tokens that scores are counted on: those of RUN, so that figures compare.

They are not the tokens a model works with (`queen_sdk.tokenization`): predictions and references
are text, and both are cut here once more, the same way for every system.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from queen_sdk.errors import InvalidArgumentError, missing_extra

# A run of Latin letters and digits, accents included, or any other single character.
_CHINESE = re.compile(r"[0-9a-z\u00df-\u00f6\u00f8-\u024f]+|\S")


def metric_tokens(text: str, language: str) -> list[str]:
    """Cut `text` into lower-cased tokens the way RUN's evaluation does.

    `en`: spaCy's English tokenizer rules. `zh`: characters, with runs of Latin letters and digits
    kept whole. White space is no token.

    Raises:
        InvalidArgumentError: if `language` is neither `en` nor `zh`.
        MissingExtraError: if English text is given and spaCy is not installed.
    """
    if language == "zh":
        return _CHINESE.findall(text.lower())
    if language == "en":
        # Lower-cased only now: the rules know abbreviations by their capitals.
        return [token.text.lower() for token in _english_tokenizer()(text) if token.text.strip()]
    raise InvalidArgumentError(f"language must be 'en' or 'zh', got {language!r}.")


@functools.cache
def _english_tokenizer() -> Callable[[str], Iterable[Any]]:
    try:
        import spacy
    except ImportError as error:
        raise missing_extra("spaCy", "eval") from error
    return spacy.blank("en").tokenizer
