"""`queen batch`: JSON lines in, JSON lines out."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

from queen_sdk.cli.command import Command, add_call_options
from queen_sdk.cli.lines import BadLine, Line, read_lines
from queen_sdk.errors import DataError
from queen_sdk.options import at_least_one
from queen_sdk.rewriter import Rewriter
from queen_sdk.wire import json_text

_STANDARD = "-"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'Each input line is {"history": [...], "utterance": "...", ...}; the output line has the '
        "same keys and rewrite, edits, confidence and skip_reason."
    )
    add_call_options(parser)
    parser.add_argument(
        "--batch-size",
        type=int,
        default=32,
        metavar="N",
        help="utterances that are scored at once (default: 32)",
    )
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="at a bad line, stop, or write it back with its error (default: stop)",
    )
    parser.add_argument("input", metavar="IN.jsonl", help="file, or - for stdin")
    parser.add_argument("output", metavar="OUT.jsonl", help="file, or - for stdout")


def _run(arguments: argparse.Namespace) -> int:
    size = at_least_one("--batch-size", arguments.batch_size)
    with (
        _opened(arguments.input) as source,
        Rewriter(arguments.bundle) as rewriter,
        _written(arguments.output) as target,
        _Progress(source) as progress,
    ):
        job = _Job(rewriter, arguments)
        lines = read_lines(source, name=_name(arguments.input))
        while chunk := list(islice(lines, size)):
            target.writelines(_encoded(record) for record in job.answer(chunk))
            target.flush()
            progress.show(chunk)
            job.stop_at_error(chunk)
    return 0


class _Job:
    """A rewriter with the settings of the run."""

    def __init__(self, rewriter: Rewriter, arguments: argparse.Namespace) -> None:
        self._rewriter = rewriter
        self._arguments = arguments

    def answer(self, lines: Sequence[Line | BadLine]) -> Iterator[dict[str, Any]]:
        """Yield the output records, up to the first bad line if that is where to stop."""
        if self._arguments.on_error == "stop":
            bad = (k for k, line in enumerate(lines) if isinstance(line, BadLine))
            lines = lines[: next(bad, len(lines))]
        results = iter(
            self._rewriter.rewrite_batch(
                [(line.history, line.utterance) for line in lines if isinstance(line, Line)],
                threshold=self._arguments.threshold,
                min_confidence=self._arguments.min_confidence,
                batch_size=self._arguments.batch_size,
            )
        )
        for line in lines:
            yield line.failed() if isinstance(line, BadLine) else line.answered(next(results))

    def stop_at_error(self, lines: Sequence[Line | BadLine]) -> None:
        """Raise what is wrong with the first bad line, unless bad lines are to be skipped."""
        bad = next((line for line in lines if isinstance(line, BadLine)), None)
        if bad is not None and self._arguments.on_error == "stop":
            raise DataError(
                f"{bad.place}: {bad.problem}; with --on-error skip the other lines are rewritten"
            )


def _name(path: str) -> str:
    return "stdin" if path == _STANDARD else path


def _encoded(record: dict[str, Any]) -> bytes:
    return f"{json_text(record)}\n".encode()


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == _STANDARD:
        yield sys.stdin.buffer
    else:
        with open(path, "rb") as file:
            yield file


@contextmanager
def _written(path: str) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when all is written; a device opens at once."""
    if path == _STANDARD:
        yield sys.stdout.buffer
        return
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    unfinished = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}")
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.remove(unfinished)
        raise


class _Progress:
    """A bar on stderr: in bytes, because nobody has counted the lines."""

    def __init__(self, source: BinaryIO) -> None:
        from tqdm import tqdm

        # None: no bar where stderr is a file.
        self._bar = tqdm(total=_size(source), unit="B", unit_scale=True, disable=None)
        self._lines = 0

    def show(self, lines: Sequence[Line | BadLine]) -> None:
        """Count lines that are done."""
        self._lines += len(lines)
        self._bar.set_postfix_str(f"{self._lines:,} lines", refresh=False)
        self._bar.update(sum(line.size for line in lines))

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def _size(source: BinaryIO) -> int | None:
    try:
        status = os.fstat(source.fileno())
    except OSError:  # a stream in memory
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


COMMAND = Command(
    "batch", help="rewrite JSON lines from one file to another", configure=_configure, run=_run
)
