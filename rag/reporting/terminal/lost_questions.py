"""Everything that trials lost, and what a better part would add."""

import shlex
from collections.abc import Mapping, Sequence

from rag.analysis.headroom import Headroom, sentence
from rag.analysis.why import Overview, Overviews
from rag.reporting.terminal.next_commands import following
from rag.reporting.terminal.output import Table, escape, number, out

MOST = 30
"""Lost questions that are listed."""


def losses(found: Overviews) -> None:
    """What one trial or two lost: by stage, question by question, and what their parts leave on the table."""
    names = [f"{one.name} ({one.trial_id})" for one in found.trials]
    for name, one in zip(names, found.trials, strict=True):
        out.print(f"[bold]{escape(name)}[/bold]: {len(one.lost)} of {one.answerable} questions with evidence are lost.")
    letters = ["questions"] if len(names) == 1 else [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    out.print()
    out.print(blame(dict(zip(letters, (one.counts for one in found.trials), strict=True))))
    for name, one in zip(names, found.trials, strict=True):
        for column, parts in one.headroom.items():
            out.print(f"\n[bold]{escape(name)}[/bold]" if len(names) > 1 else "")
            headroom(parts, column)
    if found.texts:
        out.print()
        out.print(_listed(found))
        if len(found.texts) > MOST:
            out.print(f"[dim]… and {len(found.texts) - MOST} more: --json has all of them.[/dim]")
        named = " ".join(one.named for one in found.trials)
        following([f"rag why {shlex.quote(next(iter(found.texts)))} {named}"])


def _listed(found: Overviews) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("lost")
    for one in found.trials:
        table.add_column("by" if len(found.trials) == 1 else "AB"[found.trials.index(one)])
    table.add_column("question")
    for query_id, text in list(found.texts.items())[:MOST]:
        table.add_row(escape(query_id), *(_stage(one, query_id) for one in found.trials), escape(text))
    return table


def _stage(one: Overview, query_id: str) -> str:
    return escape(one.lost[query_id].stage) if query_id in one.lost else "–"


def blame(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Lost questions by stage: one column per trial, stages that lost none in any of them left out."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("lost")
    for name in counts:
        table.add_column(escape(name), justify="right")
    for stage in next(iter(counts.values()), {}):
        row = [found[stage] for found in counts.values()]
        if any(row):
            table.add_row(stage, *(str(count) if count else "·" for count in row))
    table.add_row("[bold]all[/bold]", *(str(sum(found.values())) for found in counts.values()))
    return table


def headroom(found: Sequence[Headroom], column: str) -> None:
    """What every perfect part would add to a column, and the sentence about it; nothing where nothing is known."""
    if not found:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("with a")
    table.add_column(f"{escape(column)} gains", justify="right")
    for one in sorted(found, key=lambda one: -one.mean):
        span = f" [dim]\\[{number(one.low)}, {number(one.high)}][/dim]" if one.low == one.low else ""
        table.add_row(one.part, f"{number(one.mean)}{span}")
    out.print(table)
    out.print(sentence(found))
