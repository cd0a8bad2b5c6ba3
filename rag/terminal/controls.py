"""What a trial's answers owe to its contexts."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from rag.controls import RETRIEVED, ControlResult
from rag.terminal.output import err, number, out

SAID = {RETRIEVED: "retrieved", "closed_book": "none", "shuffled_contexts": "another question's", "gold_contexts": "gold"}


def controls(found: Sequence[ControlResult], title: str = "") -> None:
    """A row per control, and for every answer metric its mean and the difference to the trial, with its interval."""
    columns = list(dict.fromkeys(row.column for row in found))
    names = list(dict.fromkeys(row.name for row in found))
    cells = {(row.name, row.column): row for row in found}
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left", title_style="")
    table.add_column("contexts")
    for column in columns:
        table.add_column(escape(column), justify="right", no_wrap=True)
        table.add_column("difference", justify="right", no_wrap=True)
    for name in names:
        shown = (cell for column in columns for cell in _cells(cells[name, column]))
        table.add_row(SAID.get(name, escape(name)), *shown)
    out.print(table)
    for said in dict.fromkeys(f"{SAID.get(row.name, row.name)}: {row.error}" for row in found if row.error):
        err.print(f"[red]failed[/red] {escape(said)}", soft_wrap=True)
    out.print("[dim]Differences to the trial as it retrieved; brackets hold together in 95 % of tries.[/dim]")


def _cells(row: ControlResult) -> tuple[str, str]:
    if row.name == RETRIEVED:
        return number(row.mean), ""
    if row.error:
        return "[red]failed[/red]", ""
    difference, low, high = (round(value, 3) + 0.0 for value in (row.difference, row.low, row.high))
    sign = "+" if difference > 0 else ""
    return number(row.mean), f"{sign}{number(difference)} [dim]\\[{number(low)}, {number(high)}][/dim]"
