"""Any spaCy pipeline that parses, as a parser. Needs the extra `spacy`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from queen_sdk.errors import InvalidArgumentError, ParserError, missing_extra
from queen_sdk.parsing.base import Structure
from queen_sdk.parsing.files import directory_sha256
from queen_sdk.parsing.rule import Word, structure_of

_NOT_NEEDED = ("ner", "lemmatizer", "entity_linker", "textcat")
_MARKS = ("PUNCT", "SPACE", "SYM")


class SpacyParser:
    """The structure that a spaCy pipeline finds; of several sentences, that of the last."""

    def __init__(self, pipeline: Any) -> None:
        """Take a loaded pipeline, or the name or directory of one.

        Raises:
            MissingExtraError: spaCy is not installed.
            ParserError: There is no such pipeline.
            InvalidArgumentError: The pipeline sets no dependencies or no parts of speech.
        """
        self._pipeline = _load(pipeline) if isinstance(pipeline, (str, Path)) else pipeline
        self._disabled = [name for name in _NOT_NEEDED if name in self._pipeline.pipe_names]
        doc = self._doc("a b")
        for annotation, component in (("DEP", "parser"), ("POS", "tagger or morphologizer")):
            if not doc.has_annotation(annotation):
                raise InvalidArgumentError(
                    f"the pipeline needs a {component}; its components are: "
                    f"{', '.join(self._pipeline.pipe_names) or 'none'}"
                )

    @property
    def sha256(self) -> str:
        """Digest of the pipeline's files, or of its content if it was not loaded from any."""
        path = getattr(self._pipeline, "path", None)
        if path is not None:
            return directory_sha256(Path(path))
        return hashlib.sha256(self._pipeline.to_bytes()).hexdigest()

    def parse(self, utterance: str) -> Structure:
        """Return what the root clause of `utterance` shows."""
        doc = self._doc(utterance)
        words = [
            Word(
                token.text,
                pos=token.pos_,
                head=None if token.head.i == token.i else token.head.i,
                label=token.dep_,
                start=token.idx,
            )
            for token in doc
        ]
        roots = [k for k, word in enumerate(words) if word.head is None]
        telling = [k for k in roots if words[k].pos not in _MARKS]
        return structure_of(words, next(reversed(telling or roots), None))

    def _doc(self, text: str) -> Any:
        return self._pipeline(text, disable=self._disabled)


def _load(name: str | Path) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise missing_extra("spacy", "spacy") from error
    try:
        return spacy.load(name)
    except OSError as error:
        raise ParserError(
            f"there is no spaCy pipeline {str(name)!r} here; "
            f"install it: python -m spacy download {name}"
        ) from error
