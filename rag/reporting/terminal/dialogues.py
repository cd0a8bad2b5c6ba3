"""A trial turn by turn."""

from collections.abc import Sequence

from rag.analysis.dialogues import AtTurn, Dialogues
from rag.reporting.terminal.output import Table, escape, number, out

FEW = 3
"""Carry-over errors that are told in words."""


def dialogues(found: Dialogues) -> None:
    """A row per turn, and the first carry-over errors."""
    out.print(f"{escape(found.name)} ({found.trial}), history={found.history}", soft_wrap=True)
    out.print(_table(found))
    total = found.turns[-1]
    share = f", {number(total.lost / total.followups)} of them" if total.followups else ""
    out.print(
        f"Carry-over errors: {total.lost} of {total.followups} follow-ups{share}. "
        f"A person's rewrite finds their evidence within {found.k}, and what was searched for does not."
    )
    for one in found.lost[:FEW]:
        out.print(f"  {escape(one.question)}: {escape(one.text)}", soft_wrap=True)
        out.print(f"    [dim]a person: {escape(one.rewrite)}[/dim]", soft_wrap=True)
        out.print(f"    [dim]searched: {escape(' | '.join(one.sought))}[/dim]", soft_wrap=True)
    if len(found.lost) > FEW:
        out.print(f"  … {len(found.lost) - FEW} more: --json")
    out.print()


def _table(found: Dialogues) -> Table:
    columns = _chosen(found.turns[-1])
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title in ("turn", "n", *columns, f"all@{found.k}", "carry-over", "declined", "prompt", "tokens"):
        table.add_column(escape(title), justify="right", no_wrap=True)
    for row in found.turns:
        scores = [number(row.scores[column]["mean"]) for column in columns]
        lost = f"{row.lost}/{row.followups}" if row.followups else "–"
        spent = (number(row.prompt_tokens, 0), number(row.tokens, 0))
        cells = [number(row.found), lost, number(row.declined), *spent]
        table.add_row(str(row.turn or "all"), str(row.questions), *scores, *cells, style=None if row.turn else "bold")
    return table


def _chosen(row: AtTurn) -> Sequence[str]:
    """The first column that measures rankings, and the first that measures answers."""
    cut = [column for column in row.scores if "@" in column]
    return [*cut[:1], *[column for column in row.scores if column not in cut][:1]]
