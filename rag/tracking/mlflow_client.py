"""Sweeps in MLflow: the only file that imports it, and only when something is tracked.

A sweep is a parent run and each trial a run below it, so MLflow's own comparison works on trials. MLflow holds a copy: the
results stand in the store, and tracking again sends only what is missing.
"""

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from rag.core.errors import ServiceError
from rag.core.redaction import redacted_text
from rag.tracking import run_records
from rag.tracking.run_records import QuestionTable, SweepRecord, TrialRecord

__all__ = [
    "QuestionTable",
    "SweepRecord",
    "TrialRecord",
    "attach",
    "client_of",
    "experiment_of",
    "explain_errors",
    "prepare",
    "reap",
    "sent_trials",
    "track",
]

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

LONGEST_DIGEST = 36
PAGE = 1000
BUSY, PATIENCE = 20.0, 120.0
"""Seconds to wait for another process that writes, and for one that sets up the same database."""


def prepare(uri: str | None, folder: Path) -> str:
    """Decide where to track, and see to it that many processes may start tracking there at once; the tracking URI.

    The environment variable MLFLOW_TRACKING_URI goes before `uri`, and `uri` before an SQLite file in `folder`. The tables of
    an SQLite file are made under a lock: processes that find it empty together break it. ServiceError if nobody answers.
    """
    own = run_records.sqlite_uri(folder.resolve() / "mlflow.db")
    uri = os.environ.get("MLFLOW_TRACKING_URI") or uri or own
    with explain_errors(uri, "EXPERIMENT"):
        if (database := run_records.sqlite_file(uri)) is None:
            client_of(uri).search_experiments(max_results=1)
            return uri
        database.parent.mkdir(parents=True, exist_ok=True)
        client = client_of(uri)
        if uri == own:
            run_records.commit_fast(client._tracking_client.store)
    return uri


def track(record: SweepRecord, uri: str) -> str:
    """Send a sweep, and return the id of its parent run.

    The same sweep (name, parameters, dataset) finds its parent run again, and a trial that stands below it with the same
    config and status is not sent twice: only metrics that it lacks, and what is known of its judge by now, whose card may be
    younger. A new trial costs four requests: create with tags, one batch of parameters and metrics, the dataset, terminate; its
    artifacts cost none when their location is a folder. ServiceError if MLflow cannot take them: nothing is lost, `rag track`
    sends the rest.
    """
    with explain_errors(uri, record.experiment), run_records.alone(uri):
        client = client_of(uri)
        experiment = experiment_of(client, uri, record.experiment)
        parent = _parent(client, experiment, record)
        with _killed_if_interrupted(client, parent):
            there = sent_trials(client, experiment, parent)
            for trial in record.trials:
                if run := there.get((trial.trial_id, run_records.config_digest(trial), trial.status)):
                    _measured_since(client, run, trial)
                    _of_dataset(client, run, record)
                else:
                    _send(client, experiment, parent, record, trial)
            _measured_anew(client, parent, record.metrics)
            failed = bool(record.trials) and all(trial.status == "FAILED" for trial in record.trials)
            client.set_terminated(parent, "FAILED" if failed else "FINISHED")
    return parent


