"""What people see in a terminal: tables on standard output, progress on standard error."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from rag.dataset_check import DatasetCheck
from rag.execute import Outcome
from rag.leaderboard import Leaderboard, Row
from rag.plan import Plan
from rag.sweep import Sweep

out = Console(soft_wrap=False, highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(content: Mapping[str, Any]) -> None:
    """One object on standard output, nothing else there."""
    json.dump(content, sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def number(value: float | None, digits: int = 3) -> str:
    """A figure without its leading zero, as leaderboards write them; a dash for none."""
    if value is None or value != value:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def interval(found: Mapping[str, Any]) -> str:
    """A mean with its 95 % interval."""
    low, high = found.get("low"), found.get("high")
    shown = "" if low is None or high is None else f" [dim]\\[{number(low)}, {number(high)}][/dim]"
    return number(found["mean"]) + shown


def leaderboard(board: Leaderboard, limit: int = 30) -> Table:
    """The best trials; the column that sorts them stands first, with its intervals."""
    others = [column for column in board.columns if column != board.objective.column][: _room(board)]
    clocks = [name for name in ("latency_p50_ms", "latency_p95_ms") if any(name in row.measured for row in board.rows)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("#", "trial", "id"):
        table.add_column(name, justify="right" if name == "#" else "left", no_wrap=True)
    for name in (board.objective.column, *others, *(name.removeprefix("latency_") for name in clocks), "stages s"):
        table.add_column(escape(name), justify="right", no_wrap=True)
    for rank, row in enumerate(board.rows[:limit], 1):
        table.add_row(str(rank), escape(row.name), row.trial_id, *_cells(row, board.objective.column, others, clocks))
    return table


def _room(board: Leaderboard) -> int:
    """How many plain columns fit beside the names and the interval."""
    taken = max((len(row.name) for row in board.rows), default=0) + 56
    return max(1, (out.width - taken) // 12)


def _cells(row: Row, objective: str, others: Sequence[str], clocks: Sequence[str]) -> list[str]:
    if row.status != "done":
        return [f"[red]{row.status}[/red]"]
    first = interval(row.metrics[objective]) if objective in row.metrics else number(row.value(objective), 1)
    return [
        first,
        *(number(row.value(column)) for column in others),
        *(number(row.measured.get(name), 1) for name in clocks),
        number(row.measured["stage_seconds"], 1),
    ]


def closing(done: Sweep, folder: Path) -> None:
    """What ran, what was reused, what failed, and where to look next."""
    counts = done.counts()
    out.print(
        f"\n{len(done.board.rows)} trials, {counts['distinct']} distinct stages: {counts['ran']} ran, {counts['reused']} reused"
        + (f", {counts['failed']} failed, {counts['blocked']} not run because of them" if counts["failed"] else "")
    )
    failed = [(done.plan.stages[found.key].label, found.error) for found in done.outcomes.values() if found.status == "failed"]
    for label, error in dict.fromkeys(failed):
        err.print(f"[red]{escape(label)}[/red]\n{escape(error.rstrip())}")
    if done.interrupted:
        out.print("Stopped on the way: the same command goes on where it was.")
    best = next((row for row in done.board.rows if row.status == "done"), None)
    if best:
        out.print(f"Best by {done.board.objective.column}: {escape(best.name)}.")
        out.print("Brackets are 95 % intervals: trials whose intervals overlap widely are not told apart by this order.")
        out.print(f'Next:  rag ask "…" trial={best.trial_id}   ·   make ui   ·   {folder}/leaderboard.json')


def passages(found: Sequence[Mapping[str, Any]]) -> None:
    """Passages, each with where it came from."""
    for passage in found:
        steps = "  ".join(f"{name} #{place['rank']} ({place['score']:.4g})" for name, place in passage["steps"].items())
        out.print(f"[bold]{passage['rank']}[/bold]  {escape(passage['chunk'])}  [dim]{escape(passage['section'])}[/dim]")
        out.print(f"   [cyan]{escape(steps)}[/cyan]")
        out.print("   " + escape(" ".join(passage["text"].split())[:400]), "")


def stream(piece: str) -> None:
    """A piece of an answer, as soon as it is there."""
    out.print(escape(piece), end="", soft_wrap=True)


def spaces(found: Mapping[str, Any]) -> None:
    """What a store holds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("space", "entries", "MB"):
        table.add_column(name, justify="left" if name == "space" else "right")
    for space, held in found["spaces"].items():
        table.add_row(space, f"{held['entries']:,}", f"{held['bytes'] / 1e6:,.1f}")
    out.print(table)


def dataset(name: str, found: DatasetCheck) -> None:
    """What a golden set holds, and what its size can show."""
    out.print(f"[bold]{escape(name)}[/bold]: {found.documents} documents, {found.characters:,} characters")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kind")
    splits = [split for split in found.splits if split != "all"]
    for split in (*splits, "all"):
        table.add_column(split, justify="right")
    for kind, counts in found.kinds.items():
        table.add_row(escape(kind or "–"), *(str(counts.get(split, 0)) for split in splits), str(sum(counts.values())))
    out.print(table)
    for split, size in found.splits.items():
        least = "–" if size.smallest_difference is None else number(size.smallest_difference)
        out.print(f"{split}: {size.questions} questions, {size.clusters} clusters; smallest difference it can show: {least}")
    out.print(f"[dim](80 % power, two-sided 5 %, paired differences with standard deviation {found.assumed_deviation})[/dim]")
    for twin in found.twins:
        out.print(
            f"near-duplicates: {escape(twin.first)} ~ {escape(twin.second)}" + (" across splits" if twin.across_splits else "")
        )
    for stray in found.strays:
        out.print(f"quote of {escape(stray.query_id)} also stands in {escape(', '.join(stray.elsewhere))}")
    for cluster in found.clusters_across_splits:
        out.print(f"cluster {escape(cluster)} stands in several splits")


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
