"""Verbs that compare trials and draw the report of a sweep."""

from typing import Annotated

import typer

from rag.cli.app import app, study, verb
from rag.cli.options import Bridge, Experiment, Json, Lower, Overrides, Track, prepared, print_json, print_line


@verb(study)
def compare(
    names: Annotated[
        list[str], typer.Argument(metavar="BASE OTHER", help="Trial ids, paths of baselines, or files of scores.")
    ],
    metric: Annotated[list[str] | None, typer.Option(help="A column to compare; default: all common ones.")] = None,
    by: Annotated[
        str, typer.Option(help="Slices: kind, tag, doc, words, answerable, turns, split, meta.<key>; none of them for ''.")
    ] = "kind",
    bridge: Bridge = None,
    lower: Lower = None,
    as_json: Json = False,
) -> None:
    """Compare trials that ran, question by question, with the first of them. Nothing is computed again.

    Files of scores of any tool: rows of question, cluster (optional), metric and value in JSON lines or CSV, or what MLflow,
    promptfoo, DeepEval, ragas and Langfuse export.

    Intervals and p-values are corrected for all differences of the table (max-t).
    Without --metric all columns are compared, and only ndcg@10 by slice.

    With --json, one object:

    base, candidates: trial and name of each.
    family: how many differences were tested together.
    added, removed, changed: questions that are not compared; notes on files of scores.
    rows: the differences, null for unknown values. Each has
    - base_name, candidate_name, base_id, candidate_id
    - column; slice, empty for all questions; n questions in clusters
    - base_mean, candidate_mean, difference
    - low, high: 95 % interval by itself
    - corrected_low, corrected_high: the joint interval of the whole family
    - p by itself, p_adjusted for the family, significant: p_adjusted is at most 5 %
    - effect: the difference in its standard deviations
    - wins, ties, losses: questions
    - detectable: the smallest difference found in 4 of 5 tries
    - needed: how many questions would show this difference
    - lower: less of the metric is better
    - shrunk: the difference of a slice, shrunk towards that of all questions
    """
    from rag.api import verdicts
    from rag.reporting.terminal.comparisons import comparisons

    dimensions = None if by == "kind" else [part.strip() for part in by.split(",") if part.strip()]
    found = verdicts.compare(*names, metrics=metric or (), by=dimensions, bridges=bridge or (), lower=lower or ()).compared
    print_json(found.to_json()) if as_json else comparisons(found)


@app.command()
def report(experiment: Experiment, overrides: Overrides = None, track: Track = True, as_json: Json = False) -> None:
    """Draw a finished sweep: reports/EXPERIMENT/index.html, one file that opens without a network, and report.md in text.

    --json: page and text (their paths), recommended (trial id, empty for none) and name, why, sure and cost as the page has
    them, missing (by section of the report, why it has nothing to show).
    """
    from rag.core.errors import ServiceError
    from rag.reporting import html
    from rag.reporting.terminal.output import err
    from rag.tracking import sweep_runs

    ready = prepared(experiment, overrides)
    written = html.write(ready.plan, ready.store)
    if as_json:
        print_json(written.to_json())
    else:
        for line in (*written.lines, "", str(written.page), str(written.text)):
            print_line(line)
    try:
        if track:
            sweep_runs.attach(ready.plan, written.files)
    except ServiceError as error:
        print_line(f"The report is written, but not in MLflow: {error}", err)
