"""A sweep as MLflow runs: which parameters, metrics, tags and tables are sent of each trial."""

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from rag.analysis import finding_counts
from rag.config.identity import digest, without_runtime
from rag.core.errors import ServiceError, UserError
from rag.core.redaction import redacted_json, redacted_text
from rag.execution.graph.engine import Outcome
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges.judge_report import Assessor, assessors
from rag.execution.store.store import Store
from rag.execution.sweep import leaderboard
from rag.execution.sweep.ablations import Controlled
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.selection import Winner
from rag.execution.sweep.sweep import Sweep
from rag.tracking import evaluation_traces, mlflow_client, question_rows, run_columns
from rag.tracking.mlflow_client import SweepRecord, TrialRecord

FOLDER = Path(".rag")
LIBRARIES = ("assay", "bm25s", "faiss-cpu", "numpy", "torch", "transformers")


def send(
    done: Sweep, store: Store, again: str, controlled: Controlled | None = None, verdict: Winner | None = None
) -> tuple[str, str]:
    """Send every trial that ended to MLflow, those that are there already left out; the id of the parent run.

    `controlled` adds metrics of answers to the run of the recommended trial. `verdict` becomes tags of the parent run and of
    the trials, those that are there already included. The parent run gets all metrics of the recommended trial.

    The questions of the recommended trial become traces, for MLflow's evaluation view. What keeps MLflow from taking these is
    returned beside the id, empty where nothing does. ServiceError if it cannot take the trials; it names `again`, the command
    that sends them later.
    """
    try:
        uri = mlflow_client.prepare(None, FOLDER)
        mlflow_client.reap(uri, done.plan.experiment.name)
        told = record(done, store, controlled, verdict)
        parent = mlflow_client.track(told, uri)
    except ServiceError as error:
        first = "the results are safe" if "rag track" in error.remedy else error.remedy
        raise ServiceError(error.where, error.what, f"{first}; when it is mended: {again}") from error
    try:
        evaluation_traces.send(told, parent, _questions(done.plan, store, controlled or Controlled(), verdict), uri)
    except ServiceError as error:
        return parent, f"{error.where}: {error.what}; later: {again}"
    return parent, ""


def _questions(
    made: Plan, store: Store, controlled: Controlled, verdict: Winner | None
) -> dict[str, list[evaluation_traces.QuestionRecord]]:
    """The questions of the recommended trial, with all metrics of its answers."""
    if verdict is None:
        return {}
    whole = controlled.plan if controlled.plan and controlled.trial_id == verdict.recommended else None
    trials = whole.trials[:1] if whole else [trial for trial in made.trials if trial.trial_id == verdict.recommended]
    return {verdict.recommended: question_rows.questions(trials[0], whole or made, store)}


def server_command(port: int) -> list[str]:
    """The arguments to Python that start MLflow on 127.0.0.1 over what was tracked here."""
    uri = mlflow_client.prepare(None, FOLDER)
    if uri.startswith(("http:", "https:", "databricks")):
        raise UserError(
            "MLFLOW_TRACKING_URI", f"is {redacted_text('uri', uri)}, a server that runs already", "open it in a browser"
        )
    return ["-m", "mlflow", "server", "--backend-store-uri", uri, "--host", "127.0.0.1", "--port", str(port)]


def recall(made: Plan, store: Store) -> Sweep:
    """The sweep of a plan as it lies in the store: nothing runs."""
    outcomes: dict[str, Outcome] = {}
    return Sweep(made, outcomes, leaderboard.build_leaderboard(made, outcomes, store), interrupted=False)


def attach(made: Plan, files: Mapping[str, Path]) -> str:
    """Put files, by the names that they get there, beside the sweep's parent run; its id, empty where nothing is tracked.

    Where nothing was ever tracked MLflow is not even loaded. ServiceError if it cannot take them.
    """
    if not os.environ.get("MLFLOW_TRACKING_URI") and not (FOLDER / "mlflow.db").exists():
        return ""
    texts = {name: path.read_text("utf-8") for name, path in files.items() if path.is_file()}
    return mlflow_client.attach(_swept(made, ()), texts, None, FOLDER)


def record(done: Sweep, store: Store, controlled: Controlled | None = None, verdict: Winner | None = None) -> SweepRecord:
    """Everything that MLflow is told of a sweep."""
    controlled = controlled or Controlled()
    made = done.plan
    ended = {row.trial_id: row for row in done.board.rows if row.status in ("done", "failed")}
    tags = _tags(made)
    trials = [_trial(trial, ended[trial.trial_id], made, store, tags) for trial in made.trials if trial.trial_id in ended]
    if controlled.plan:
        full = _answered(controlled.plan, store, tags)
        trials = [_with_answers(trial, full) if trial.trial_id == controlled.trial_id else trial for trial in trials]
    trials = [replace(trial, tags={**_verdict(trial.trial_id, verdict), **trial.tags}) for trial in trials]
    chosen = run_columns.verdict_tags(verdict) if verdict else {}
    shown = verdict.recommended if verdict else controlled.trial_id
    metrics = next((trial.metrics for trial in trials if trial.trial_id == shown), {})
    concluded = run_columns.verdict_figures(verdict, done.board.objective) if verdict else {}
    return replace(_swept(made, trials), tags={**chosen, **tags}, metrics={**metrics, **concluded, **_spent(done)})


