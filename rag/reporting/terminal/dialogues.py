"""The scores of a trial by turn of the dialogues, and its carry-over errors."""

from collections.abc import Sequence

from rag.analysis.dialogues import AtTurn, Dialogues
from rag.analysis.reused_passages import ReusedPassages
from rag.reporting.terminal.output import Table, escape, number, out, table

FEW = 3
"""Carry-over errors that are shown with their texts."""


def dialogues(found: Dialogues) -> None:
    """Print a row per turn, and the first carry-over errors."""
    out.print(f"{escape(found.name)} ({found.trial}), history={found.history}", soft_wrap=True)
    out.print(_turns(found))
    total = found.turns[-1]
    share = f", {number(total.lost / total.followups)} of them" if total.followups else ""
    out.print(
        f"Carry-over errors: {total.lost} of {total.followups} follow-ups{share}. "
        f"A person's rewrite finds their evidence within {found.k}, and the search of the trial does not."
    )
    if found.reused:
        out.print(_reused(found.reused, found.k), soft_wrap=True)
    for error in found.lost[:FEW]:
        out.print(f"  {escape(error.question)}: {escape(error.text)}", soft_wrap=True)
        out.print(f"    [dim]a person: {escape(error.rewrite)}[/dim]", soft_wrap=True)
        out.print(f"    [dim]searched: {escape(' | '.join(error.sought))}[/dim]", soft_wrap=True)
    if len(found.lost) > FEW:
        out.print(f"  … {len(found.lost) - FEW} more: --json")
    out.print()


def _reused(reused: ReusedPassages, k: int) -> str:
    stale = f" ({number(reused.stale / reused.passages)})" if reused.passages else ""
    return (
        f"Retrieval memory: {reused.saved} of {reused.questions} questions without a search, {reused.half} with half of one. "
        f"{reused.stale} of {reused.passages} passages used again{stale} are not among the first {k} of a fresh search. "
        f"Of {reused.evidence} questions with evidence, {reused.lost} lose some of it by this, and {reused.won} win the rest."
    )


def _turns(found: Dialogues) -> Table:
    columns = _columns(found.turns[-1])
    shown = table("turn", "n", *columns, f"all@{found.k}", "carry-over", "declined", "prompt", "tokens", words=0)
    for row in found.turns:
        scores = [number(row.scores[column]["mean"]) for column in columns]
        lost = f"{row.lost}/{row.followups}" if row.followups else "–"
        spent = (number(row.prompt_tokens, 0), number(row.tokens, 0))
        cells = [number(row.found), lost, number(row.declined), *spent]
        shown.add_row(str(row.turn or "all"), str(row.questions), *scores, *cells, style=None if row.turn else "bold")
    return shown


def _columns(row: AtTurn) -> Sequence[str]:
    """The first column that measures rankings, and the first that measures answers."""
    cut = [column for column in row.scores if "@" in column]
    return [*cut[:1], *[column for column in row.scores if column not in cut][:1]]
