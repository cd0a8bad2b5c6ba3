"""Leaderboards, the stages that ran for them, and the findings of checks and guards per trial."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rag.analysis.finding_counts import Tally, in_words
from rag.core.figures import amount, figure, interval
from rag.core.questions import PLACED
from rag.execution.sweep.leaderboard import Leaderboard, Row, ranked
from rag.execution.sweep.sweep import Sweep
from rag.pipeline.search import unread_text
from rag.reporting.terminal.output import Table, dimmed, err, escape, out, print_line, table, tokens

MEASURED = {
    "failed_questions": ("failed", "{:.0f}", 8),
    "cut_replies": ("cut", "{:.0f}", 5),
    "passage_failures": ("no_reply", "{:.0f}", 10),
    "unusable": ("unusable", "{:.0f}", 10),
    "tokens": ("tokens", "{:,.0f}", 9),
    "cost_usd": ("US$", "{:.4f}", 8),
    "chars_read": ("chars", "{:,.0f}", 7),
    "unjudged": ("unjudged", "{:.0%}", 10),
    "unread": ("unread", "{:.1%}", 9),
    "latency_p50_ms": ("p50_ms", "{:.1f}", 8),
}
"""Columns that were measured by trial and not by question, shown if any trial has a value: heading, format, width. The first
that fit are shown."""
SHOWN = 8
"""Trials on a terminal; the report has all."""
WIDE = 100
"""Columns of a terminal from which P(best) is shown."""


def leaderboard(board: Leaderboard, limit: int = SHOWN, marks: Mapping[str, str] | None = None) -> Table:
    """The best trials; the column that sorts them comes first, with intervals. Columns that do not fit are left out.

    `marks` are shown next to the ranks, by trial id, with P(best). The last column names a broken bound.
    """
    clocks = [column for column in MEASURED if any(_measured(row, column) for row in board.rows)]
    first = "objective" if board.objective.summed else board.objective.column
    bounded = [bound.column for bound in board.objective.bounds]
    others = [column for column in dict.fromkeys([*bounded, *board.columns]) if column not in (first, *clocks)]
    name = max(len("trial"), *(len(row.name) for row in board.rows[:limit]))
    lost = any(row.quotes for row in board.rows)
    room = out.width - (name + 37 + ((9 if out.width >= WIDE else 3) if marks else 0) + (13 if lost else 0))
    fitting: list[str] = []
    for column in (*clocks, *others):
        room -= MEASURED[column][2] if column in clocks else max(len(column), 4) + 2
        if room >= 0:
            fitting.append(column)
    clocks, shown = ([column for column in part if column in fitting] for part in (clocks, others))
    marks = marks if out.width >= WIDE else {name: mark.split(" ")[0] for name, mark in (marks or {}).items()}
    likely = "P(best)" if any(mark[-1:].isdigit() for mark in (marks or {}).values()) else ""
    left = ("#", *([likely] if marks else []), "trial", "id", *(["gold found"] if lost else []))
    shown_rows = table(*left, first, *shown, *(MEASURED[clock][0] for clock in clocks), words=len(left))
    for shown_column, heading in zip(shown_rows.columns, left, strict=False):
        shown_column.justify, shown_column.no_wrap = "right" if heading == "#" else "left", heading != "trial"
    for rank, row in ranked(board.rows[:limit]):
        if row.apart and rank == 1:
            shown_rows.add_row()
        mark = [marks.get(row.trial_id, "")] if marks else []
        gold = [_gold(row)] if lost else []
        shown_rows.add_row(str(rank), *mark, escape(row.name), row.trial_id, *gold, *_cells(row, board, shown, clocks))
    return shown_rows


def _gold(row: Row) -> str:
    """How many gold quotes the documents of a trial hold; empty if all are exact."""
    quotes = row.quotes
    return f"{sum(quotes.get(fate, 0) for fate in PLACED)} of {sum(quotes.values())}" if quotes else ""


def _cells(row: Row, board: Leaderboard, others: Sequence[str], clocks: Sequence[str]) -> list[str]:
    if row.status != "done":
        return [f"[red]{row.status}{': budget spent' if row.status == 'not run' and row.error else ''}[/red]"]
    reached = row.reached(board.objective)
    mean = reached.get("mean")
    first = dimmed(interval(mean, reached["low"], reached["high"])) if "low" in reached else figure(mean, 1)
    broken = {bound.column for bound in board.objective.bounds if bound.text in row.broken}
    asked = {column: {each.metrics[column]["n"] for each in board.rows if column in each.metrics} for column in others}
    uneven = [column for column in others if len(asked[column]) > 1]
    cells = [(column, _cell(row, column, uneven)) for column in (*others, *clocks)]
    return [first, *(f"[red]{cell}[/red]" if column in broken else cell for column, cell in cells)]


def _cell(row: Row, column: str, uneven: Collection[str]) -> str:
    """The cell of a row; the number of questions is shown for `uneven` columns, in which it differs between trials."""
    value = _measured(row, column) if column in MEASURED else row.value(column)
    if column in uneven and column in row.metrics:
        return f"{figure(value)} (n={row.metrics[column]['n']})"
    if column == "unread" and value is not None:
        return unread_text.percent(value)
    if column in MEASURED and value is not None:
        return MEASURED[column][1].format(value)
    return figure(value, 1 if column in row.measured else 3)


def _measured(row: Row, column: str) -> float | None:
    """A measured value of a trial; for `unread`, that of the model that leaves most unread."""
    return unread_text.share(row.measured) if column == "unread" else row.measured.get(column)


def counted(done: Sweep) -> None:
    """Print how many stages ran and were reused, and the tokens and cost of this run, with those of the plan."""
    counts = done.counts()
    out.print(
        f"{amount(len(done.board.rows), 'trial')}, {counts['distinct']} distinct stages: "
        f"{counts['ran']} ran, {counts['reused']} reused"
        + (f", {counts['failed']} failed, {counts['blocked']} not run because of them" if counts["failed"] else "")
    )
    expected = done.plan.estimate.spending
    if done.spent.tokens or (expected.most.tokens and any(outcome.status == "ran" for outcome in done.outcomes.values())):
        planned = f"{tokens(expected.likely)}, {tokens(expected.most)} with the longest replies"
        out.print(f"Models took {tokens(done.spent)}; the plan said about {planned}.", soft_wrap=True)


def failures(done: Sweep) -> None:
    """Print what failed with its causes, and what is still to run."""
    for row in done.board.rows:
        for why, times in Counter(row.failures).items():
            lost = "1 question was not answered and scores" if times == 1 else f"{times} questions were not answered and score"
            err.print(f"[red]{escape(row.name)}: {lost} 0[/red]\n{escape(why)}", soft_wrap=True)
    outcomes = done.outcomes.values()
    failed = [(done.plan.stages[outcome.key].label, outcome.error) for outcome in outcomes if outcome.status == "failed"]
    for label, error in dict.fromkeys(failed):
        err.print(f"[red]{escape(label)}[/red]\n{escape(error.rstrip())}", soft_wrap=True)
    counts = done.counts()
    if left := 2 * counts["distinct"] - sum(counts.values()):
        out.print(f"{left} still to run.")
    if done.exhausted:
        out.print(f"{escape(done.exhausted)}\nStages that need no model ran, and all results are kept.", soft_wrap=True)
    if done.interrupted:
        out.print("Interrupted: the same command continues where it stopped.")


def tallies(found: Sequence[Tally], recommended: str) -> None:
    """Print the findings of checks and guards in the recommended trial on one line; nothing if it has none of them."""
    for tally in found:
        if tally.trial_id == recommended and tally.fired:
            each = (f"{name} {in_words(fired)}" for name, fired in tally.fired.items() if fired.findings)
            figures = "; ".join([f"declined {tally.declined} of {tally.questions}", *each])
            print_line(f"Its checks and guards, as findings in questions: {figures}.")
