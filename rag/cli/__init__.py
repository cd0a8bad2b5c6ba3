"""The command line: `main`, and the rooms that hold its verbs."""

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

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
    listing,
    prompts,
    questions,
    registry,
    review,
    schemas,
    serving,
    stores,
    sweeps,
    verdicts,
)
from rag.cli.app import app
from rag.cli.options import BAD_INPUT, INTERRUPTED, SPENT
from rag.core.errors import CRASHED, BudgetError, UserError

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
    "listing",
    "main",
    "prompts",
    "questions",
    "registry",
    "review",
    "schemas",
    "serving",
    "stores",
    "sweeps",
    "verdicts",
]

NO_BARS = {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""What tqdm (model2vec, bm25s, sentence-transformers, transformers, ragas), the hub of models and MLflow read when imported."""


def main() -> None:
    """Run the command line; what a user can fix ends with exit code 2 and without a traceback, a crash with CRASHED."""
    if sys.stdout is None:
        _say("standard output: is closed\n  → send it somewhere, for example > /dev/null\n")
        sys.exit(CRASHED)
    try:
        os.getcwd()
    except OSError as error:
        _say(f"working folder: cannot be reached ({error.strerror})\n  → cd to a folder that is there\n")
        sys.exit(BAD_INPUT)
    if sys.stderr is None or not sys.stderr.isatty():
        # Libraries draw bars wherever they run: in a file each of their steps would be a line.
        os.environ.update(NO_BARS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show is written as its number: no result is lost over a dash.
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        code = _code()
    sys.exit(CRASHED if _lost_output() else code)


def _code() -> int:
    warnings.showwarning = partial(_warn, warnings.showwarning)
    try:
        # What a verb raises as typer.Exit, and Ctrl-C, come back as a number.
        code = app(standalone_mode=False, prog_name="rag")
    except UserError as error:
        _say(f"{_visible(error)}\n")
        return SPENT if isinstance(error, BudgetError) else BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        usage = getattr(error, "show", None)
        if usage is None:
            if not isinstance(error, OSError) or not _lost_output("\n"):
                _say(traceback.format_exc())
            return CRASHED
        usage()
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def _warn(other: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Say in one line that files of a corpus were not read; all other warnings are shown as Python does."""
    from rag.components.loaders.file_tree import SkippedWarning

    if not issubclass(category, SkippedWarning):
        return other(message, category, *place, **more)
    _say(f"{_visible(message)}\n")


def _visible(said: Exception | str) -> str:
    """A message without what its names and quotes would do to a terminal."""
    from rag.reporting.terminal.output import visible

    return visible(str(said))


def _lost_output(last: str = "") -> bool:
    """Write `last` and what is still to be written; whether that fails, but not because its reader has gone, as `head` does."""
    try:
        sys.stdout.write(last)
        sys.stdout.flush()
    except OSError as error:
        # Python would write it once more at its end, and end with a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _say(f"standard output: cannot be written ({error.strerror})\n  → make room, or send it elsewhere\n")
            return True
    return False


def _say(text: str) -> None:
    """Write to standard error, if there is one."""
    with suppress(OSError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()
