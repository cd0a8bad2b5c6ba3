"""A sweep as MLflow runs: the parameters, metrics, tags and files of each trial."""

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rag.analysis import finding_counts
from rag.config.identity import digest, library_version, without_runtime
from rag.config.search_space import stand_in_remarks
from rag.core.errors import DISTRIBUTION, ServiceError, UserError, install, is_installed
from rag.core.figures import with_interval
from rag.core.redaction import redacted_json, redacted_text
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges.judge_report import Assessor, assessors
from rag.execution.store.store import Store
from rag.execution.sweep import leaderboard
from rag.execution.sweep.ablations import Controlled
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.selection import Winner
from rag.execution.sweep.sweep import Sweep
from rag.tracking import evaluation_traces, mlflow_client, shared_views, trial_results
from rag.tracking.connection import tracking_uri
from rag.tracking.run_content import Receipt, SweepRun, TrialRun

FOLDER = Path(".rag")
LIBRARIES = (DISTRIBUTION, "bm25s", "faiss-cpu", "numpy", "onnxruntime", "torch", "transformers")


def send(
    done: Sweep, store: Store, again: str, controlled: Controlled | None = None, verdict: Winner | None = None
) -> tuple[str, str]:
    """Send every finished trial that is not in MLflow yet; the id of the parent run, and why traces could not be sent.

    `controlled` adds metrics of answers to the run of the recommended trial. `verdict` becomes tags of the parent run and of
    all trials, also of those sent before. The parent run gets all metrics of the recommended trial. The questions of the
    recommended trial become traces, for MLflow's evaluation view; the second value is empty if they were sent.
    ServiceError if MLflow cannot take the trials; it names `again`, the command that sends them later.
    """
    swept = record(done, store, controlled, verdict)
    receipt = Receipt(swept, tracking_uri(None, FOLDER), FOLDER)
    if sent := receipt.parent():
        return sent, ""
    try:
        uri = mlflow_client.prepare(None, FOLDER)
        mlflow_client.reap(uri, done.plan.experiment.name)
        parent = mlflow_client.track(swept, uri)
    except ServiceError as error:
        first = "the results are safe" if "rag study track" in error.remedy else error.remedy
        raise ServiceError(error.where, error.what, f"{first}; once it is fixed: {again}") from error
    try:
        evaluation_traces.send(swept, parent, _questions(done.plan, store, controlled or Controlled(), verdict), uri)
    except ServiceError as error:
        return parent, f"{error.where}: {error.what}; later: {again}"
    receipt.write(parent)
    return parent, ""


def _questions(
    made: Plan, store: Store, controlled: Controlled, verdict: Winner | None
) -> dict[str, list[evaluation_traces.TracedQuestion]]:
    """The questions of the recommended trial, with all metrics of its answers, and of its rival."""
    if verdict is None:
        return {}
    known = {trial.trial_id: (trial, made) for trial in made.trials}
    if controlled.plan and controlled.trial_id == verdict.recommended:
        known[verdict.recommended] = controlled.plan.trials[0], controlled.plan
    return {id_: trial_results.questions(*known[id_], store) for id_ in (verdict.recommended, verdict.rival) if id_ in known}