def _answered(made: Plan, store: Store, tags: Mapping[str, str]) -> TrialRecord:
    """The first trial of a plan, with all metrics of its answers."""
    board = {row.trial_id: row for row in leaderboard.build_leaderboard(made, {}, store).rows}
    return _trial(made.trials[0], board[made.trials[0].trial_id], made, store, tags)


def _with_answers(trial: TrialRecord, full: TrialRecord) -> TrialRecord:
    """A trial of a sweep with metrics that were measured of it alone, their judge, and their values by question."""
    metrics, tags = {**full.metrics, **trial.metrics}, {**full.tags, **trial.tags}
    files = {**trial.files, **full.files}
    return replace(trial, metrics=metrics, tags=tags, table=full.table or trial.table, files=files)


def _verdict(trial_id: str, verdict: Winner | None) -> dict[str, str]:
    """Where a trial stands: recommended, tied or behind, and P(best) where that is known."""
    found = next((one for one in verdict.standings if one.trial_id == trial_id), None) if verdict else None
    if verdict is None or found is None or not found.admitted:
        return {}
    place = "recommended" if trial_id == verdict.recommended else "tied" if found.tied else "behind"
    return {"verdict": place} | ({} if found.p_best is None else {"verdict.p_best": f"{found.p_best:.2f}"})


def _spent(done: Sweep) -> dict[str, float]:
    """What models took in this run, beside what its plan took it for; nothing for a sweep that asked none."""
    expected = done.plan.estimate.spending
    found = {
        "spent_tokens": float(done.spent.tokens),
        "spent_cost_usd": done.spent.cost,
        "planned_tokens": float(expected.likely.tokens),
        "planned_cost_usd": expected.likely.cost,
    }
    known = {name: value for name, value in found.items() if not math.isnan(value)}
    return known if done.spent.tokens or (expected.most.tokens and done.outcomes) else {}


def _tags(made: Plan) -> dict[str, str]:
    return _versions() | {"question": made.experiment.question, "golden.digest": made.trials[0].golden.golden_digest}


def _swept(made: Plan, trials: Sequence[TrialRecord]) -> SweepRecord:
    first, golden = made.trials[0], made.trials[0].golden
    return SweepRecord(
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


def _trial(trial: PlannedTrial, row: Row, made: Plan, store: Store, tags: Mapping[str, str]) -> TrialRecord:
    judge = next(iter(assessors(made, store, [trial])), None)
    tally = finding_counts.one_of(trial, made, store)
    objective = leaderboard.objective_of(made)
    metrics = {**run_columns.figures(row, objective), **(tally.metrics() if tally and tally.fired else {})}
    judged = {"judge.json": json.dumps(redacted_json(judge.to_json()), indent=1, ensure_ascii=False)} if judge else {}
    # What a run may spend is none of a trial's: with another budget it is still the same trial.
    config = {name: part for name, part in trial.trial.config.items() if name not in ("budget", "replay")}
    return TrialRecord(
        trial_id=trial.trial_id,
        name=trial.trial.name,
        params=run_columns.settings(trial, made),
        metrics=metrics,
        config=config,
        tags={**tags, "config.digest": digest(without_runtime(config)), **_judge_tags(judge)},
        table=question_rows.table(trial, made, store) if row.status == "done" else None,
        status="FINISHED" if row.status == "done" else "FAILED",
        seconds=row.measured.get("stage_seconds", 0.0),
        files={"metrics.json": run_columns.everything(row), **judged},
    )


def _judge_tags(judge: Assessor | None) -> dict[str, str]:
    """Which judge filled columns of a trial, how it agrees with people, and what is to be remarked."""
    if judge is None:
        return {}
    cards = {
        f"judge.auc.{card.data}": f"{card.auc.value:.3f} [{card.auc.low:.3f}, {card.auc.high:.3f}]" for card in judge.cards
    }
    return {"judge": judge.name, "judge.identity": judge.identity, **cards, "judge.remarks": "; ".join(judge.remarks)}


def _versions() -> dict[str, str]:
    found = {f"version.{name}": version(name) for name in LIBRARIES}
    return found | {"version.python": platform.python_version(), "git.commit": _commit()}


def _commit() -> str:
    try:
        told = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip()
