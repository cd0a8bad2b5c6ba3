"""What a reader must know of the judges of a sweep."""

from collections.abc import Sequence

from rich.markup import escape

from rag.assessors import Assessor
from rag.terminal.output import out


def judges(found: Sequence[Assessor]) -> None:
    """One line per remark."""
    for judge in found:
        for remark in judge.remarks:
            out.print(f"[yellow]{escape(remark)}.[/yellow]")
        if not judge.cards:
            out.print("rag judge calibrate judge=<its name> measures one.")