def server_command(port: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The arguments to Python that start MLflow on 127.0.0.1, none for a server's URI; names and addresses of views."""
    uri = mlflow_client.prepare(None, FOLDER)
    if uri.startswith("databricks"):
        raise UserError("MLFLOW_TRACKING_URI", f"is {redacted_text('uri', uri)}", "open it in a browser")
    runs = uri.startswith(("http:", "https:"))
    place = redacted_text("uri", uri.rstrip("/")) if runs else f"http://127.0.0.1:{port}"
    command = ["-m", "mlflow", "server", "--backend-store-uri", uri, "--host", "127.0.0.1", "--port", str(port)]
    return [] if runs else command, [(name, place + page) for name, page in shared_views.share(uri)]


def untracked() -> str:
    """Why no run is tracked, in a sentence; empty where MLflow is installed."""
    return "" if is_installed("mlflow") else f"Runs are not tracked: MLflow is not installed ({install('mlflow')})."


def recall(made: Plan, store: Store) -> Sweep:
    """The sweep of a plan from stored results; nothing runs."""
    return Sweep({}, plan=made, board=leaderboard.build_leaderboard(made, {}, store))


def attach(made: Plan, files: Mapping[str, Path]) -> str:
    """Add files, by their names there, to the artifacts of the sweep's parent run; its id, empty if nothing is tracked.

    MLflow is imported only if something was tracked. ServiceError if it cannot take the files.
    """
    if untracked() or not (os.environ.get("MLFLOW_TRACKING_URI") or (FOLDER / "mlflow.db").exists()):
        return ""
    texts = {name: path.read_text("utf-8") for name, path in files.items() if path.is_file()}
    return mlflow_client.attach(_swept(made, ()), texts, None, FOLDER)


def record(done: Sweep, store: Store, controlled: Controlled | None = None, verdict: Winner | None = None) -> SweepRun:
    """The record of a sweep for MLflow; arguments as in `send`."""
    controlled = controlled or Controlled()
    made = done.plan
    ended = {row.trial_id: row for row in done.board.rows if row.status in ("done", "failed")}
    tags = _tags(made)
    trials = [_trial(trial, ended[trial.trial_id], made, store, tags) for trial in made.trials if trial.trial_id in ended]
    if controlled.plan:
        board = {row.trial_id: row for row in leaderboard.build_leaderboard(controlled.plan, {}, store).rows}
        answered = controlled.plan.trials[0]
        full = _trial(answered, board[answered.trial_id], controlled.plan, store, tags)
        trials = [_with_answers(trial, full) if trial.trial_id == controlled.trial_id else trial for trial in trials]
    trials = [replace(trial, tags={**_verdict(trial.trial_id, verdict), **trial.tags}) for trial in trials]
    chosen = trial_results.verdict_tags(verdict) if verdict else {}
    shown = verdict.recommended if verdict else controlled.trial_id
    metrics = next((trial.metrics for trial in trials if trial.trial_id == shown), {})
    concluded = trial_results.verdict_figures(verdict, done.board.objective) if verdict else {}
    return replace(
        _swept(made, trials),
        tags={**chosen, **tags, **_stood_in(made.trials)},
        metrics={**metrics, **concluded, **_spent(done)},
    )


def _with_answers(trial: TrialRun, full: TrialRun) -> TrialRun:
    """A trial with the answer metrics, tags and files that were measured for it alone."""
    metrics, tags = {**full.metrics, **trial.metrics}, {**full.tags, **trial.tags}
    return replace(trial, metrics=metrics, tags=tags, files={**trial.files, **full.files})


def _verdict(trial_id: str, verdict: Winner | None) -> dict[str, str]:
    """The tags of a trial in the verdict: recommended or only the first, tied or behind, and P(best) if it is known."""
    standings = verdict.standings if verdict else ()
    standing = next((standing for standing in standings if standing.trial_id == trial_id), None)
    if verdict is None or standing is None or not standing.admitted:
        return {}
    first = "recommended" if verdict.enough else "first"
    place = first if trial_id == verdict.recommended else "tied" if standing.tied else "behind"
    return {"verdict": place} | ({} if standing.p_best is None else {"verdict.p_best": f"{standing.p_best:.2f}"})


def _spent(done: Sweep) -> dict[str, float]:
    """Tokens and cost (US dollars) of this run, and as planned; empty for a sweep that asked no model."""
    expected = done.plan.estimate.spending
    figures = {
        "spent_tokens": float(done.spent.tokens),
        "spent_cost_usd": done.spent.cost,
        "planned_tokens": float(expected.likely.tokens),
        "planned_cost_usd": expected.likely.cost,
    }
    known = {name: value for name, value in figures.items() if not math.isnan(value)}
    return known if done.spent.tokens or (expected.most.tokens and done.outcomes) else {}


def _tags(made: Plan) -> dict[str, str]:
    versions = {f"version.{name}": found for name in LIBRARIES if (found := library_version(name))}
    versions |= {"version.python": platform.python_version(), "git.commit": _commit()}
    return versions | {"question": made.experiment.question, "golden.digest": made.trials[0].golden.golden_digest}


def _swept(made: Plan, trials: Sequence[TrialRun]) -> SweepRun:
    first, golden = made.trials[0], made.trials[0].golden
    return SweepRun(
        experiment=made.experiment.name,
        name=made.experiment.name,
        dataset_name=Path(str(first.trial.config["dataset"].get("path", made.experiment.name))).name,
        dataset_digest=digest(golden.corpus_digest, golden.golden_digest)[:36],
        dataset_source=str(first.trial.config["dataset"].get("path", "")),
        n_questions=len(golden.examples),
        trials=trials,
        tags=_tags(made),
        params={"objective": made.experiment.objective, "trials": str(len(made.trials)), "stages": str(len(made.stages))},
    )


def _trial(trial: PlannedTrial, row: Row, made: Plan, store: Store, tags: Mapping[str, str]) -> TrialRun:
    judge = next(iter(assessors(made, store, [trial])), None)
    tally = finding_counts.one_of(trial, made, store)
    objective = leaderboard.objective_of(made)
    metrics = {**trial_results.figures(row, objective), **(tally.metrics() if tally and tally.fired else {})}
    judged = {"judge.json": json.dumps(redacted_json(judge.to_json()), indent=1, ensure_ascii=False)} if judge else {}
    # A trial with another budget is the same trial.
    config = {name: part for name, part in trial.trial.config.items() if name not in ("budget", "replay")}
    apart = {"verdict": "apart"} if row.apart else {}
    questions = trial_results.table(trial, made, store) if row.status == "done" else {}
    return TrialRun(
        trial_id=trial.trial_id,
        name=trial.trial.name,
        params=trial_results.settings(trial, made),
        metrics=metrics,
        config=config,
        tags={**tags, "config.digest": digest(without_runtime(config)), **apart, **_stood_in([trial]), **_judge_tags(judge)},
        status="FINISHED" if row.status == "done" else "FAILED",
        seconds=row.measured.get("stage_seconds", 0.0),
        files={"metrics.json": trial_results.everything(row), **judged, **questions},
    )


def _stood_in(trials: Sequence[PlannedTrial]) -> dict[str, str]:
    """The tag of trials in which something stands in for a part of their preset; empty for others."""
    said = " ".join(stand_in_remarks(planned.trial for planned in trials))
    return {"assay.stand_ins": said} if said else {}


def _judge_tags(judge: Assessor | None) -> dict[str, str]:
    """The judge that scored a trial, its agreement with people, and remarks about it."""
    if judge is None:
        return {}
    cards = {f"judge.auc.{card.title}": with_interval(card.auc) for card in judge.cards}
    return {"judge": judge.name, "judge.identity": judge.identity, **cards, "judge.remarks": "; ".join(judge.remarks)}


def _commit() -> str:
    try:
        result = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip()
