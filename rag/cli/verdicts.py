"""Verbs that say whether one trial is better than another."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from rag.cli.app import app
from rag.cli.options import Experiment, Json, Overrides, Track


@app.command()
def compare(
    names: Annotated[list[str], typer.Argument(metavar="BASE OTHER", help="Trial ids, or paths of baselines.")],
    metric: Annotated[list[str] | None, typer.Option(help="A column to look at; all that they share unless told.")] = None,
    by: Annotated[
        str, typer.Option(help="Slices: kind, tag, doc, words, answerable, turns, split, meta.<key>; none of them for ''.")
    ] = "kind",
    bridge: Annotated[
        list[str] | None, typer.Option(help="What may differ: questions, corpus, metrics, coverage or judge.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare trials that ran, question by question, with the first of them. Nothing is computed again.

    Intervals and p-values know how many differences stand in the table (max-t).
    Without --metric all columns are looked at, and only ndcg@10 by slice.

    With --json, one object:

    base, candidates: trial and name of each.
    family: how many differences were tested together.
    added, removed, changed: questions that are not compared.
    rows: the differences, null for what cannot be known. Each has
    - base_name, candidate_name, base_id, candidate_id
    - column; slice, empty for all questions; n questions in clusters
    - base_mean, candidate_mean, difference
    - low, high: 95 % interval by itself
    - corrected_low, corrected_high: the same beside the whole family
    - p by itself, p_adjusted beside the family, significant at 5 % of that
    - effect: the difference in its standard deviations
    - wins, ties, losses: questions
    - detectable: the smallest difference found in 4 of 5 tries
    - needed: how many questions would show this difference
    - shrunk: what a slice of this size can be believed to differ
    """
    from rag.analysis.compare.trials import compared
    from rag.reporting import terminal

    dimensions = None if by == "kind" else [part.strip() for part in by.split(",") if part.strip()]
    found = compared(names, metric or (), dimensions, bridge or ())
    terminal.print_json(found.to_json()) if as_json else terminal.comparisons(found)


@app.command()
def report(experiment: Experiment, overrides: Overrides = None, track: Track = True, as_json: Json = False) -> None:
    """Draw a finished sweep: reports/EXPERIMENT/index.html, one file that opens without a network, and report.md in text.

    --json: page and text (their paths), recommended (trial id, empty for none) and name, why, sure and cost as the page has
    them, missing (by section of the report, why it has nothing to show).
    """
    from rag.config.experiment import load
    from rag.execution.sweep import sweep
    from rag.reporting import html as reports
    from rag.reporting import terminal
    from rag.tracking import sweep_runs

    ready = sweep.prepare(load(experiment, overrides or ()))
    made = reports.write(ready.plan, ready.store)
    if as_json:
        terminal.print_json(made.to_json())
    else:
        for line in (*made.lines, "", str(made.page), str(made.text)):
            terminal.out.print(line, markup=False, soft_wrap=True)
    if track:
        _attach(sweep_runs.attach, ready.plan, made.files)


def _attach(attach: Callable[[Any, Any], str], made: Any, files: Any) -> None:
    """Put a report beside its sweep in MLflow; the report is there whatever becomes of that."""
    from rag.core.errors import ServiceError
    from rag.reporting import terminal

    try:
        attach(made, files)
    except ServiceError as error:
        terminal.err.print(f"The report is written, but not in MLflow: {error}", markup=False, soft_wrap=True)