def attach(record: SweepRecord, files: Mapping[str, str], uri: str | None, folder: Path) -> str:
    """Put texts, by the names of their files, beside the parent run of a sweep; its id, empty for a sweep that is not there.

    Two requests, and one per file where artifacts lie behind a service. ServiceError if MLflow cannot take them.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI") or uri or run_records.sqlite_uri(folder.resolve() / "mlflow.db")
    with explain_errors(uri, record.experiment):
        client = client_of(uri)
        known = client.get_experiment_by_name(record.experiment)
        parent = _known(client, known.experiment_id, record) if known else None
        if parent is not None:
            _write_artifacts(client, str(parent.info.artifact_uri), files)
    return str(parent.info.run_id) if parent is not None else ""


def reap(uri: str, experiment: str) -> int:
    """Mark runs as KILLED that a process of this machine began and did not live to end; how many there were.

    Such a run may be taken up by who sends its sweep again, so nobody sends to the same database file meanwhile.
    """
    with explain_errors(uri, experiment), run_records.alone(uri):
        client = client_of(uri)
        known = client.get_experiment_by_name(experiment)
        running = _runs(client, known.experiment_id, "attributes.status = 'RUNNING'") if known else ()
        stale = [run.info.run_id for run in running if run_records.is_orphan(run.data.tags)]
        # Since they were listed a process may have ended its run in order, and then itself.
        left = [run_id for run_id in stale if client.get_run(run_id).info.status == "RUNNING"]
        for run_id in left:
            client.set_terminated(run_id, "KILLED")
    return len(left)


def client_of(uri: str) -> "MlflowClient":
    """A client of a tracking URI; the tables of an SQLite file are made under a lock."""
    from mlflow import MlflowClient

    if (database := run_records.sqlite_file(uri)) is None:
        return MlflowClient(tracking_uri=uri)
    with FileLock(f"{database}.lock", timeout=PATIENCE, fallback_to_soft=False):
        # MLflow would try for 100 seconds to open what cannot be opened.
        with closing(sqlite3.connect(database, timeout=BUSY, isolation_level=None)) as connection:
            connection.executescript("BEGIN IMMEDIATE; ROLLBACK")
        return MlflowClient(tracking_uri=uri)


def experiment_of(client: "MlflowClient", uri: str, name: str) -> str:
    """The id of an experiment, made where there is none; ServiceError for a deleted one."""
    known = client.get_experiment_by_name(name) or _new_experiment(client, uri, name)
    if known.lifecycle_stage == "deleted":
        remedy = f"mlflow experiments restore --experiment-id {known.experiment_id}, or delete it for good"
        raise ServiceError(redacted_text("", uri), f"the experiment {name!r} has been deleted there", remedy)
    return str(known.experiment_id)


def _new_experiment(client: "MlflowClient", uri: str, name: str) -> "Experiment":
    from mlflow.exceptions import MlflowException

    database = run_records.sqlite_file(uri)
    # Without a location MLflow would put artifacts under whatever folder a process happens to run in.
    location = (database.parent / "mlartifacts").as_uri() if database else None
    try:
        return client.get_experiment(client.create_experiment(name, location, run_records.KIND))
    except MlflowException:
        if (known := client.get_experiment_by_name(name)) is None:
            raise
        return known  # another process was faster


def _parent(client: "MlflowClient", experiment: str, record: SweepRecord) -> str:
    run = _known(client, experiment, record)
    if run:
        _told_since(client, run, record.tags)
    else:
        run = client.create_run(experiment, tags=run_records.sweep_tags(record), run_name=record.name)
    run_id = str(run.info.run_id)
    with _killed_if_interrupted(client, run_id):
        if not (run.inputs and run.inputs.dataset_inputs):
            _log(client, run_id, record.params, {})
        _of_dataset(client, run, record)
    return run_id


def _known(client: "MlflowClient", experiment: str, record: SweepRecord) -> "Run | None":
    return next(_runs(client, experiment, f"tags.`assay.sweep` = '{run_records.sweep_digest(record)}'"), None)


def _of_dataset(client: "MlflowClient", run: "Run", record: SweepRecord) -> None:
    """Name the dataset on a run that has none."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    if run.inputs and run.inputs.dataset_inputs:
        return
    source, profile = (
        json.dumps({"uri": redacted_text("", record.dataset_source)}),
        json.dumps({"num_rows": record.n_questions}),
    )
    dataset = Dataset(record.dataset_name, record.dataset_digest[:LONGEST_DIGEST], "local", source, profile=profile)
    given = DatasetInput(dataset, [InputTag("mlflow.data.context", "evaluation")])
    client.log_inputs(run.info.run_id, datasets=[given])


def sent_trials(client: "MlflowClient", experiment: str, parent: str) -> dict[tuple[str, str, str], "Run"]:
    """The runs below a parent run by trial id, digest of the config and status."""
    runs = _runs(client, experiment, f"tags.`mlflow.parentRunId` = '{parent}'")
    return {(run.data.tags.get("assay.trial", ""), run.data.tags.get("assay.config", ""), run.info.status): run for run in runs}


