"""What checks and guards found, per trial."""

from collections.abc import Sequence

from rag.analysis.finding_counts import Tally, in_words
from rag.reporting.terminal.output import Table, escape, out


def tallies(found: Sequence[Tally]) -> None:
    """One row per trial, one column per check or guard; nothing where nobody looked and nothing was found."""
    sources = list(dict.fromkeys(source for tally in found for source in tally.fired))
    if not sources:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("trial", "declined", *sources):
        table.add_column(escape(column), justify="left" if column == "trial" else "right")
    for tally in found:
        cells = (in_words(tally.fired[source]) if source in tally.fired else "" for source in sources)
        table.add_row(escape(tally.name), f"{tally.declined} of {tally.questions}", *cells)
    out.print("What checks and guards found, as findings in questions:")
    out.print(table)
