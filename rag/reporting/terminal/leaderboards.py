"""Leaderboards, and what ran for them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rag.execution.sweep.leaderboard import Leaderboard, Row
from rag.execution.sweep.sweep import Sweep
from rag.pipeline import unread_text
from rag.reporting.terminal.output import Table, err, escape, interval, number, out, tokens

MEASURED = {
    "unread": ("unread", "{:.1%}", 9),
    "latency_p50_ms": ("p50_ms", "{:.1f}", 8),
    "tokens": ("tokens", "{:,.0f}", 9),
    "cost_usd": ("US$", "{:.4f}", 8),
}
"""What a clock and a scale said, where there is anything to say: heading, form and room."""


def leaderboard(board: Leaderboard, limit: int = 30, marks: Mapping[str, str] | None = None) -> Table:
    """The best trials; what sorts them stands first, with its intervals. What does not fit is left out whole.

    `marks` are shown next to the ranks, by trial id, with P(best). The last column names a broken bound.
    """
    clocks = [column for column in MEASURED if any(_measured(row, column) for row in board.rows)]
    first = "objective" if board.objective.summed else board.objective.column
    bounded = [bound.column for bound in board.objective.bounds]
    others = [column for column in dict.fromkeys([*bounded, *board.columns]) if column not in (first, *clocks)]
    name = max(len("trial"), *(len(row.name) for row in board.rows[:limit]))
    room = out.width - (name + 37 + (9 if marks else 0))
    fitting: list[str] = []
    for column in (*clocks, *others):
        room -= MEASURED[column][2] if column in clocks else max(len(column), 4) + 2
        if room >= 0:
            fitting.append(column)
    clocks, shown = ([column for column in part if column in fitting] for part in (clocks, others))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title in ("#", *(["P(best)"] if marks else []), "trial", "id"):
        table.add_column(title, justify="right" if title == "#" else "left", no_wrap=title != "trial")
    for title in (first, *shown, *(MEASURED[clock][0] for clock in clocks)):
        table.add_column(escape(title), justify="right", no_wrap=True)
    for rank, row in enumerate(board.rows[:limit], 1):
        mark = [marks.get(row.trial_id, "")] if marks else []
        table.add_row(str(rank), *mark, escape(row.name), row.trial_id, *_cells(row, board, shown, clocks))
    return table


def _cells(row: Row, board: Leaderboard, others: Sequence[str], clocks: Sequence[str]) -> list[str]:
    if row.status != "done":
        return [f"[red]{row.status}{': budget spent' if row.status == 'not run' and row.error else ''}[/red]"]
    reached = row.reached(board.objective)
    first = interval(reached) if reached.get("mean") is not None and "low" in reached else number(reached.get("mean"), 1)
    broken = {bound.column for bound in board.objective.bounds if bound.text in row.broken}
    cells = [(column, _cell(row, column)) for column in (*others, *clocks)]
    return [first, *(f"[red]{cell}[/red]" if column in broken else cell for column, cell in cells)]


def _cell(row: Row, column: str) -> str:
    value = _measured(row, column) if column in MEASURED else row.value(column)
    if column == "unread" and value is not None:
        return unread_text.percent(value)
    if column in MEASURED and value is not None:
        return MEASURED[column][1].format(value)
    return number(value, 1 if column in row.measured else 3)


def _measured(row: Row, column: str) -> float | None:
    """What was measured of a trial; of its models the one that leaves most unread."""
    return unread_text.share(row.measured) if column == "unread" else row.measured.get(column)


def counted(done: Sweep) -> None:
    """What ran, what was reused, what failed."""
    counts = done.counts()
    trials = f"{len(done.board.rows)} {'trial' if len(done.board.rows) == 1 else 'trials'}"
    out.print(
        f"{trials}, {counts['distinct']} distinct stages: {counts['ran']} ran, {counts['reused']} reused"
        + (f", {counts['failed']} failed, {counts['blocked']} not run because of them" if counts["failed"] else "")
    )
    for row in done.board.rows:
        for why, times in Counter(row.failures).items():
            lost = "1 question was not answered and scores" if times == 1 else f"{times} questions were not answered and score"
            err.print(f"[red]{escape(row.name)}: {lost} 0[/red]\n{escape(why)}", soft_wrap=True)
    failed = [(done.plan.stages[found.key].label, found.error) for found in done.outcomes.values() if found.status == "failed"]
    for label, error in dict.fromkeys(failed):
        err.print(f"[red]{escape(label)}[/red]\n{escape(error.rstrip())}", soft_wrap=True)
    if left := 2 * counts["distinct"] - sum(counts.values()):
        out.print(f"{left} still to run.")
    _money(done)
    if done.exhausted:
        out.print(f"{escape(done.exhausted)}\nWhat needs no model ran all the same, and all of it is kept.", soft_wrap=True)
    if done.interrupted:
        out.print("Stopped on the way: the same command goes on where it was.")


def _money(done: Sweep) -> None:
    """What was asked of models in this run, beside what its plan took it for."""
    expected = done.plan.estimate.spending
    if done.spent.tokens or (expected.most.tokens and any(found.status == "ran" for found in done.outcomes.values())):
        planned = f"{tokens(expected.likely)}, {tokens(expected.most)} with the longest replies"
        out.print(f"Models took {tokens(done.spent)}; the plan said about {planned}.", soft_wrap=True)
