"""LTP 4 as a parser for Chinese. Needs the extra `ltp`; commercial use of LTP is not free."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from queen_sdk.errors import ParserError, missing_extra
from queen_sdk.parsing.base import Structure
from queen_sdk.parsing.files import directory_sha256
from queen_sdk.parsing.rule import Word, structure_of

_LABELS = {"SBV": "nsubj", "VOB": "obj", "FOB": "obj", "DBL": "obj", "IOB": "iobj", "HED": "root"}
"""Object are the plain, the fronted and the pivotal one (whoever is asked to do something)."""
_PARTS_OF_SPEECH = {"v": "VERB", "a": "ADJ"}
_TASKS = ("cws", "pos", "dep")


class LtpParser:
    """The structure that an LTP model finds."""

    def __init__(self, path_or_name: str | Path) -> None:
        """Load the model in a directory, or of that name from the Hugging Face hub.

        A model's configuration can name code to run: load only models that you trust.

        Raises:
            MissingExtraError: LTP is not installed.
            ParserError: There is no such model, or it does not parse.
        """
        try:
            from ltp import LTP
        except ImportError as error:
            raise missing_extra(error.name or "ltp", "ltp") from error
        self._directory = _directory(path_or_name)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # it says what it does, on stdout
                self._model: Any = LTP(str(self._directory))
        except Exception as error:  # from transformers, torch, json and LTP itself
            raise ParserError(f"{self._directory}: LTP cannot load it ({error})") from error
        if not set(_TASKS) <= set(getattr(self._model, "supported_tasks", ())):
            raise ParserError(f"{self._directory}: the model does not do all of {_TASKS}")

    @property
    def sha256(self) -> str:
        """Digest of the model's files."""
        return directory_sha256(self._directory)

    def parse(self, utterance: str) -> Structure:
        """Return what the root clause of `utterance` shows."""
        if not utterance.strip():
            return structure_of(())
        found = self._model.pipeline([utterance], tasks=list(_TASKS))
        (tree,) = found.dep
        words = ltp_words(utterance, found.cws[0], found.pos[0], tree["head"], tree["label"])
        return structure_of(words)


def ltp_words(
    utterance: str,
    texts: Sequence[str],
    parts_of_speech: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str],
) -> list[Word]:
    """Return a tree of LTP, whose heads count from 1, in the terms of our rule."""
    words: list[Word] = []
    place = 0
    for text, pos, head, label in zip(texts, parts_of_speech, heads, labels, strict=True):
        place = max(utterance.find(text, place), place)
        words.append(
            Word(
                text,
                pos=_PARTS_OF_SPEECH.get(pos, "X"),
                head=head - 1 if head > 0 else None,
                label=_LABELS.get(label, "dep"),
                start=place,
            )
        )
        place += len(text)
    return words


def _directory(path_or_name: str | Path) -> Path:
    if Path(path_or_name).is_dir():
        return Path(path_or_name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(str(path_or_name)))
    except Exception as error:  # of the hub, the network or the name
        raise ParserError(
            f"{str(path_or_name)!r} is neither a directory nor an LTP model on the hub ({error})"
        ) from error
