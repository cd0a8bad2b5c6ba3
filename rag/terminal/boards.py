"""Leaderboards, and what is said under them."""

import math
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from rag.leaderboard import Leaderboard, Row
from rag.sweep import Sweep
from rag.terminal.output import err, interval, number, out


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
