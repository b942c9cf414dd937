"""The dialogues that are measured: a corpus where there is one, else a few of our own."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from itertools import cycle, islice

from queen_sdk import Turn
from queen_sdk.data.examples import Example
from queen_sdk.data.readers import load

CORPORA = {"zh": "rewrite", "en": "task"}

_DIALOGUES: dict[str, list[tuple[list[str], str, str]]] = {
    "zh": [
        (["你喜欢看电影吗", "我最喜欢看科幻电影"], "为什么喜欢看", "为什么喜欢看科幻电影"),
        (
            ["史密斯需要在附近找一家昂贵的餐馆。", "史密斯关心菜肴的类型吗？"],
            "不，他不关心。",
            "不，史密斯不关心菜肴的类型。",
        ),
        (
            ["北京明天的天气怎么样", "明天北京多云转晴，最高气温二十五度"],
            "后天呢",
            "北京后天的天气呢",
        ),
        (
            ["帮我订一张去上海的高铁票", "好的，您想什么时候出发"],
            "明天早上八点的有吗",
            "明天早上八点去上海的高铁票有吗",
        ),
        (
            ["周杰伦的新专辑你听了吗", "听了，里面有几首歌特别好听"],
            "他还出过哪些专辑",
            "周杰伦还出过哪些专辑",
        ),
    ],
    "en": [
        (
            [
                "I need to find an expensive restaurant in the south part of town.",
                "There are several restaurants in the south. Do you have a cuisine preference?",
            ],
            "No, I don't care.",
            "No, I don't care about the cuisine.",
        ),
        (
            [
                "Is there a cheap Italian restaurant in the centre?",
                "Yes, Pizza Hut City Centre is a cheap Italian restaurant in the centre of town.",
            ],
            "What is their phone number?",
            "What is Pizza Hut City Centre's phone number?",
        ),
        (
            [
                "Smith needs to find an expensive restaurant nearby.",
                "Does Smith care about the type of cuisine?",
            ],
            "No, he does not care.",
            "No, Smith does not care about the type of cuisine.",
        ),
        (
            [
                "What is the weather like in Paris in June?",
                "It is usually warm, around 23 degrees, with some rain.",
            ],
            "and in July?",
            "and what is the weather like in Paris in July?",
        ),
    ],
}


def made_up(language: str, count: int | None = None) -> list[Example]:
    """Return our own dialogues, repeated if more are asked for; each has an id of its own."""
    known = _DIALOGUES[language]
    repeated = islice(cycle(known), len(known) if count is None else count)
    return [
        Example(
            tuple(Turn(text) for text in history), utterance=said, reference=full, id=f"own:{k}"
        )
        for k, (history, said, full) in enumerate(repeated)
    ]


def evaluation_examples(language: str, path: str | None, count: int) -> tuple[list[Example], str]:
    """Return so many examples, spread over the corpus's evaluation part, and what they are."""
    if not path:
        return made_up(language, count), (
            "our own made-up dialogues, repeated, in the place of the corpora (set QUEEN_DATA)"
        )
    name = CORPORA[language]
    part = [example for example in load(name, path, "eval") if example.history]
    step = max(1, len(part) // count)
    chosen = list(islice(cycle(part[::step]), count))
    return chosen, f"{len(chosen):,} examples from the evaluation part of {name.upper()}"


def lengthened(history: Sequence[Turn], turns: int, language: str) -> list[Turn]:
    """Return the history with turns of other dialogues put in front, `turns` in all."""
    others = [turn for example in made_up(language) for turn in example.history]
    return [*islice(cycle(others), max(turns - len(history), 0)), *history[-turns:]]


def add_path_option(parser: argparse.ArgumentParser) -> None:
    """Let the user name the folder of the corpora."""
    parser.add_argument(
        "--path",
        default=os.environ.get("QUEEN_DATA"),
        metavar="FOLDER",
        help="folder of the corpora (default: $QUEEN_DATA; without it, made-up dialogues)",
    )
