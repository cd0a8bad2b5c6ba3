"""What people see in a terminal: tables on standard output, progress on standard error."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from rag.execute import Outcome
from rag.leaderboard import Leaderboard, Row
from rag.plan import Plan

out = Console(soft_wrap=False, highlight=False)
err = Console(stderr=True, highlight=False)
SHOWN_COLUMNS = 5


def print_json(content: Mapping[str, Any]) -> None:
    """One object on standard output, nothing else there."""
    json.dump(content, sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def number(value: float | None, digits: int = 3) -> str:
    """A figure without its leading zero, as leaderboards write them; a dash for none."""
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def interval(found: Mapping[str, Any]) -> str:
    """A mean with its 95 % interval."""
    low, high = found.get("low"), found.get("high")
    shown = "" if low is None or high is None else f" [dim]\\[{number(low)}, {number(high)}][/dim]"
    return number(found["mean"]) + shown


def leaderboard(board: Leaderboard, limit: int = 30) -> Table:
    """The best trials, with intervals; the column that sorts them stands first."""
    columns = list(dict.fromkeys([board.objective.column, *(column for row in board.rows[:1] for column in row.metrics)]))
    measured = [name for name in ("latency_p50_ms", "latency_p95_ms") if any(name in row.measured for row in board.rows)]
    shown = columns[:SHOWN_COLUMNS]
    table = Table(title=escape(board.question), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("", "trial", "id"):
        table.add_column(name, justify="right" if not name else "left", overflow="fold")
    for name in (*shown, *measured, "seconds"):
        table.add_column(name.replace("latency_", "").replace("_ms", " ms"), justify="right")
    for rank, row in enumerate(board.rows[:limit], 1):
        table.add_row(str(rank), escape(row.name), row.trial_id, *_cells(row, shown, measured))
    return table


def _cells(row: Row, shown: Sequence[str], measured: Sequence[str]) -> list[str]:
    if row.status != "done":
        return [f"[red]{row.status}[/red]"]
    metrics = [interval(row.metrics[column]) if column in row.metrics else number(row.value(column)) for column in shown]
    return [*metrics, *(number(row.measured.get(name), 1) for name in measured), number(row.measured["stage_seconds"], 1)]


def plan(made: Plan) -> Table:
    """What would run, by kind of stage."""
    told = made.to_json()
    table = Table(title=escape(made.experiment.question), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "distinct", "cached", "to run", "est. s"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    kinds = dict.fromkeys(stage.name for stage in made.stages.values())
    waiting = set(made.to_run)
    for kind in kinds:
        keys = [key for key, stage in made.stages.items() if stage.name == kind]
        runs = [key for key in keys if key in waiting]
        known = [made.estimate.by_stage[key] for key in runs if key in made.estimate.by_stage]
        seconds = f"{sum(known):.1f}" + ("+?" if len(known) < len(runs) else "")
        table.add_row(kind, str(len(keys)), str(len(keys) - len(runs)), str(len(runs)), seconds if runs else "")
    stages = told["stages"]
    table.add_row(
        "[bold]all[/bold]", str(stages["distinct"]), str(stages["cached"]), str(stages["to_run"]), f"{told['seconds']:.1f}"
    )
    return table


class SweepProgress:
    """A bar on standard error: how far, what runs now, what failed, how long still."""

    def __init__(self, made: Plan) -> None:
        self.plan, self.began, self.failed, self.done = made, time.monotonic(), 0, set[str]()
        self.bar = Progress(
            SpinnerColumn(),
            BarColumn(24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}", markup=False),
            console=err,
            transient=True,
        )
        self.task = self.bar.add_task("", total=len(made.to_run), left="")

    def __enter__(self) -> "SweepProgress":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, key: str, outcome: Outcome | None) -> None:
        """Hear of a stage that starts, or is over."""
        if outcome is None:
            self.bar.update(self.task, description=self.plan.stages[key].label)
            return
        self.done.add(key)
        self.failed += outcome.status == "failed"
        if outcome.status == "failed":
            err.print(
                f"[red]failed[/red] {escape(self.plan.stages[key].label)}: {escape(outcome.error.strip().splitlines()[-1])}"
            )
        self.bar.update(self.task, advance=1, left=self._left())

    def _left(self) -> str:
        known = self.plan.estimate.by_stage
        rest = [known[key] for key in self.plan.to_run if key not in self.done and key in known]
        unknown = sum(1 for key in self.plan.to_run if key not in self.done and key not in known)
        per_stage = (time.monotonic() - self.began) / max(len(self.done), 1)
        left = f"{sum(rest) + unknown * per_stage:.0f} s left"
        return left + (f", {self.failed} failed" if self.failed else "")
