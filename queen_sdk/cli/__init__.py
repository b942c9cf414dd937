"""The `queen` command: thin parsers over the library, one module per command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from queen_sdk import __version__
from queen_sdk.cli import (
    batch,
    chat,
    doctor,
    evaluate,
    export,
    models,
    parser,
    rewrite,
    select,
    serve,
    train,
)
from queen_sdk.cli.command import Command
from queen_sdk.cli.output import say
from queen_sdk.errors import QueenError, UsageError

COMMANDS: tuple[Command, ...] = (
    rewrite.COMMAND,
    chat.COMMAND,
    batch.COMMAND,
    serve.COMMAND,
    evaluate.COMMAND,
    train.COMMAND,
    select.COMMAND,
    export.COMMAND,
    parser.COMMAND,
    models.COMMAND,
    doctor.COMMAND,
)
"""All commands, in the order of the help."""

_FAILURE, _MISUSE, _INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 1 for failure, 2 for misuse, 130 for Ctrl-C."""
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # from argparse: 0 after --help, 2 after an error
        return stop.code if isinstance(stop.code, int) else _MISUSE
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        _give_up_stdout()
        return _FAILURE
    except UsageError as error:
        return _complain(str(error), _MISUSE)
    except QueenError as error:
        return _complain(str(error), _FAILURE)
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        return _complain(f"{error.filename}: {error.strerror}" if named else str(error), _FAILURE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="queen",
        description="Rewrite incomplete utterances of a dialogue into self-contained ones.",
    )
    parser.add_argument("--version", action="version", version=f"queen-sdk {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        own = commands.add_parser(command.name, help=command.help, description=command.help)
        command.configure(own)
        own.set_defaults(run=command.run)
    return parser


def _complain(problem: str, code: int) -> int:
    say(f"queen: {' '.join(problem.split())}", stream=sys.stderr)
    return code


def _give_up_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
