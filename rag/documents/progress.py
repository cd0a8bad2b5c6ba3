"""The progress display of a program, in a context variable: functions at all depths read files."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar

Listener = Callable[[bool], None]
"""Called after each file with whether its content was in the store."""


def _quiet(_: int) -> AbstractContextManager[Listener]:
    return nullcontext(lambda _: None)


WATCH: ContextVar[Callable[[int], AbstractContextManager[Listener]]] = ContextVar("WATCH", default=_quiet)
"""Called with the number of files before the first is read; its context ends after the last one, or when the caller stops."""
