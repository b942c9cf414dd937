"""Read the public rewriting corpora, and JSON lines of your own, as examples.

A path may be the corpus file, its folder, or the folder above (`rewrite/corpus.txt` below it).
Texts are kept exactly as they stand; only empty history turns are left out.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import attrs

from queen_sdk.data.examples import Example
from queen_sdk.dialogue import read_history
from queen_sdk.errors import DataError, InvalidArgumentError
from queen_sdk.values import Role, Turn

CorpusPath = str | os.PathLike[str]
"""The corpus file, its folder, or the folder above."""

Part = Literal["train", "eval", "all"]
"""A part of a corpus, split as for the published results."""

_T = TypeVar("_T")
_NONE, _EVERY = range(0), range(sys.maxsize)


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

    def select(self, examples: Iterable[Example], part: Part) -> list[Example]:
        """Keep the examples of one part, in order.

        Raises:
            InvalidArgumentError: if the corpus has no such part.
        """
        parts = {"train": self.train, "eval": self.evaluation, "all": _EVERY}
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
class _Record:
    corpus: Corpus
    place: str
    number: int
    data: Any

    def error(self, got: str) -> DataError:
        return _error(self.corpus, self.place, got)

    def fields(self, separator: str, count: int) -> list[str]:
        fields: list[str] = self.data.split(separator)
        if len(fields) != count:
            raise self.error(f"{len(fields)} field(s) in {self.data!r:.60}")
        return fields

    def get(self, kind: type[_T], *keys: str | int) -> _T:
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
        if not reference.strip():
            raise self.error(f"no rewrite for {utterance!r:.60}")
        name = f"{self.corpus.name}:{self.number}{suffix}"
        history = tuple(turn for turn in turns if turn.text.strip())
        return Example(history, utterance=utterance, reference=reference, id=name)


def _error(corpus: Corpus, place: str, got: str) -> DataError:
    return DataError(f"{place}: got {got}; expected {corpus.form}. {corpus.published}.")


def _text(corpus: Corpus, path: CorpusPath) -> tuple[Path, str]:
    below = Path(corpus.file or "")
    file = next(filter(Path.is_file, (Path(path), Path(path, below.name), Path(path, below))), None)
    if file is None:
        names = f", and no {below.name} or {below.as_posix()} below it" if corpus.file else ""
        raise _error(corpus, str(path), f"no such file{names}")
    content = file.read_bytes()
    try:
        return file, content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _error(corpus, f"{file}, line {line}", "bytes that are not UTF-8") from error


def _lines(corpus: Corpus, path: CorpusPath) -> Iterator[_Record]:
    file, text = _text(corpus, path)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _Record(corpus, f"{file}, line {number}", number, line.removesuffix("\r"))


def _json_lines(corpus: Corpus, path: CorpusPath) -> Iterator[_Record]:
    for record in _lines(corpus, path):
        try:
            data = json.loads(record.data)
        except json.JSONDecodeError as error:
            raise record.error(f"{record.data!r:.60}, not JSON ({error.msg})") from error
        yield attrs.evolve(record, data=data)


def _json_array(corpus: Corpus, path: CorpusPath) -> Iterator[_Record]:
    file, text = _text(corpus, path)
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{file}, line {error.lineno}"
        raise _error(corpus, place, f"text that is not JSON ({error.msg})") from error
    if not isinstance(records, list):
        raise _error(corpus, f"{file}, line 1", f"a JSON {type(records).__name__}")
    for number, data in enumerate(records, start=1):
        yield _Record(corpus, f"{file}, record {number}", number, data)


def load(name: str, path: CorpusPath, part: Part = "all") -> list[Example]:
    """Read one part of the corpus called `name`.

    Raises:
        InvalidArgumentError: if there is no such corpus or part.
        DataError: if the file is missing, in another format, or ends before the part begins.
    """
    if name not in CORPORA:
        raise InvalidArgumentError(f"corpus must be one of {', '.join(CORPORA)}, got {name!r}.")
    corpus = CORPORA[name]
    corpus.select((), part)  # so that misuse is found before a file is read
    examples = corpus.read(path)
    selected = corpus.select(examples, part)
    if not selected:
        raise _error(corpus, str(path), f"{len(examples)} examples, none of the {part} part")
    return selected


def read_rewrite(path: CorpusPath) -> list[Example]:
    """Read REWRITE, Chinese chat: two turns before each utterance."""
    examples = []
    for record in _lines(CORPORA["rewrite"], path):
        *history, utterance, rewrite = record.fields("\t\t", 4)
        examples.append(record.example(_alternating(history), utterance, rewrite))
    return examples


def read_restoration(path: CorpusPath) -> list[Example]:
    """Read Restoration-200K, Chinese forum chat: four turns before each utterance.

    The reply to the utterance (u6) is never used; flag 0 means that nothing is to be done.
    """
    examples = []
    for record in _lines(CORPORA["restoration"], path):
        *history, utterance, _, flag, rewrite = record.fields("\t", 8)
        if flag not in ("0", "1"):
            raise record.error(f"the flag {flag!r}")
        reference = rewrite if flag == "1" else utterance
        examples.append(record.example(_alternating(history), utterance, reference))
    return examples


def read_task(path: CorpusPath, variants: Literal["protocol", "all"] = "protocol") -> list[Example]:
    """Read TASK, English restaurant dialogues: every user turn, after the two turns before it.

    `protocol` takes the ellipsis version of a turn, else the coreference version, else the turn
    itself. `all` adds the coreference version where both exist, its id ending in `#coreference`.
    """
    if variants not in ("protocol", "all"):
        raise InvalidArgumentError(f"variants must be protocol or all, got {variants!r}.")
    suffixes = ("", "#coreference") if variants == "all" else ("",)
    keys = ("complete", "with_ellipsis", "with_coreference")
    examples = []
    for record in _json_array(CORPORA["task"], path):
        dialogue = attrs.evolve(record, number=record.get(int, "dialogue_id"))
        history: tuple[Turn, ...] = ()
        for i in range(len(record.get(list, "dial"))):
            texts = [record.get(str, "dial", i, "usr", f"transcript_{key}") for key in keys]
            complete, *shorter = texts
            utterances = list(dict.fromkeys(filter(None, shorter))) or [complete]
            for utterance, suffix in zip(utterances, suffixes, strict=False):
                examples.append(dialogue.example(history, utterance, complete, f".{i}{suffix}"))
            answer = record.get(str, "dial", i, "sys", "sent")
            history = (Turn(complete), Turn(answer, role="assistant"))
    return examples


def read_canard(path: CorpusPath) -> list[Example]:
    """Read CANARD, English questions; article and section title are the first two turns."""
    examples = []
    for record in _json_array(CORPORA["canard"], path):
        texts = [record.get(str, "History", i) for i in range(len(record.get(list, "History")))]
        titles = [Turn(title, role="assistant") for title in texts[:2]]
        question, rewrite = record.get(str, "Question"), record.get(str, "Rewrite")
        examples.append(record.example(titles + _alternating(texts[2:]), question, rewrite))
    return examples


def read_canard_untitled(path: CorpusPath, *, title_from_rewrites: bool = False) -> list[Example]:
    """Read the CANARD dialogues that lack their titles.

    `title_from_rewrites` puts a stand-in first: the capitalised text that the dialogue's rewrites
    insert most often. It looks at the references, so it is for training only.
    """
    examples = []
    keys = ("question", "rewrite", "answer")
    for record in _json_lines(CORPORA["canard-untitled"], path):
        count = len(record.get(list, "turns"))
        turns = [[record.get(str, "turns", i, key) for key in keys] for i in range(count)]
        history: list[Turn] = []
        if title_from_rewrites:
            history.append(Turn(_most_inserted(turns), role="assistant"))
        for i, (question, rewrite, answer) in enumerate(turns):
            examples.append(record.example(history, question, rewrite, f".{i}"))
            history += (Turn(question), Turn(answer or "I don't know.", role="assistant"))
    return examples


def read_qrecc(path: CorpusPath) -> list[Example]:
    """Read QReCC, English questions with the conversation before them in one string."""
    examples = []
    for record in _json_lines(CORPORA["qrecc"], path):
        history: list[Turn] = []
        for line in filter(None, record.get(str, "conversation").split("\n")):
            pair = re.fullmatch(r"Q: (.*?) A: (.*)", line)
            if pair is None:
                raise record.error(f"{line!r:.60} in the conversation")
            history += (Turn(pair[1]), Turn(pair[2], role="assistant"))
        question, rewrite = record.get(str, "question"), record.get(str, "label")
        examples.append(record.example(history, question, rewrite))
    return examples


def read_jsonl(path: CorpusPath) -> list[Example]:
    """Read JSON lines of your own; the history may have any form that a rewriter accepts."""
    examples = []
    for record in _json_lines(CORPORA["jsonl"], path):
        try:
            turns = read_history(record.get(list, "history"))
        except InvalidArgumentError as error:
            raise record.error(f"a history that cannot be read ({error})") from error
        utterance, rewrite = record.get(str, "utterance"), record.get(str, "rewrite")
        examples.append(record.example(turns, utterance, rewrite))
    return examples


def complete_examples(examples: Iterable[Example]) -> list[Example]:
    """Give each reference back as an utterance that needs nothing, its id ending in `#complete`."""
    return [attrs.evolve(e, utterance=e.reference, id=f"{e.id}#complete") for e in examples]


def _alternating(texts: Sequence[str]) -> list[Turn]:
    # Counted back from the utterance, which is the user's.
    roles: tuple[Role, Role] = ("user", "assistant")
    return [Turn(text, role=roles[(len(texts) - i) % 2]) for i, text in enumerate(texts)]


def _most_inserted(turns: Iterable[Sequence[str]]) -> str:
    marks = ".,?!\"'() "
    written: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for question, rewrite, _ in turns:
        before, after = ([w.strip(marks).lower() for w in t.split()] for t in (question, rewrite))
        for tag, _, _, start, end in SequenceMatcher(None, before, after, False).get_opcodes():
            span = " ".join(rewrite.split()[start:end]).strip(marks)
            span = re.sub(r"['\u2019]s?$", "", span)
            if span and tag != "equal" and not span.islower():  # titles have a capital
                counts[span.lower()] += 1
                written.setdefault(span.lower(), span)
    return written[counts.most_common(1)[0][0]] if counts else ""


_CANARD = "CANARD is published by Elgohary et al., EMNLP 2019"

CORPORA: Mapping[str, Corpus] = MappingProxyType(
    {
        corpus.name: corpus
        for corpus in (
            Corpus(
                "rewrite",
                language="zh",
                read=read_rewrite,
                file="rewrite/corpus.txt",
                form="four fields separated by two tabs: context 1, context 2, utterance, rewrite",
                published="REWRITE is on GitHub: chin-gyou/dialogue-utterance-rewriter, corpus.txt",
                train=range(1, 18_001),
                evaluation=range(18_001, 20_001),
            ),
            Corpus(
                "restoration",
                language="zh",
                read=read_restoration,
                file="restoration/valid.txt",
                form="eight tab-separated columns: u1 to u6, flag (0 or 1), rewrite of u5",
                published="Restoration-200K is published by Pan et al., EMNLP 2019",
                train=range(1, 4_077),
                evaluation=range(4_077, 5_096),
            ),
            Corpus(
                "task",
                language="en",
                read=read_task,
                file="task/CamRest676_annotated.json",
                form="a JSON array of dialogues: dialogue_id, dial[i].usr.transcript_complete /"
                " _with_ellipsis / _with_coreference, dial[i].sys.sent",
                published="TASK is on GitHub: terryqj0107/GECOR, CamRest676_annotated.json",
                train=range(540),
                evaluation=range(540, 676),
            ),
            Corpus(
                "canard",
                language="en",
                read=read_canard,
                file="canard/dev.json",
                form="a JSON array of objects with History (titles first), Question, Rewrite",
                published=_CANARD,
                train=_NONE,
                evaluation=_EVERY,
            ),
            Corpus(
                "canard-untitled",
                language="en",
                read=read_canard_untitled,
                file="canard/train-untitled.jsonl",
                form="one JSON object per line with turns[i].question / rewrite / answer",
                published=f"{_CANARD}; this form of its training part lacks the titles",
                train=_EVERY,
                evaluation=_NONE,
            ),
            Corpus(
                "qrecc",
                language="en",
                read=read_qrecc,
                file="qrecc/train-4k.jsonl",
                form="one JSON object per line with conversation ('Q: ... A: ...' lines), question,"
                " label",
                published="QReCC is on GitHub: apple/ml-qrecc (there under other keys)",
                train=_EVERY,
                evaluation=_NONE,
            ),
            Corpus(
                "jsonl",
                language=None,
                read=read_jsonl,
                file=None,
                form='{"history": [...], "utterance": "...", "rewrite": "..."} on each line',
                published="The file is your own",
                train=_EVERY,
                evaluation=_EVERY,
            ),
        )
    }
)
"""The corpora that can be loaded by name."""
