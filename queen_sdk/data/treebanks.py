"""Treebanks of Universal Dependencies, in one script and under one set of labels.

English: `en_ewt/{train,dev,test}.conllu`, as published by the UD project. Chinese: `zh/`, with the
GSD treebank (training part in traditional script, development and test parts simplified) and three
smaller ones, which are trained on only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import attrs

from queen_sdk.errors import DataError, InvalidArgumentError, missing_extra
from queen_sdk.parsing.rule import Word, universal_label

Part = Literal["train", "dev", "test"]

_FIRST_WIDE = "\u2e80"
"""From here on are the characters that stand without spaces."""
_GLUED = "SpaceAfter=No"


@attrs.frozen
class Treebank:
    """Where a language's trees are, and under which licence."""

    name: str
    licence: str
    files: dict[Part, str]


TREEBANKS: dict[str, tuple[Treebank, ...]] = {
    "en": (
        Treebank(
            "Universal Dependencies English EWT",
            "CC BY-SA 4.0",
            {part: f"en_ewt/{part}.conllu" for part in ("train", "dev", "test")},
        ),
    ),
    "zh": (
        Treebank(
            "Universal Dependencies Chinese GSD and GSDSimp",
            "CC BY-SA 4.0",
            {
                "train": "zh/gsd-train-2016-traditional.conllu",
                "dev": "zh/gsdsimp-dev.conllu",
                "test": "zh/gsdsimp-test.conllu",
            },
        ),
        Treebank("Universal Dependencies Chinese CFL", "CC BY-SA 4.0", {"train": "zh/cfl.conllu"}),
        Treebank(
            "Universal Dependencies Chinese HK",
            "CC BY-SA 4.0",
            {"train": "zh/hk-traditional.conllu"},
        ),
        Treebank(
            "Universal Dependencies Chinese PUD",
            "CC BY-SA 3.0",
            {"train": "zh/pud-traditional.conllu"},
        ),
    ),
}
"""The treebanks of each language; the first one has the parts to choose and to report on."""


@attrs.frozen
class Sentence:
    """A sentence with its tree."""

    text: str
    words: tuple[Word, ...]
    """Their offsets point into `text`."""


def read_treebanks(language: str, path: str | Path, part: Part) -> list[Sentence]:
    """Read one part of a language's treebanks below `path`, Chinese in simplified script.

    Raises:
        InvalidArgumentError: There is no treebank of that language.
        DataError: A file is missing or is not CoNLL-U.
        MissingExtraError: The script must be converted, and OpenCC is not installed.
    """
    if language not in TREEBANKS:
        raise InvalidArgumentError(
            f"language must be one of {', '.join(TREEBANKS)}, got {language!r}"
        )
    files = [Path(path) / t.files[part] for t in TREEBANKS[language] if part in t.files]
    return [
        sentence
        for file in files
        for sentence in read_conllu(file, _simplifier() if "traditional" in file.name else str)
    ]


def read_conllu(file: Path, convert: Callable[[str], str] = str) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file; `convert` changes the script of each word.

    Raises:
        DataError: The file is missing or is not CoNLL-U.
    """
    rows: list[list[str]] = []
    number = 0
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                number += 1
                columns = line.rstrip("\n").split("\t")
                if columns == [""]:
                    if rows:
                        yield _sentence(rows, convert)
                    rows = []
                elif not line.startswith("#") and "." not in columns[0]:
                    rows.append(columns)
            if rows:
                yield _sentence(rows, convert)
    except FileNotFoundError as error:
        raise DataError(f"{file}: no such treebank; it is published by the UD project") from error
    except (ValueError, IndexError) as error:
        raise DataError(f"{file}:{number}: not CoNLL-U with a whole tree ({error})") from error


def _sentence(rows: list[list[str]], convert: Callable[[str], str]) -> Sentence:
    words: list[Word] = []
    text, previous, joined, behind = "", "", range(0), ""
    for columns in rows:
        if "-" in columns[0]:  # several words written as one, such as don't
            first, last = map(int, columns[0].split("-"))
            joined, behind = range(first, last), columns[9]
            continue
        number = int(columns[0])
        form, pos, head, label = convert(columns[1]), columns[3], int(columns[6]), columns[7]
        if words and _parted(text, form, before=previous):
            text += " "
        words.append(
            Word(
                form,
                pos=pos,
                head=head - 1 if head else None,
                label=universal_label(label),
                start=len(text),
            )
        )
        text += form
        previous = _GLUED if number in joined else behind if number == joined.stop else columns[9]
    if not all(word.head is None or 0 <= word.head < len(words) for word in words):
        raise ValueError("a head is not in the sentence")
    return Sentence(text, tuple(_first_clause_up(words)))


def _first_clause_up(words: list[Word]) -> list[Word]:
    """Let clauses side by side hang on the first of them.

    Older treebanks hang them on the last, as `dep`; newer ones on the first, as `parataxis`.
    """
    root = next((k for k, word in enumerate(words) if word.head is None), None)
    clauses = [k for k, word in enumerate(words[:root]) if (word.head, word.label) == (root, "dep")]
    if root is None or not clauses or root < clauses[0]:
        return words
    first = clauses[0]
    turned = list(words)
    for k, word in enumerate(words):
        if k == first:
            turned[k] = attrs.evolve(word, head=None, label="root")
        elif k == root or k in clauses:
            turned[k] = attrs.evolve(word, head=first, label="parataxis")
        elif word.head == root and k < first:
            turned[k] = attrs.evolve(word, head=first)
    return turned


def _parted(text: str, form: str, *, before: str) -> bool:
    """Tell whether a space goes between; Chinese treebanks do not always say that none does."""
    wide = text[-1] >= _FIRST_WIDE or form[0] >= _FIRST_WIDE
    return not wide and _GLUED not in before


def _simplifier() -> Callable[[str], str]:
    try:
        from opencc import OpenCC
    except ImportError as error:
        raise missing_extra("opencc", "train") from error
    convert: Callable[[str], str] = OpenCC("t2s").convert
    return convert
