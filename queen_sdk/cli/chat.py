"""`queen chat`: type a dialogue and see every utterance rewritten."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Iterator

from queen_sdk.cli.command import Command, add_call_options
from queen_sdk.cli.output import details, say
from queen_sdk.rewriter import Rewriter
from queen_sdk.values import RewriteResult, Turn

_HELP = (
    'Type what the user says. "bot: ..." or "/bot ..." records an answer, /history shows the '
    "dialogue, /reset forgets it, /quit ends."
)
_BOT = re.compile(r"\s*(?:bot\s*[:：]|/bot(?!\S))\s*(?P<text>.*?)\s*", re.IGNORECASE | re.DOTALL)
_GREEN, _STRUCK_RED, _DIM, _PLAIN = "\x1b[32m", "\x1b[9;31m", "\x1b[2m", "\x1b[0m"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _HELP
    add_call_options(parser)


def _run(arguments: argparse.Namespace) -> int:
    with Rewriter(arguments.bundle) as rewriter:
        chat = _Chat(rewriter, arguments.threshold, arguments.min_confidence)
        if sys.stdin.isatty():
            say(_HELP)
        for line in _typed():
            if line.strip() == "/quit":
                break
            chat.hear(line)
            sys.stdout.flush()
    return 0


def _typed() -> Iterator[str]:
    if not sys.stdin.isatty():
        for raw in sys.stdin.buffer:
            yield raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # input() then has line editing
    while True:
        try:
            yield input("> ")
        except EOFError:
            say("")
            return
        except UnicodeDecodeError:
            say("that was not text in the terminal's encoding")


class _Chat:
    """A dialogue so far."""

    def __init__(self, rewriter: Rewriter, threshold: float | None, min_confidence: float) -> None:
        self._rewriter = rewriter
        self._threshold = threshold
        self._min_confidence = min_confidence
        self._turns: list[Turn] = []

    def hear(self, line: str) -> None:
        """Answer one typed line."""
        bot = _BOT.fullmatch(line)
        if bot:
            self._record_answer(bot["text"])
        elif line.startswith("/"):
            self._obey(line.strip())
        elif line.strip():
            self._rewrite(line)

    def _record_answer(self, text: str) -> None:
        if text:
            self._turns.append(Turn(text, role="assistant"))
        else:
            say('say what the bot answered: "bot: ..."')

    def _obey(self, order: str) -> None:
        if order == "/reset":
            self._turns.clear()
            say("the dialogue is forgotten")
        elif order == "/history":
            for turn in self._turns:
                say(f"{'bot' if turn.role == 'assistant' else turn.role}: {turn.text}")
        else:
            if order != "/help":
                say(f"there is no {order}")
            say(_HELP)

    def _rewrite(self, utterance: str) -> None:
        result = self._rewriter.rewrite(
            self._turns,
            utterance,
            threshold=self._threshold,
            min_confidence=self._min_confidence,
        )
        self._turns.append(Turn(utterance))
        colour = _wants_colour()
        say(marked(result) if colour else result.text)
        for line in details(result):
            say(f"  {_DIM}{line}{_PLAIN}" if colour else f"  {line}")


def _wants_colour() -> bool:
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout.isatty()


def marked(result: RewriteResult) -> str:
    """Return the rewrite for a terminal: new text green, behind the struck red that it replaces."""
    text, place = "", 0
    for edit in result.edits:
        text += result.original[place : edit.start]
        if edit.kind == "substitute":
            text += f"{_STRUCK_RED}{result.original[edit.start : edit.end]}{_PLAIN}→"
        text += f"{_GREEN}{edit.text}{_PLAIN}"
        place = edit.end
    return text + result.original[place:]


COMMAND = Command(
    "chat", help="type a dialogue and see each utterance rewritten", configure=_configure, run=_run
)
