"""The command line: `main`, and the rooms that hold its verbs."""

import io
import os
import sys

import typer

from rag.cli import (
    abstention,
    attacks,
    bundles,
    chat,
    data,
    dialogues,
    gates,
    judges,
    keys,
    prompts,
    questions,
    registry,
    review,
    serving,
    stores,
    sweeps,
    verdicts,
)
from rag.cli.app import app
from rag.cli.options import BAD_INPUT, INTERRUPTED
from rag.errors import UserError

__all__ = [
    "abstention",
    "app",
    "attacks",
    "bundles",
    "chat",
    "data",
    "dialogues",
    "gates",
    "judges",
    "keys",
    "main",
    "prompts",
    "questions",
    "registry",
    "review",
    "serving",
    "stores",
    "sweeps",
    "verdicts",
]


def main() -> None:
    """Run the command line; what a user can fix ends with exit code 2 and without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show is written as its number: no result is lost over a dash.
            stream.reconfigure(errors="backslashreplace")
    code = _code()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; writing the rest would only complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _code() -> int:
    try:
        # What a verb raises as typer.Exit, and Ctrl-C, come back as a number.
        code = app(standalone_mode=False, prog_name="rag")
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        usage = getattr(error, "show", None)
        if usage is None:
            raise
        usage()
        return BAD_INPUT
    return code if isinstance(code, int) else 0
