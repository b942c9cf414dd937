"""The small parsers that come with the package, or with a bundle: a graph and its vocabulary."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from queen_sdk.bundle.files import damaged, sha256_of
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.parsing.base import EllipsisEnds, Structure, ellipsis_ends
from queen_sdk.parsing.inputs import FORMAT, ParserInputs, Span
from queen_sdk.runtime import Graph
from queen_sdk.values import Token

GRAPH_FILE = "parser.onnx"
VOCABULARY_FILE = "vocabulary.txt"
NOTICE_FILE = "NOTICE"
PARSER_FILES = (GRAPH_FILE, VOCABULARY_FILE, NOTICE_FILE)
"""What a parser consists of; without the notice it may not be passed on."""
MODELS = Path(__file__).resolve().parent / "models"
"""Where the parsers live that come with the package."""

COMBINATION_ENDS: tuple[EllipsisEnds, ...] = tuple(
    ellipsis_ends(Structure(bool(k & 1), bool(k & 2), bool(k & 4))) for k in range(8)
)
"""The decision for each way to have (1) a subject, (2) a verb and (4) an object."""

_NOTHING = Structure(False, False, False)


class EmbeddedParser:
    """A parser of a few megabytes that needs nothing but ONNX Runtime; shared by threads."""

    def __init__(self, language_or_directory: str | os.PathLike[str]) -> None:
        """Load the parser of a language that comes with the package, or one in a directory.

        Raises:
            InvalidArgumentError: There is neither.
            DamagedBundleError: A file is missing or unreadable.
        """
        self.directory = parser_directory(language_or_directory)
        try:
            words = (self.directory / VOCABULARY_FILE).read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            problem = f"is not a readable vocabulary ({error})"
            raise damaged(self.directory / VOCABULARY_FILE, problem) from error
        self._inputs = ParserInputs(words)
        self._graph = Graph(
            self.directory / GRAPH_FILE,
            inputs=("inputs",),
            outputs=("combination", "places"),
            providers=["cpu"],
            threads=1,
        )

    @property
    def sha256(self) -> str:
        """Digest of graph, vocabulary and the format of what the graph is given."""
        files = (GRAPH_FILE, VOCABULARY_FILE)
        digests = "".join(sha256_of(self.directory / name) for name in files)
        return hashlib.sha256(f"{digests} {FORMAT}".encode("ascii")).hexdigest()

    def parse(self, utterance: str) -> Structure:
        """Return what the root clause of `utterance` shows; of a long one, of its beginning."""
        units = self._inputs.cut(utterance)
        if not units:
            return _NOTHING
        inputs = self._inputs.encode([utterance[start:end] for start, end in units])
        combinations, places = self._graph.compute({"inputs": inputs[np.newaxis]})
        combination = int(combinations[0])
        shown = (
            _token(utterance, units[place]) if combination >> k & 1 else None
            for k, place in enumerate(places[0].tolist())
        )
        return Structure.shown_by(*shown)

    def close(self) -> None:
        """Free the graph."""
        self._graph.close()


def _token(utterance: str, span: Span) -> Token:
    start, end = span
    return Token(utterance[start:end], start=start, end=end)


def embedded_parsers() -> tuple[str, ...]:
    """Return the languages whose parser comes with the package."""
    return tuple(sorted(path.parent.name for path in MODELS.glob(f"*/{GRAPH_FILE}")))


def parser_directory(language_or_directory: str | os.PathLike[str]) -> Path:
    """Return where the parser of a language, or in a directory, lies.

    Raises:
        InvalidArgumentError: There is neither.
    """
    known = embedded_parsers()
    if language_or_directory in known:
        return MODELS / language_or_directory
    if not os.path.isdir(language_or_directory):
        raise InvalidArgumentError(
            f"a parser is given by language ({', '.join(known) or 'none is installed'}) or by its "
            f"directory, got {os.fspath(language_or_directory)!r}"
        )
    return Path(os.path.abspath(language_or_directory))
