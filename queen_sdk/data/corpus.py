"""What a corpus is: its file, its records, its parts, and what to say of a bad line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import attrs

from queen_sdk.data.examples import Example
from queen_sdk.errors import DataError, InvalidArgumentError
from queen_sdk.values import Turn

CorpusPath = str | os.PathLike[str]
"""The corpus file, its folder, or the folder above."""

Part = Literal["train", "eval", "all"]
"""A part of a corpus, split as for the published results."""

_T = TypeVar("_T")
NONE, EVERY = range(0), range(sys.maxsize)
"""Parts that hold nothing, and everything."""


@attrs.frozen
class Corpus:
    """A corpus: how it is read, how it is split, where it comes from."""

    name: str
    """Its key in `CORPORA` and the beginning of its example ids."""
    language: str | None = attrs.field(kw_only=True)
    """`zh` or `en`; None if the file decides."""
    read: Callable[[CorpusPath], list[Example]] = attrs.field(kw_only=True)
    """Its reader."""
    file: str | None = attrs.field(kw_only=True)
    """Where its file is looked for below a data folder; None if it has no fixed name."""
    form: str = attrs.field(kw_only=True)
    """What a line or record must look like."""
    published: str = attrs.field(kw_only=True)
    """Where to get it."""
    train: range = attrs.field(kw_only=True)
    """The training part: numbers as in the example ids (line, record or dialogue)."""
    evaluation: range = attrs.field(kw_only=True)
    """The evaluation part."""
    generated: bool = attrs.field(default=False, kw_only=True)
    """Whether the package makes it, so that it needs no path."""

    def select(self, examples: Iterable[Example], part: Part) -> list[Example]:
        """Keep the examples of one part, in order.

        Raises:
            InvalidArgumentError: if the corpus has no such part.
        """
        parts = {"train": self.train, "eval": self.evaluation, "all": EVERY}
        offered = [name for name, numbers in parts.items() if numbers]
        if part not in offered:
            raise InvalidArgumentError(
                f"part of {self.name} must be one of {', '.join(offered)}, got {part!r}."
            )
        return [example for example in examples if _number(example) in parts[part]]


def _number(example: Example) -> int:
    match = re.match(r"[^:]*:(\d+)", example.id)
    if match is None:
        raise InvalidArgumentError(f"example ids look like 'rewrite:17', got {example.id!r}.")
    return int(match[1])


@attrs.frozen
class Record:
    """One line or object of a corpus file, with its place in it."""

    corpus: Corpus
    place: str
    number: int
    data: Any

    def error(self, got: str) -> DataError:
        """Return what to raise of this record."""
        return corpus_error(self.corpus, self.place, got)

    def fields(self, separator: str, count: int) -> list[str]:
        """Split a line; raises DataError unless it has so many fields."""
        fields: list[str] = self.data.split(separator)
        if len(fields) != count:
            raise self.error(f"{len(fields)} field(s) in {self.data!r:.60}")
        return fields

    def get(self, kind: type[_T], *keys: str | int) -> _T:
        """Return the value below `keys`; raises DataError if it is absent or of another kind."""
        value, name = self.data, ".".join(map(str, keys))
        for key in keys:
            try:
                value = value[key]
            except (LookupError, TypeError):
                raise self.error(f"no {name} in {self.data!r:.60}") from None
        if not isinstance(value, kind):
            raise self.error(f"{value!r:.60} as {name}, which must be {kind.__name__}")
        return value

    def example(
        self, turns: Iterable[Turn], utterance: str, reference: str, suffix: str = ""
    ) -> Example:
        """Return an example whose id is the number of this record and `suffix`."""
        if not reference.strip():
            raise self.error(f"no rewrite for {utterance!r:.60}")
        name = f"{self.corpus.name}:{self.number}{suffix}"
        history = tuple(turn for turn in turns if turn.text.strip())
        return Example(history, utterance=utterance, reference=reference, id=name)


def corpus_error(corpus: Corpus, place: str, got: str) -> DataError:
    """Return the error for a place of a corpus: what came, what is expected, where to get it."""
    return DataError(f"{place}: got {got}; expected {corpus.form}. {corpus.published}.")


def _text(corpus: Corpus, path: CorpusPath) -> tuple[Path, str]:
    below = Path(corpus.file or "")
    file = next(filter(Path.is_file, (Path(path), Path(path, below.name), Path(path, below))), None)
    if file is None:
        names = f", and no {below.name} or {below.as_posix()} below it" if corpus.file else ""
        raise corpus_error(corpus, str(path), f"no such file{names}")
    content = file.read_bytes()
    try:
        return file, content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise corpus_error(corpus, f"{file}, line {line}", "bytes that are not UTF-8") from error


def lines(corpus: Corpus, path: CorpusPath) -> Iterator[Record]:
    """Yield the lines of a text file, blank ones apart."""
    file, text = _text(corpus, path)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield Record(corpus, f"{file}, line {number}", number, line.removesuffix("\r"))


def json_lines(corpus: Corpus, path: CorpusPath) -> Iterator[Record]:
    """Yield the values of a file with one JSON value a line."""
    for record in lines(corpus, path):
        try:
            data = json.loads(record.data)
        except json.JSONDecodeError as error:
            raise record.error(f"{record.data!r:.60}, not JSON ({error.msg})") from error
        yield attrs.evolve(record, data=data)


def json_array(corpus: Corpus, path: CorpusPath) -> Iterator[Record]:
    """Yield the elements of a file that is one JSON array."""
    file, text = _text(corpus, path)
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{file}, line {error.lineno}"
        raise corpus_error(corpus, place, f"text that is not JSON ({error.msg})") from error
    if not isinstance(records, list):
        raise corpus_error(corpus, f"{file}, line 1", f"a JSON {type(records).__name__}")
    for number, data in enumerate(records, start=1):
        yield Record(corpus, f"{file}, record {number}", number, data)
