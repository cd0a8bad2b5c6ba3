"""What checks and guards found, per trial."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from rag.checked import Fired, Tally
from rag.terminal.output import out

DONE = {
    "quarantine": "taken out",
    "abstain": "not asked",
    "remove": "cut",
    "refuse": "refused",
    "regenerate": "asked again",
}
"""What followed from a finding, but for telling the reader."""


def tallies(found: Sequence[Tally]) -> None:
    """One row per trial, one column per check or guard; nothing where nobody looked and nothing was found."""
    sources = list(dict.fromkeys(source for tally in found for source in tally.fired))
    if not sources:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("trial", "declined", *sources):
        table.add_column(escape(column), justify="left" if column == "trial" else "right")
    for tally in found:
        cells = (fired(tally.fired[source]) if source in tally.fired else "" for source in sources)
        table.add_row(escape(tally.name), f"{tally.declined} of {tally.questions}", *cells)
    out.print("What checks and guards found, as findings in questions:")
    out.print(table)


def fired(one: Fired) -> str:
    """`12 in 9`, and what followed: `12 in 9, 3 refused`."""
    if not one.findings:
        return "–"
    followed = [f"{count} {DONE[action]}" for action, count in one.actions.items() if action in DONE]
    return ", ".join([f"{one.findings} in {one.questions}", *followed])
