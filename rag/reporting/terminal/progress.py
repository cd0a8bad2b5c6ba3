"""The progress of a sweep, and of reading files, as a bar on standard error."""

import time
from collections import deque
from contextlib import suppress

from rich.errors import LiveError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rag.execution.graph.engine import Outcome
from rag.execution.graph.plan import Plan
from rag.reporting.terminal.output import err, escape

WINDOW = 64
"""Files whose times count for the time that is left."""


def _bar(last: TextColumn) -> Progress:
    left = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"), last)
    return Progress(SpinnerColumn(), BarColumn(24), *left, console=err, transient=True, disable=not err.is_terminal)


class SweepProgress:
    """A bar on standard error: stages done, seconds left, stages reused and failed, the stage that runs."""

    def __init__(self, made: Plan) -> None:
        self.plan, self.began, self.failed, self.done = made, time.monotonic(), 0, set[str]()
        self.bar = _bar(TextColumn("{task.description}", markup=False))
        self.task = self.bar.add_task("", total=len(made.to_run), left="")

    def __enter__(self) -> "SweepProgress":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, key: str, outcome: Outcome | None) -> None:
        """Note that a stage starts (None) or is over."""
        if outcome is None:
            self.bar.update(self.task, description=self.plan.stages[key].label)
            return
        self.done.add(key)
        self.failed += outcome.status == "failed"
        if outcome.status == "failed":
            # The cause is on the last line of a traceback, and on the first line of our own errors.
            lines = outcome.error.strip().splitlines()
            cause = lines[-1 if lines[0].startswith("Traceback") else 0]
            err.print(f"[red]failed[/red] {escape(self.plan.stages[key].label)}: {escape(cause)}", soft_wrap=True)
        self.bar.update(self.task, advance=1, left=self._left())

    def _left(self) -> str:
        known = self.plan.estimate.by_stage
        rest = [known[key] for key in self.plan.to_run if key not in self.done and key in known]
        unknown = sum(1 for key in self.plan.to_run if key not in self.done and key not in known)
        per_stage = (time.monotonic() - self.began) / max(len(self.done), 1)
        left = f"{sum(rest) + unknown * per_stage:.0f} s left, {len(self.plan.stages) - len(self.plan.to_run)} reused"
        return left + (f", {self.failed} failed" if self.failed else "")


class FilesProgress:
    """A bar on standard error while files are parsed: files done, seconds left. Nothing is shown in the first second."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began = total, 0, time.monotonic()
        self.times: deque[float] = deque([self.began], maxlen=WINDOW)
        self.bar = _bar(TextColumn("files parsed"))
        self.task = self.bar.add_task("", total=total, left="")

    def __enter__(self) -> "FilesProgress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, is_stored: bool) -> None:
        """Note that a file is read."""
        self.done += 1
        now = time.monotonic()
        if not is_stored:
            self.times.append(now)
        if now - self.began > 1:
            with suppress(LiveError):  # a sweep shows its own bar
                self.bar.start()
        self.bar.update(self.task, completed=self.done, left=f"{self.seconds_left():.0f} s left")

    def seconds_left(self) -> float:
        """An estimate from the last files that were parsed, as if none of the others were in the store."""
        return (self.total - self.done) * (self.times[-1] - self.times[0]) / max(len(self.times) - 1, 1)
