"""A progress bar on a terminal, or in a notebook."""

import time
from html import escape
from typing import Any

from rag.execution.graph.engine import Outcome
from rag.execution.graph.plan import Plan
from rag.reporting.terminal.output import err
from rag.reporting.terminal.progress import SweepProgress

PAUSE = 0.2
"""Seconds between two updates."""


class NotebookProgress:
    """A bar with the number of stages that ran, and the one that runs now."""

    def __init__(self, made: Plan) -> None:
        self.plan, self.done, self.shown = made, 0, 0.0
        self.handle: Any = None

    def __enter__(self) -> "NotebookProgress":
        from IPython.display import display

        self.handle = display(self._bar(""), display_id=True) if self.plan.to_run else None
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle:
            self.handle.update(self._bar(""))

    def __call__(self, key: str, outcome: Outcome | None) -> None:
        """Note that a stage starts (None) or is over."""
        self.done += outcome is not None
        if self.handle and time.monotonic() - self.shown > PAUSE:
            self.handle.update(self._bar(self.plan.stages[key].label))
            self.shown = time.monotonic()

    def _bar(self, label: str) -> Any:
        from IPython.display import HTML

        total = len(self.plan.to_run)
        return HTML(f'<progress value="{self.done}" max="{total}"></progress> {self.done} of {total} stages {escape(label)}')


def progress(made: Plan) -> NotebookProgress | SweepProgress:
    """The bar that fits the place where the program runs."""
    return NotebookProgress(made) if err.is_jupyter else SweepProgress(made)
