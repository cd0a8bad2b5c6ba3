"""The place where a program that shows progress says so: reading files has callers at all depths."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar

Listener = Callable[[bool], None]
"""Called after each file with whether its content was in the store."""


def _quiet(_: int) -> AbstractContextManager[Listener]:
    return nullcontext(lambda _: None)


WATCH: ContextVar[Callable[[int], AbstractContextManager[Listener]]] = ContextVar("WATCH", default=_quiet)
"""Called with the number of files before they are read; the context ends when they are, or when reading is given up."""
