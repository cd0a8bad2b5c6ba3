"""Verbs that plan, run and track."""

import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from rag.cli.app import app
from rag.cli.options import FAILED, INTERRUPTED, SPENT, Experiment, Json, Overrides, Track


@app.command()
def plan(experiment: Experiment, overrides: Overrides = None, as_json: Json = False) -> None:
    """Show what a sweep would run and reuse, and what it would take. Nothing is computed."""
    from rag.config.experiment import load
    from rag.execution.graph import unread_trials
    from rag.execution.sweep import sweep
    from rag.reporting import terminal

    ready = sweep.prepare(load(experiment, overrides or ()))
    shares = unread_trials.unread_shares(ready.plan, ready.store)
    terminal.print_json(ready.plan.to_json() | {"unread": shares}) if as_json else terminal.planned(ready.plan, shares)


@app.command(name="sweep")
def sweep_command(experiment: Experiment, overrides: Overrides = None, as_json: Json = False, track: Track = True) -> None:
    """Run an experiment: every distinct stage once, what was computed before reused. Ctrl-C and run again goes on."""
    from rag.config.experiment import load

    again = ["track", experiment, *(overrides or ())]
    _sweep(load(experiment, overrides or ()), as_json, track, again, shlex.join([experiment, *(overrides or ())]))


@app.command()
def run(
    overrides: Overrides = None,
    multirun: Annotated[bool, typer.Option("-m", "--multirun", help="Every override with several values is an axis.")] = False,
    as_json: Json = False,
    track: Track = True,
) -> None:
    """Run one trial; with -m, one for every combination of values."""
    from rag.config.experiment import ad_hoc
    from rag.core.errors import ConfigError

    declared = ad_hoc(overrides or ())
    if declared.axes and not multirun:
        raise ConfigError(", ".join(declared.axes), "has several values", "add -m to run one trial for each")
    _sweep(declared, as_json, track, ["run", *(["-m"] if multirun else []), *(overrides or ())])


def _sweep(declared: Any, as_json: bool, track: bool, again: Sequence[str], called: str = "") -> None:
    """Run, conclude, print, write and track.

    `again` is the command that tracks if it cannot be done now, `called` what names the experiment on a command line.
    """
    from rag.api.sweeps import conduct
    from rag.execution.sweep import sweep
    from rag.reporting.terminal import progress
    from rag.tracking import sweep_runs

    ready = sweep.prepare(declared)
    done, told = conduct(ready, progress.SweepProgress, partial(_show, ready, as_json, called))
    if done.interrupted or told.interrupted:
        # The end of the process ends workers and models.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    if track:
        _, missing = sweep_runs.send(done, ready.store, shlex.join(["rag", *again]), told.controls, told.winner)
        _say_untraced(missing)
    if done.exhausted or told.exhausted:
        raise typer.Exit(SPENT)
    if told.failed or any(row.status == "failed" for row in done.board.rows):
        raise typer.Exit(FAILED)


def _show(ready: Any, as_json: bool, called: str, done: Any, told: Any) -> None:
    """Print what a sweep found."""
    from rag.analysis import finding_counts
    from rag.execution.judges import judge_agreement, judge_report
    from rag.execution.sweep import sweep
    from rag.reporting import terminal

    stored = (done.plan, ready.store)
    if as_json:
        found = {tally.trial_id: tally.to_json() for tally in finding_counts.count_findings(*stored)}
        interrupted = done.interrupted or told.interrupted
        terminal.print_json(done.to_json() | told.to_json() | {"checks": found, "interrupted": interrupted})
        return
    terminal.swept(done, told, sweep.folder_of(done), called)
    terminal.tallies(finding_counts.count_findings(*stored))
    judges, asking = judge_report.assessors(*stored), judge_report.asking(*stored)
    known = {judge.identity for judge in (*judges, *asking)}
    judges += [judge for judge in told.controls.judges if judge.identity not in known]
    terminal.judges(judges, judge_agreement.concordances(*stored), asking)


@app.command()
def track(experiment: Experiment, overrides: Overrides = None) -> None:
    """Send the finished trials of a sweep to MLflow, if that did not work when it ran."""
    from rag.config.experiment import load
    from rag.execution.sweep import holdout, sweep
    from rag.reporting import terminal
    from rag.tracking import sweep_runs

    ready = sweep.prepare(load(experiment, overrides or ()))
    done = sweep_runs.recall(ready.plan, ready.store)
    told = holdout.reach(done, ready.store, ready.settings, None)
    later = shlex.join(["rag", "track", experiment, *(overrides or ())])
    _, missing = sweep_runs.send(done, ready.store, later, told.controls, told.winner)
    _say_untraced(missing)
    count = sum(row.status == "done" for row in done.board.rows)
    terminal.out.print(f"{count} {'trial is' if count == 1 else 'trials are'} in MLflow.")


def _say_untraced(missing: str) -> None:
    from rag.reporting import terminal

    if missing:
        text = f"The trials are in MLflow, the questions of the recommended one are not: {missing}"
        terminal.err.print(text, markup=False, soft_wrap=True)


@app.command()
def trec(experiment: Experiment, folder: Path, overrides: Overrides = None) -> None:
    """Write the rankings of a finished sweep as TREC runs, and its gold as qrels, for trec_eval and its kin."""
    from rag.analysis.compare.trec_export import write_trec
    from rag.config.experiment import load
    from rag.execution.sweep import sweep
    from rag.reporting import terminal

    ready = sweep.prepare(load(experiment, overrides or ()))
    for path in write_trec(ready.plan, ready.store, folder):
        terminal.out.print(str(path), markup=False, soft_wrap=True)


@app.command()
def ui(port: int = 5000) -> None:
    """Look at the trials in MLflow, on 127.0.0.1."""
    from rag.tracking import sweep_runs

    # The server takes this process's place, so that Ctrl-C and a service manager reach it.
    os.execv(sys.executable, [sys.executable, *sweep_runs.server_command(port)])  # noqa: S606
