"""Verbs that plan, run and track."""

import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.app import app, study, verb
from rag.cli.options import (
    FAILED,
    INTERRUPTED,
    SPENT,
    Experiment,
    Json,
    Overrides,
    Track,
    Yes,
    prepared,
    print_json,
    print_line,
)

if TYPE_CHECKING:
    from rag.api.sweeps import SweepResult


@app.command()
def plan(experiment: Experiment, overrides: Overrides = None, as_json: Json = False) -> None:
    """Show what a sweep would run, reuse and take. Nothing is computed.

    Where files of the corpus are not parsed yet, only these are counted: the stages after them depend on their texts.
    """
    from rag.api import sweeps
    from rag.execution.graph.unparsed_files import UnparsedError
    from rag.execution.sweep import margin_reach
    from rag.reporting.terminal.plans import planned

    try:
        made = sweeps.plan(experiment, overrides or ())
    except UnparsedError as error:
        if as_json:
            print_json({"experiment": experiment, "files": error.files, "stages": None})
        else:
            print_line(f"{error.what}.\nThe stages after them are known when they are parsed, by a sweep for example.")
        return
    shares = made.unread
    margin = margin_reach.sentence(made.prepared.plan, made.prepared.store)
    found = made.to_json() | {"unread": shares, "margin": margin}
    print_json(found) if as_json else planned(made.prepared.plan, shares, margin)


@app.command(name="sweep")
def sweep_command(
    experiment: Experiment, overrides: Overrides = None, as_json: Json = False, track: Track = True, yes: Yes = False
) -> None:
    """Run an experiment: every distinct stage once, stored results reused. After Ctrl-C the same command continues.

    Where models cost money 5 questions come first. If none is answered it ends there, with exit code 2.
    """
    from rag.config.experiment import load

    again = ["study", "track", experiment, *(overrides or ())]
    called = shlex.join([experiment, *(overrides or ())])
    leave(conducted(load(experiment, overrides or ()), as_json, track, again, called, yes))


@verb(study)
def run(
    overrides: Overrides = None,
    multirun: Annotated[bool, typer.Option("-m", "--multirun", help="Every override with several values is an axis.")] = False,
    as_json: Json = False,
    track: Track = True,
    yes: Yes = False,
) -> None:
    """Run one trial; with -m, one for every combination of values."""
    from rag.config.experiment import ad_hoc
    from rag.core.errors import ConfigError

    declared = ad_hoc(overrides or ())
    if declared.axes and not multirun:
        raise ConfigError(", ".join(declared.axes), "has several values", "add -m to run one trial for each")
    leave(conducted(declared, as_json, track, ["study", "run", *(["-m"] if multirun else []), *(overrides or ())], "", yes))


def conducted(
    declared: Any,
    as_json: bool,
    track: bool,
    again: Sequence[str],
    called: str | None = "",
    yes: bool = False,
) -> "SweepResult":
    """Run, conclude, print, write and track; end the process after Ctrl-C. With `yes` a sweep begins whatever its smoke shows.

    `again` is the command that tracks later if MLflow cannot be reached; `called` is the experiment with its overrides, as
    typed in a shell, and None where no commands are to follow.
    """
    from rag.api.sweeps import conduct
    from rag.execution.sweep import sweep
    from rag.reporting.terminal import progress
    from rag.reporting.terminal.output import err
    from rag.tracking import sweep_runs

    ready = sweep.prepare(declared)
    if reason := sweep_runs.untracked() if track else "":
        print_line(reason, err)
    show = partial(_show, ready, as_json, called)
    result = conduct(ready, progress.SweepProgress, show, lambda text: print_line(text, err), yes)
    if result.interrupted:
        # The end of the process ends workers and models.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    if track and not reason:
        _report_untraced(result.send(shlex.join(["rag", *again])))
    return result


def leave(result: "SweepResult") -> None:
    """End with an exit code where a budget was spent or a trial failed."""
    done, concluded = result.sweep, result.conclusion
    if done.exhausted or concluded.exhausted:
        raise typer.Exit(SPENT)
    if concluded.failed or any(row.status == "failed" for row in done.board.rows):
        raise typer.Exit(FAILED)


def _show(ready: Any, as_json: bool, called: str | None, done: Any, concluded: Any) -> None:
    from rag.analysis.finding_counts import count_findings
    from rag.execution.judges import judge_report
    from rag.reporting.terminal.judges import judges
    from rag.reporting.terminal.leaderboards import tallies
    from rag.reporting.terminal.recommendation import failed, next_steps, swept

    stored = (done.plan, ready.store)
    found = count_findings(*stored)
    if as_json:
        counts = {tally.trial_id: tally.to_json() for tally in found}
        interrupted = done.interrupted or concluded.interrupted
        print_json(done.to_json() | concluded.to_json() | {"checks": counts, "interrupted": interrupted})
        return
    swept(done, concluded)
    tallies(found, concluded.winner.recommended if concluded.winner else "")
    assessors, asking = judge_report.assessors(*stored), judge_report.asking(*stored)
    known = {judge.identity for judge in (*assessors, *asking)}
    assessors += [judge for judge in concluded.controls.judges if judge.identity not in known]
    judges(assessors, asking)
    if called is not None:
        next_steps(done, concluded.winner, called)
    failed(done, concluded)


@verb(study)
def track(experiment: Experiment, overrides: Overrides = None) -> None:
    """Send the finished trials of a sweep to MLflow, for example if MLflow could not be reached when it ran."""
    from rag.api import sweeps

    result = sweeps.recall(experiment, overrides or ())
    _report_untraced(result.send(shlex.join(["rag", "study", "track", experiment, *(overrides or ())])))
    count = sum(row.status == "done" for row in result.sweep.board.rows)
    print_line(f"{count} {'trial is' if count == 1 else 'trials are'} in MLflow.")


def _report_untraced(missing: str) -> None:
    from rag.reporting.terminal.output import err

    if missing:
        print_line(f"The trials are in MLflow, the questions of the recommended one are not: {missing}", err)


@verb(study)
def trec(experiment: Experiment, folder: Path, overrides: Overrides = None) -> None:
    """Write the rankings of a finished sweep as TREC runs, and its gold as qrels, for trec_eval and similar tools."""
    from rag.analysis.compare.trec_export import write_trec

    ready = prepared(experiment, overrides)
    for path in write_trec(ready.plan, ready.store, folder):
        print_line(str(path))


@verb(study)
def ui(port: int = 5000) -> None:
    """Start MLflow's web interface on 127.0.0.1, and print addresses there: of the last sweep of each experiment.

    One has the trials, best first, and their charts; one compares two of them question by question.
    """
    from rag.tracking import sweep_runs

    command, views = sweep_runs.server_command(port)
    for name, address in views:
        print_line(f"{name}: {address}")
    if command:
        # The server replaces this process, so that Ctrl-C and a service manager reach it.
        os.execv(sys.executable, [sys.executable, *command])  # noqa: S606
