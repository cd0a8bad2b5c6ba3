"""The progress of a sweep, and of other long work: a bar on standard error or, where that is no terminal, lines."""

import time
from collections import deque
from contextlib import suppress
from threading import Event, Thread
from typing import ClassVar, Self

from rich.errors import LiveError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rag.execution.graph.engine import Outcome, cause_of
from rag.execution.graph.plan import Plan
from rag.reporting.terminal.output import err, escape, print_line

WINDOW = 64
"""Steps whose times count for the time that is left."""
PAUSE = 10.0  # seconds between two lines


class Work:
    """Work of `total` steps. Without a terminal a thread writes what runs on a line, because a step may take minutes."""

    running: ClassVar[list["Work"]] = []
    due: ClassVar[float] = 0.0
    unit: ClassVar[str] = ""

    def __init__(self, what: str, total: int) -> None:
        self.began, self.ended = time.monotonic(), Event()
        left = (MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        columns = (SpinnerColumn(), BarColumn(24), *left, TextColumn("{task.description}", markup=False))
        self.bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self.task = self.bar.add_task(what, total=total, left="")

    def __enter__(self) -> Self:
        Work.running.append(self)
        if len(Work.running) == 1 and not err.is_terminal:
            Thread(target=self._write, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        self.ended.set()
        Work.running.remove(self)

    def _write(self) -> None:
        # Short pieces of work, one after the other, are long work.
        Work.due = Work.due if Work.due > self.began else self.began + PAUSE
        while not self.ended.wait(max(Work.due - time.monotonic(), 0.0)) and Work.running:
            Work.due = time.monotonic() + PAUSE
            with suppress(OSError):
                print_line("; ".join(map(_line, Work.running.copy())), err)


def _line(work: Work) -> str:
    (task,) = work.bar.tasks
    share = f"{task.completed:,.0f} of {task.total:,.0f}{work.unit} ({task.percentage:.0f} %)"
    return ", ".join(filter(None, [f"{task.description}: {share}", task.fields["left"]]))


class SweepProgress(Work):
    """The stages of a sweep: those that are done, seconds left, those reused and failed, the stage that runs."""

    unit = " stages"

    def __init__(self, made: Plan) -> None:
        super().__init__("sweep", len(made.to_run))
        self.plan, self.failed, self.done = made, 0, set[str]()

    def __call__(self, key: str, outcome: Outcome | None) -> None:
        """Note that a stage starts (None) or is over."""
        if outcome is None:
            self.bar.start()
            self.bar.update(self.task, description=self.plan.stages[key].label)
            return
        self.done.add(key)
        self.failed += outcome.status == "failed"
        if outcome.status == "failed":
            what = f"{self.plan.stages[key].label}: {cause_of(outcome.error)}"
            err.print(f"[red]failed[/red] {escape(what)}", soft_wrap=True)
        self.bar.update(self.task, advance=1, left=self._left())

    def _left(self) -> str:
        known = self.plan.estimate.by_stage
        rest = [known[key] for key in self.plan.to_run if key not in self.done and key in known]
        unknown = sum(1 for key in self.plan.to_run if key not in self.done and key not in known)
        per_stage = (time.monotonic() - self.began) / max(len(self.done), 1)
        left = f"{sum(rest) + unknown * per_stage:.0f} s left, {len(self.plan.stages) - len(self.plan.to_run)} reused"
        return left + (f", {self.failed} failed" if self.failed else "")


class WorkProgress(Work):
    """Items that are done, such as files that are parsed, and seconds left. A bar is not shown in the first second."""

    def __init__(self, total: int, what: str = "files parsed") -> None:
        super().__init__(what, total)
        self.total, self.done = total, 0
        self.times = deque([(self.began, 0)], maxlen=WINDOW)

    def __call__(self, is_stored: bool, items: int = 1) -> None:
        """Note that a step is over."""
        self.done += items
        now = time.monotonic()
        if not is_stored:
            self.times.append((now, self.times[-1][1] + items))
        if now - self.began > 1:
            with suppress(LiveError):  # a sweep shows its own bar
                self.bar.start()
        self.bar.update(self.task, completed=self.done, left=f"{self.seconds_left():.0f} s left")

    def seconds_left(self) -> float:
        """An estimate from the last steps, as if no result of the others were in the store."""
        (first, before), (last, after) = self.times[0], self.times[-1]
        return (self.total - self.done) * (last - first) / max(after - before, 1)
