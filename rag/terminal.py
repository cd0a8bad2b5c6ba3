"""What people see in a terminal: tables on standard output, progress on standard error."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from rag.dataset_check import DatasetCheck
from rag.leaderboard import Leaderboard, Row
from rag.plan import Plan
from rag.sweep import Sweep


class Output(Console):
    """Standard output; when its reader goes, as `head` does, the work goes on and what is still to be said is not."""

    def on_broken_pipe(self) -> None:
        """Write the rest to nobody."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


out = Output(soft_wrap=False, highlight=False)
err = Console(stderr=True, highlight=False)
EXCERPT = 400


def print_json(content: Mapping[str, Any]) -> None:
    """One object on standard output, nothing else there."""
    ascii_only = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    text = json.dumps(content, indent=1, ensure_ascii=ascii_only, allow_nan=False)
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        out.on_broken_pipe()


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
    """The best trials; the column that sorts them stands first, with its intervals. What does not fit is left out whole."""
    clocks = ["latency_p50_ms"] if any("latency_p50_ms" in row.measured for row in board.rows) else []
    others = [column for column in board.columns if column != board.objective.column]
    name = max(len("trial"), *(len(row.name) for row in board.rows[:limit]))
    room = out.width - (name + 37 + sum(len(clock) - 6 for clock in clocks))
    shown: list[str] = []
    for column in others:
        room -= max(len(column), 4) + 2
        if room >= 0:
            shown.append(column)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title in ("#", "trial", "id"):
        table.add_column(title, justify="right" if title == "#" else "left", no_wrap=True)
    for title in (board.objective.column, *shown, *(clock.removeprefix("latency_") for clock in clocks)):
        table.add_column(escape(title), justify="right", no_wrap=True)
    for rank, row in enumerate(board.rows[:limit], 1):
        table.add_row(str(rank), escape(row.name), row.trial_id, *_cells(row, board.objective.column, shown, clocks))
    return table


def _cells(row: Row, objective: str, others: Sequence[str], clocks: Sequence[str]) -> list[str]:
    if row.status != "done":
        return [f"[red]{row.status}[/red]"]
    first = interval(row.metrics[objective]) if objective in row.metrics else number(row.value(objective), 1)
    return [
        first,
        *(number(row.value(column)) for column in others),
        *(number(row.measured.get(name), 1) for name in clocks),
    ]


def closing(done: Sweep, folder: Path) -> None:
    """What ran, what was reused, what failed, and where to look next."""
    counts = done.counts()
    trials = f"{len(done.board.rows)} {'trial' if len(done.board.rows) == 1 else 'trials'}"
    out.print(
        f"\n{trials}, {counts['distinct']} distinct stages: {counts['ran']} ran, {counts['reused']} reused"
        + (f", {counts['failed']} failed, {counts['blocked']} not run because of them" if counts["failed"] else "")
    )
    failed = [(done.plan.stages[found.key].label, found.error) for found in done.outcomes.values() if found.status == "failed"]
    for label, error in dict.fromkeys(failed):
        err.print(f"[red]{escape(label)}[/red]\n{escape(error.rstrip())}", soft_wrap=True)
    if left := 2 * counts["distinct"] - sum(counts.values()):
        out.print(f"{left} still to run.")
    if done.interrupted:
        out.print("Stopped on the way: the same command goes on where it was.")
    best = next((row for row in done.board.rows if row.status == "done"), None)
    if best and math.isnan(best.value(done.board.objective.column)):
        out.print(f"No trial has a value of {done.board.objective.column}: this order means nothing.")
    elif best:
        out.print(f"Best by {done.board.objective.column}: {escape(best.name)}.")
        out.print(
            "[dim]Brackets: 95 % intervals. Trials whose intervals overlap widely are not told apart by this order.[/dim]"
        )
        out.print(f'Next:  rag ask "…" trial={best.trial_id}   make ui   {folder}/leaderboard.json')


def passages(found: Sequence[Mapping[str, Any]]) -> None:
    """Passages, each with where it came from: its rank and score in every index, after fusion, after reranking."""
    for passage in found:
        steps = ", ".join(f"{name} #{place['rank']} ({place['score']:.4g})" for name, place in passage["steps"].items())
        text = " ".join(passage["text"].split())
        shown = text if len(text) <= EXCERPT else text[:EXCERPT] + " …"
        out.print(
            f"[bold]\\[{passage['rank']}][/bold] {escape(passage['chunk'])}  [cyan]{escape(steps)}[/cyan]", soft_wrap=True
        )
        if passage["section"]:
            out.print(Padding(f"[dim]{escape(passage['section'])}[/dim]", (0, 4), expand=False))
        out.print(Padding(escape(shown), (0, 4, 1, 4), expand=False))


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


def planned(made: Plan) -> None:
    """What a sweep would run and reuse, and what it would take."""
    told = made.to_json()
    stages = told["stages"]
    out.print(told["question"], markup=False)
    out.print(plan(made))
    out.print(f"{told['trials']} trials; {stages['total']} stages one by one, {stages['distinct']} distinct.")
    if told["unmeasured"]:
        out.print(f"{told['unmeasured']} stages are of a kind that never ran on this store: the seconds leave them out.")
    if told["tokens"]:
        cost = "at an unknown price" if told["cost"] is None else f"{told['cost']:.2f} US dollars"
        out.print(f"About {told['tokens']:,} tokens, {cost}.")


def plan(made: Plan) -> Table:
    """What would run, by kind of stage; `?` stands for kinds that never ran on this store."""
    told = made.to_json()["stages"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "distinct", "cached", "to run", "est. s"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    waiting = set(made.to_run)
    for kind in dict.fromkeys(stage.name for stage in made.stages.values()):
        keys = [key for key, stage in made.stages.items() if stage.name == kind]
        runs = [key for key in keys if key in waiting]
        table.add_row(kind, str(len(keys)), str(len(keys) - len(runs)), str(len(runs)), _seconds(made, runs))
    counts = (str(told[name]) for name in ("distinct", "cached", "to_run"))
    table.add_row("[bold]all[/bold]", *counts, _seconds(made, made.to_run))
    return table


def _seconds(made: Plan, runs: Sequence[str]) -> str:
    known = [made.estimate.by_stage[key] for key in runs if key in made.estimate.by_stage]
    if not runs:
        return ""
    return (f"{sum(known):.1f}" if known else "") + ("" if len(known) == len(runs) else " + ?" if known else "?")
