"""The progress display of a program, in a context variable: functions at all depths do long work."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Listener = Callable[..., None]
"""Called after each step with whether its result was in the store and, if it is not 1, the number of items of the step."""


def _quiet(*_: object) -> AbstractContextManager[Listener]:
    return nullcontext(lambda *_: None)


WATCH: ContextVar[Callable[..., AbstractContextManager[Listener]]] = ContextVar("WATCH", default=_quiet)
"""Called with the number of items, and what they are if they are no files that are parsed; its context ends with the work."""


def blocks(items: Sequence[Item], what: str, size: int = 1) -> Iterator[Sequence[Item]]:
    """Yield the items, `size` at a time; the display counts those that are over."""
    if items:
        with WATCH.get()(len(items), what) as listen:
            for start in range(0, len(items), size):
                yield items[start : start + size]
                listen(False, len(items[start : start + size]))