def _measured_since(client: "MlflowClient", run: "Run", trial: TrialRecord) -> None:
    """Add metrics that a run lacks, and bring its tags up to date; what an earlier sweep alone measured of it stays."""
    lacking = {name: value for name, value in trial.metrics.items() if run_records.metric_name(name) not in run.data.metrics}
    if lacking:
        _log(client, run.info.run_id, {}, lacking)
    if _told_since(client, run, trial.tags) or lacking:
        _write_artifacts(client, str(run.info.artifact_uri), run_records.artifacts(trial))


def _measured_anew(client: "MlflowClient", run_id: str, metrics: Mapping[str, float]) -> None:
    """Log those metrics that a run lacks, or has other values of: every value that is logged becomes a point of a chart."""
    there = client.get_run(run_id).data.metrics
    changed = {name: value for name, value in metrics.items() if there.get(run_records.metric_name(name)) != value}
    if changed:
        _log(client, run_id, {}, changed)


def _told_since(client: "MlflowClient", run: "Run", tags: Mapping[str, str]) -> bool:
    """Replace the verdict of a run and, where `tags` name a judge, what is known of its judge; whether they have changed."""
    was, now = run_records.verdicts(run.data.tags), run_records.verdicts(run_records.fitting(tags, run_records.LONGEST_TAG))
    if not any(name.startswith("judge") for name in now):
        was = {name: value for name, value in was.items() if not name.startswith("judge")}
    for name in was.keys() - now.keys():
        client.delete_tag(run.info.run_id, name)
    for name, value in now.items():
        if was.get(name) != value:
            client.set_tag(run.info.run_id, name, value)
    return was != now


def _send(client: "MlflowClient", experiment: str, parent: str, record: SweepRecord, trial: TrialRecord) -> None:
    began = int((time.time() - trial.seconds) * 1000)
    run = client.create_run(
        experiment, start_time=began, tags=run_records.trial_tags(trial, record, parent), run_name=trial.name
    )
    with _killed_if_interrupted(client, run.info.run_id):
        _write_artifacts(client, str(run.info.artifact_uri), run_records.artifacts(trial))
        _log(client, run.info.run_id, trial.params, trial.metrics)
        _of_dataset(client, run, record)
        client.set_terminated(run.info.run_id, trial.status)


def _log(client: "MlflowClient", run_id: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> None:
    from mlflow.entities import Metric, Param

    now = int(time.time() * 1000)
    client.log_batch(
        run_id,
        metrics=[Metric(name, value, now, 0) for name, value in run_records.named_metrics(metrics)],
        params=[Param(name, value) for name, value in run_records.fitting(params, run_records.LONGEST_PARAM).items()],
    )


def _write_artifacts(client: "MlflowClient", location: str, files: Mapping[str, str]) -> None:
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    if (folder := run_records.local_folder(location)) is not None:
        run_records.write(folder, files)
        return
    with tempfile.TemporaryDirectory() as passing:
        run_records.write(Path(passing), files)
        # The client would ask once more where the artifacts of the run belong.
        repository: Any = get_artifact_repository(location, tracking_uri=client.tracking_uri)
        repository.log_artifacts(passing)


def _runs(client: "MlflowClient", experiment: str, condition: str) -> Iterator["Run"]:
    token: str | None = None
    while token != "":
        page = client.search_runs([experiment], condition, max_results=PAGE, page_token=token)
        yield from page
        token = page.token or ""


@contextmanager
def _killed_if_interrupted(client: "MlflowClient", run_id: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(Exception):
            client.set_terminated(run_id, "KILLED")
        raise


@contextmanager
def explain_errors(uri: str, experiment: str) -> Iterator[None]:
    """Say in one line what went wrong there."""
    for name, value in run_records.ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from alembic.util.exc import CommandError
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with run_records.quiet():
            yield
    except (MlflowException, SQLAlchemyError, CommandError, sqlite3.Error, OSError, NotImplementedError) as error:
        what = f"MLflow cannot be used: {run_records.error_line(error)}"
        raise ServiceError(
            redacted_text("", uri), what, f"the results are safe; when it is mended: rag track {experiment}"
        ) from error
