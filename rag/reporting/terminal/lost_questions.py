"""The questions that trials lost, and what better parts would add."""

import shlex
from collections.abc import Mapping, Sequence

from rag.analysis.headroom import Headroom, sentence
from rag.analysis.why import Overviews
from rag.core.figures import with_interval
from rag.reporting.terminal.output import Table, dimmed, escape, next_commands, out, print_table, table

MOST = 30
"""Lost questions that are listed."""


def losses(found: Overviews) -> None:
    """Print the losses of one trial or two: by stage and question by question, and the headroom of their parts."""
    names = [f"{trial.name} ({trial.trial_id})" for trial in found.trials]
    for name, trial in zip(names, found.trials, strict=True):
        out.print(f"[bold]{escape(name)}[/bold]: {len(trial.lost)} of {trial.answerable} questions with evidence are lost.")
    heads = ["questions"] if len(names) == 1 else [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    out.print()
    out.print(blame(dict(zip(heads, (trial.counts for trial in found.trials), strict=True))))
    for name, trial in zip(names, found.trials, strict=True):
        for column, parts in trial.headroom.items():
            out.print(f"\n[bold]{escape(name)}[/bold]" if len(names) > 1 else "")
            headroom(parts, column)
        for matrix, head, went in ((trial.routes, "right route", "went to"), (trial.inputs, "kind", "taken for")):
            if matrix:
                out.print()
                rows = ((right, *map(str, chosen.values())) for right, chosen in matrix.items())
                print_table((head, *(f"{went} {name}" for name in next(iter(matrix.values())))), rows)
    if found.texts:
        out.print()
        out.print(_listed(found))
        if len(found.texts) > MOST:
            out.print(f"[dim]… and {len(found.texts) - MOST} more: --json has all of them.[/dim]")
        trials = " ".join(trial.named for trial in found.trials)
        next_commands([f"rag study why {shlex.quote(next(iter(found.texts)))} {trials}"])


def _listed(found: Overviews) -> Table:
    trials = ["by"] if len(found.trials) == 1 else ["A", "B"]
    shown = table("lost", *trials, "question", words=2 + len(trials))
    for query_id, text in list(found.texts.items())[:MOST]:
        stages = (trial.lost[query_id].stage if query_id in trial.lost else "–" for trial in found.trials)
        shown.add_row(escape(query_id), *map(escape, stages), escape(text))
    return shown


def blame(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Lost questions by stage: one column per trial, without the stages that lost none in any trial."""
    shown = table("lost", *counts, breaks=True)
    for stage in next(iter(counts.values()), {}):
        row = [trial[stage] for trial in counts.values()]
        if any(row):
            shown.add_row(stage, *(str(count) if count else "·" for count in row))
    shown.add_row("[bold]all[/bold]", *(str(sum(trial.values())) for trial in counts.values()))
    return shown


def headroom(found: Sequence[Headroom], column: str) -> None:
    """Print what every perfect part would add to a column, and a sentence on it; nothing if nothing is known."""
    if not found:
        return
    gains = sorted(found, key=lambda gain: -gain.mean)
    print_table(("with a", f"{column} gains"), ((gain.part, dimmed(with_interval(gain))) for gain in gains), breaks=True)
    out.print(sentence(found))
