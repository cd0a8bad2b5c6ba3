"""The answers of a trial, and what they owe to its contexts."""

from collections.abc import Sequence

from rag.execution.sweep.ablations import RETRIEVED, ControlResult
from rag.reporting.terminal.output import Table, err, escape, interval, number, out

SAID = {RETRIEVED: "retrieved", "closed_book": "none", "shuffled_contexts": "another question's", "gold_contexts": "gold"}


def controls(found: Sequence[ControlResult]) -> None:
    """Per metric the trial's mean with its interval, then a row per control: its mean, and the difference to the trial."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("metric", "contexts", "mean", "difference"):
        table.add_column(name, justify="left" if name in ("metric", "contexts") else "right", no_wrap=name != "metric")
    for row in found:
        metric = escape(row.column) if row.name == RETRIEVED else ""
        table.add_row(metric, SAID.get(row.name, escape(row.name)), *_cells(row))
    out.print(table)
    for said in dict.fromkeys(f"{SAID.get(row.name, row.name)}: {row.error}" for row in found if row.error):
        err.print(f"[red]failed[/red] {escape(said)}", soft_wrap=True)
    counts = ", ".join(f"{escape(row.column)} {row.n:,}" for row in found if row.name == RETRIEVED)
    out.print(f"[dim]Questions with a value: {counts}.[/dim]")
    if any(row.name != RETRIEVED for row in found):
        out.print("[dim]Differences to the trial as it retrieved; their brackets hold together in 95 % of tries.[/dim]")


def _cells(row: ControlResult) -> tuple[str, str]:
    if row.error:
        return "[red]failed[/red]", ""
    if row.name == RETRIEVED:
        return interval({"mean": row.mean, "low": row.mean_low, "high": row.mean_high}), ""
    if row.difference != row.difference:
        return number(row.mean), ""
    difference, low, high = (round(value, 3) + 0.0 for value in (row.difference, row.low, row.high))
    sign = "+" if difference > 0 else ""
    return number(row.mean), f"{sign}{number(difference)} [dim]\\[{number(low)}, {number(high)}][/dim]"
