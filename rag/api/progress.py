"""A progress bar on a terminal, or in a notebook."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from typing import Any

from rag.execution.graph.engine import Outcome
from rag.execution.graph.plan import Plan
from rag.reporting.terminal.output import err
from rag.reporting.terminal.progress import SweepProgress

PAUSE = 0.2
"""Seconds between two updates."""
Listen = Callable[[str, Outcome | None], None]


@contextmanager
def notebook_bar(made: Plan) -> Iterator[Listen]:
    """A bar with the number of stages that ran, and the one that runs now."""
    from IPython.display import HTML, display

    done, shown, total = 0, 0.0, len(made.to_run)

    def bar(label: str) -> Any:
        return HTML(f'<progress value="{done}" max="{total}"></progress> {done} of {total} stages {escape(label)}')

    def listen(key: str, outcome: Outcome | None) -> None:
        nonlocal done, shown
        done += outcome is not None
        if handle and time.monotonic() - shown > PAUSE:
            handle.update(bar(made.stages[key].label))
            shown = time.monotonic()

    handle = display(bar(""), display_id=True) if total else None
    yield listen
    if handle:
        handle.update(bar(""))


def progress(made: Plan) -> AbstractContextManager[Listen]:
    """The bar that fits the place where the program runs."""
    return notebook_bar(made) if err.is_jupyter else SweepProgress(made)
