"""Read the public rewriting corpora, and JSON lines of your own, as examples; make our own corpus.

A path may be the corpus file, its folder, or the folder above (`rewrite/corpus.txt` below it).
Texts are kept exactly as they stand; only empty history turns are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal

import attrs

from queen_sdk.data.corpus import (
    EVERY,
    NONE,
    Corpus,
    CorpusPath,
    Part,
    corpus_error,
    json_array,
    json_lines,
    lines,
)
from queen_sdk.data.examples import Example
from queen_sdk.data.followups.frames import HELD_OUT
from queen_sdk.data.followups.generator import generate
from queen_sdk.data.titles import stand_in_headings, stand_in_title
from queen_sdk.dialogue import read_history
from queen_sdk.errors import InvalidArgumentError
from queen_sdk.values import Role, Turn


def load(name: str, path: CorpusPath | None = None, part: Part = "all") -> list[Example]:
    """Read one part of the corpus called `name`; a generated one needs no path.

    Raises:
        InvalidArgumentError: if there is no such corpus or part, or the path is missing.
        DataError: if the file is missing, in another format, or ends before the part begins.
    """
    if name not in CORPORA:
        raise InvalidArgumentError(f"corpus must be one of {', '.join(CORPORA)}, got {name!r}.")
    corpus = CORPORA[name]
    corpus.select((), part)  # so that misuse is found before a file is read
    if path is None and not corpus.generated:
        raise InvalidArgumentError(f"{name} is read from a file: give its path.")
    examples = corpus.read(path or "")
    selected = corpus.select(examples, part)
    if not selected:
        raise corpus_error(corpus, str(path), f"{len(examples)} examples, none of the {part} part")
    return selected


def load_for_training(name: str, path: CorpusPath | None = None) -> list[Example]:
    """Read the training part of a corpus as models learn from it: CANARD with stand-in titles.

    Raises:
        InvalidArgumentError: as `load` does.
        DataError: as `load` does.
    """
    if name == "canard-untitled" and path is not None:
        return read_canard_untitled(path, title_from_rewrites=True)
    return load(name, path, "train")


def read_rewrite(path: CorpusPath) -> list[Example]:
    """Read REWRITE, Chinese chat: two turns before each utterance."""
    examples = []
    for record in lines(CORPORA["rewrite"], path):
        *history, utterance, rewrite = record.fields("\t\t", 4)
        examples.append(record.example(_alternating(history), utterance, rewrite))
    return examples


def read_restoration(path: CorpusPath) -> list[Example]:
    """Read Restoration-200K, Chinese forum chat: four turns before each utterance.

    The reply to the utterance (u6) is never used; flag 0 means that nothing is to be done.
    """
    examples = []
    for record in lines(CORPORA["restoration"], path):
        *history, utterance, _, flag, rewrite = record.fields("\t", 8)
        if flag not in ("0", "1"):
            raise record.error(f"the flag {flag!r}")
        reference = rewrite if flag == "1" else utterance
        examples.append(record.example(_alternating(history), utterance, reference))
    return examples


def read_task(
    path: CorpusPath,
    variants: Literal["protocol", "all"] = "protocol",
    *,
    whole_history: bool = False,
) -> list[Example]:
    """Read TASK, English restaurant dialogues: every user turn, after the two turns before it.

    `protocol` takes the ellipsis version of a turn, else the coreference version, else the turn
    itself. `all` adds the coreference version where both exist, its id ending in `#coreference`.
    `whole_history` gives all turns before.
    """
    if variants not in ("protocol", "all"):
        raise InvalidArgumentError(f"variants must be protocol or all, got {variants!r}.")
    suffixes = ("", "#coreference") if variants == "all" else ("",)
    keys = ("complete", "with_ellipsis", "with_coreference")
    examples = []
    for record in json_array(CORPORA["task"], path):
        dialogue = attrs.evolve(record, number=record.get(int, "dialogue_id"))
        history: tuple[Turn, ...] = ()
        for i in range(len(record.get(list, "dial"))):
            texts = [record.get(str, "dial", i, "usr", f"transcript_{key}") for key in keys]
            complete, *shorter = texts
            utterances = list(dict.fromkeys(filter(None, shorter))) or [complete]
            for utterance, suffix in zip(utterances, suffixes, strict=False):
                examples.append(dialogue.example(history, utterance, complete, f".{i}{suffix}"))
            answer = record.get(str, "dial", i, "sys", "sent")
            before = history if whole_history else ()
            history = (*before, Turn(complete), Turn(answer, role="assistant"))
    return examples


def read_canard(path: CorpusPath) -> list[Example]:
    """Read CANARD, English questions; article and section title are the first two turns."""
    examples = []
    for record in json_array(CORPORA["canard"], path):
        texts = [record.get(str, "History", i) for i in range(len(record.get(list, "History")))]
        titles = [Turn(title, role="assistant") for title in texts[:2]]
        question, rewrite = record.get(str, "Question"), record.get(str, "Rewrite")
        examples.append(record.example(titles + _alternating(texts[2:]), question, rewrite))
    return examples


def read_canard_untitled(path: CorpusPath, *, title_from_rewrites: bool = False) -> list[Example]:
    """Read the CANARD dialogues that lack their titles.

    `title_from_rewrites` puts stand-ins for article and section title first. It looks at the
    references, so it is for training only.
    """
    examples = []
    keys = ("question", "rewrite", "answer")
    for record in json_lines(CORPORA["canard-untitled"], path):
        count = len(record.get(list, "turns"))
        turns = [[record.get(str, "turns", i, key) for key in keys] for i in range(count)]
        history: list[Turn] = []
        for i, (question, rewrite, answer) in enumerate(turns):
            titles = _stand_ins(turns, i) if title_from_rewrites else []
            examples.append(record.example(titles + history, question, rewrite, f".{i}"))
            history += (Turn(question), Turn(answer or "I don't know.", role="assistant"))
    return examples


def _stand_ins(turns: Sequence[Sequence[str]], asked: int) -> list[Turn]:
    """Return what stands for the titles of a dialogue when one of its turns is asked.

    Its own reference is looked at only if no other says anything: a title does not know it.
    """
    pairs = [(question, rewrite) for question, rewrite, _ in turns]
    others = [pair for k, pair in enumerate(pairs) if k != asked]
    title = stand_in_title(others) or stand_in_title(pairs)
    answers = [answer for *_, answer in turns]
    headings = stand_in_headings(title, answers, seed=turns[0][0])
    return [Turn(heading, role="assistant") for heading in headings]


def read_qrecc(path: CorpusPath) -> list[Example]:
    """Read QReCC, English questions with the conversation before them in one string."""
    examples = []
    for record in json_lines(CORPORA["qrecc"], path):
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
    for record in json_lines(CORPORA["jsonl"], path):
        try:
            turns = read_history(record.get(list, "history"))
        except InvalidArgumentError as error:
            raise record.error(f"a history that cannot be read ({error})") from error
        utterance, rewrite = record.get(str, "utterance"), record.get(str, "rewrite")
        examples.append(record.example(turns, utterance, rewrite))
    return examples


def _followups(language: str, _: CorpusPath) -> list[Example]:
    return generate(language)


_COMPLETE = "#complete"


def complete_examples(examples: Iterable[Example]) -> list[Example]:
    """Give each reference back as an utterance that needs nothing, its id ending in `#complete`."""
    return [attrs.evolve(e, utterance=e.reference, id=e.id + _COMPLETE) for e in examples]


def is_made_complete(example: Example) -> bool:
    """Tell whether `complete_examples` made an example."""
    return example.id.endswith(_COMPLETE)


def _alternating(texts: Sequence[str]) -> list[Turn]:
    # Counted back from the utterance, which is the user's.
    roles: tuple[Role, Role] = ("user", "assistant")
    return [Turn(text, role=roles[(len(texts) - i) % 2]) for i, text in enumerate(texts)]


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
                train=NONE,
                evaluation=EVERY,
            ),
            Corpus(
                "canard-untitled",
                language="en",
                read=read_canard_untitled,
                file="canard/train-untitled.jsonl",
                form="one JSON object per line with turns[i].question / rewrite / answer",
                published=f"{_CANARD}; this form of its training part lacks the titles",
                train=EVERY,
                evaluation=NONE,
            ),
            Corpus(
                "qrecc",
                language="en",
                read=read_qrecc,
                file="qrecc/train-4k.jsonl",
                form="one JSON object per line with conversation ('Q: ... A: ...' lines), question,"
                " label",
                published="QReCC is on GitHub: apple/ml-qrecc (there under other keys)",
                train=EVERY,
                evaluation=NONE,
            ),
            Corpus(
                "jsonl",
                language=None,
                read=read_jsonl,
                file=None,
                form='{"history": [...], "utterance": "...", "rewrite": "..."} on each line',
                published="The file is your own",
                train=EVERY,
                evaluation=EVERY,
            ),
            *(
                Corpus(
                    f"followups-{language}",
                    language=language,
                    read=partial(_followups, language),
                    file=None,
                    form="frames with slots",
                    published="It comes with queen-sdk",
                    train=range(HELD_OUT),
                    evaluation=range(HELD_OUT, sys.maxsize),
                    generated=True,
                )
                for language in ("en", "zh")
            ),
        )
    }
)
"""The corpora that can be loaded by name."""
