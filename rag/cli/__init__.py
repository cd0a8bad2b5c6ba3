"""The command line: `main`, and the modules with its verbs."""

import atexit
import gc
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import typer

from rag.cli.app import app
from rag.cli.options import BAD_INPUT, INTERRUPTED, SPENT
from rag.config.catalog import plugin_modules
from rag.core.errors import CRASHED, BudgetError, StoreError, UserError
from rag.core.progress import WATCH

VERBS = """
bundles data gates ingestion judges listing questions review serving start stores studies sweeps verdicts
"""
"""The modules whose import adds their verbs to the app."""
for verbs in (*(f"rag.cli.{name}" for name in VERBS.split()), *plugin_modules("verbs")):
    import_module(verbs)

NO_BARS = {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""Variables that tqdm (model2vec, bm25s, sentence-transformers, transformers, ragas), the hub and MLflow read when imported."""


def main() -> None:
    """Run the command line. Errors that a user can fix end with exit code 2 and without a traceback, a crash with CRASHED."""
    if sys.stdout is None:
        _report("standard output: is closed\n  → send it somewhere, for example > /dev/null\n")
        sys.exit(CRASHED)
    try:
        os.getcwd()
    except OSError as error:
        _report(f"working folder: cannot be reached ({error.strerror})\n  → cd to a folder that exists\n")
        sys.exit(BAD_INPUT)
    if sys.stderr is None or not sys.stderr.isatty():
        # In a file, each step of a library's progress bar would be a line.
        os.environ.update(NO_BARS)
    WATCH.set(_work_progress)
    atexit.register(gc.freeze)  # without it, the last collections take a sixth of `rag data ingest` of 1,000 stored files
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the output cannot encode are escaped: a dash must not end a command.
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        code = _exit_code()
    sys.exit(CRASHED if _output_failed() else code)


def _work_progress(*work: Any) -> Any:
    from rag.reporting.terminal.progress import WorkProgress

    return WorkProgress(*work)


def _exit_code() -> int:
    warnings.showwarning = partial(_show_warning, warnings.showwarning)
    try:
        # typer.Exit and Ctrl-C are returned as a number.
        code = app(standalone_mode=False, prog_name="rag")
    except UserError as error:
        _report_message(error)
        return SPENT if isinstance(error, BudgetError) else BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            what, remedy = f"cannot be used ({error.strerror})", "check it and its permissions, or name another place"
            _report_message(StoreError(str(error.filename2 or error.filename), what, remedy))
            return BAD_INPUT
        usage = getattr(error, "show", None)
        if usage is None:
            if not isinstance(error, OSError) or not _output_failed("\n"):
                _report(traceback.format_exc())
            return CRASHED
        usage()
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def _show_warning(
    other: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any, **more: Any
) -> None:
    """Report unread files of a corpus in one line, once per state; other warnings go to `other`, Python's own function."""
    from rag.documents.folder.file_tree import SkippedWarning

    if not isinstance(message, SkippedWarning):
        return other(message, category, *place, **more)
    shown = Path(".rag", "shown", message.state)
    if not shown.exists():
        _report_message(message)
        with suppress(OSError):  # in a folder that is read-only each command says it
            shown.parent.mkdir(parents=True, exist_ok=True)
            shown.touch()


def _report_message(message: Exception | str) -> None:
    """Report a message without terminal control characters, which quoted names and texts may contain."""
    from rag.reporting.terminal.output import visible

    _report(f"{visible(str(message))}\n")


def _output_failed(last: str = "") -> bool:
    """Flush standard output after `last`; True if that fails for another reason than a closed pipe, as behind `head`."""
    try:
        sys.stdout.write(last)
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            _report(f"standard output: cannot be written ({error.strerror})\n  → make room, or send it elsewhere\n")
            return True
    return False


def _report(text: str) -> None:
    with suppress(AttributeError):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Send what a stream still holds to nowhere: Python would write it at exit, and exit with its own code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
