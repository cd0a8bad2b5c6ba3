"""Send sweeps to MLflow, which is imported only when something is tracked.

A sweep is a parent run and each trial a run below it, so that MLflow's own comparison works on trials. MLflow holds a copy: the
results are in the store, and tracking again sends only what is missing.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.core.errors import ServiceError
from rag.core.progress import blocks
from rag.core.redaction import redacted_text
from rag.tracking import run_content
from rag.tracking.connection import client_of, commit_fast, connected, explain_errors, later, sqlite_file, tracking_uri
from rag.tracking.run_content import SweepRun, TrialRun

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

LONGEST_DIGEST = 36
PAGE = 1000


def prepare(uri: str | None, folder: Path) -> str:
    """Return the tracking URI, ready for many processes that start to track there at once; ServiceError without an answer.

    The tables of an SQLite file are made under a lock, because processes that find it empty together break it.
    """
    uri = tracking_uri(uri, folder)
    with explain_errors(uri, later("EXPERIMENT")):
        if (database := sqlite_file(uri)) is None:
            client_of(uri).search_experiments(max_results=1)
            return uri
        database.parent.mkdir(parents=True, exist_ok=True)
        client = client_of(uri)
        if database == folder.resolve() / "mlflow.db":
            commit_fast(client._tracking_client.store)
    return uri


def track(record: SweepRun, uri: str) -> str:
    """Send a sweep, and return the id of its parent run; ServiceError if MLflow cannot take it.

    The parent run of the same sweep (name, parameters, dataset) is used again. A trial with the same config and status there
    is not sent twice: only metrics that it lacks, and the newest card of its judge. A new trial costs four requests: create
    with tags, one batch of parameters and metrics, the dataset, terminate. Artifacts in a local folder cost none.
    """
    with connected(uri, record.experiment) as client:
        experiment = experiment_of(client, uri, record.experiment)
        parent = _parent(client, experiment, record)
        with _killed_if_interrupted(client, parent):
            there = sent_trials(client, experiment, parent)
            for (trial,) in blocks(record.trials, "trials sent to MLflow"):
                if run := there.get((trial.trial_id, run_content.config_digest(trial), trial.status)):
                    _update(client, run, trial)
                    _log_dataset(client, run, record)
                else:
                    _send(client, experiment, parent, record, trial)
            _log_changed(client, parent, record.metrics)
            failed = bool(record.trials) and all(trial.status == "FAILED" for trial in record.trials)
            client.set_terminated(parent, "FAILED" if failed else "FINISHED")
    return parent


def attach(record: SweepRun, files: Mapping[str, str], uri: str | None, folder: Path) -> str:
    """Add texts, by file name, to the artifacts of a sweep's parent run; its id, empty for a sweep that was not sent.

    Two requests, and one per file if artifacts are behind a service. ServiceError if MLflow cannot take them.
    """
    uri = tracking_uri(uri, folder)
    with explain_errors(uri, later(record.experiment)):
        client = client_of(uri)
        experiment = client.get_experiment_by_name(record.experiment)
        parent = _find_parent(client, experiment.experiment_id, record) if experiment else None
        if parent is not None:
            _write_artifacts(client, str(parent.info.artifact_uri), files)
    return str(parent.info.run_id) if parent is not None else ""


def reap(uri: str, experiment: str) -> int:
    """Mark runs of dead local processes as KILLED, and return their number.

    A lock on the database file keeps other processes from resuming them meanwhile.
    """
    with connected(uri, experiment) as client:
        known = client.get_experiment_by_name(experiment)
        running = _runs(client, known.experiment_id, "attributes.status = 'RUNNING'") if known else ()
        stale = [run.info.run_id for run in running if run_content.is_orphan(run.data.tags)]
        # A process may have ended its run, and then itself, since the runs were listed.
        left = [run_id for run_id in stale if client.get_run(run_id).info.status == "RUNNING"]
        for run_id in left:
            client.set_terminated(run_id, "KILLED")
    return len(left)


def experiment_of(client: "MlflowClient", uri: str, name: str) -> str:
    """The id of an experiment, which is made if there is none; ServiceError for a deleted one."""
    known = client.get_experiment_by_name(name) or _new_experiment(client, uri, name)
    if known.lifecycle_stage == "deleted":
        remedy = f"mlflow experiments restore --experiment-id {known.experiment_id}, or delete it permanently"
        raise ServiceError(redacted_text("", uri), f"the experiment {name!r} has been deleted there", remedy)
    return str(known.experiment_id)


def _new_experiment(client: "MlflowClient", uri: str, name: str) -> "Experiment":
    from mlflow.exceptions import MlflowException

    database = sqlite_file(uri)
    # Without a location MLflow would put artifacts below the working folder.
    location = (database.parent / "mlartifacts").as_uri() if database else None
    try:
        return client.get_experiment(client.create_experiment(name, location, run_content.KIND))
    except MlflowException:
        if (known := client.get_experiment_by_name(name)) is None:
            raise
        return known  # another process was faster


def _parent(client: "MlflowClient", experiment: str, record: SweepRun) -> str:
    run = _find_parent(client, experiment, record)
    if run:
        _update_conclusions(client, run, record.tags)
    else:
        run = client.create_run(experiment, tags=run_content.sweep_tags(record), run_name=record.name)
    run_id = str(run.info.run_id)
    with _killed_if_interrupted(client, run_id):
        if not (run.inputs and run.inputs.dataset_inputs):
            _log(client, run_id, record.params, {})
        _log_dataset(client, run, record)
    return run_id


def _find_parent(client: "MlflowClient", experiment: str, record: SweepRun) -> "Run | None":
    return next(_runs(client, experiment, f"tags.`assay.sweep` = '{run_content.sweep_digest(record)}'"), None)


def _log_dataset(client: "MlflowClient", run: "Run", record: SweepRun) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    if run.inputs and run.inputs.dataset_inputs:
        return
    source = json.dumps({"uri": redacted_text("", record.dataset_source)})
    profile = json.dumps({"num_rows": record.n_questions})
    dataset = Dataset(record.dataset_name, record.dataset_digest[:LONGEST_DIGEST], "local", source, profile=profile)
    inputs = DatasetInput(dataset, [InputTag("mlflow.data.context", "evaluation")])
    client.log_inputs(run.info.run_id, datasets=[inputs])


def sent_trials(client: "MlflowClient", experiment: str, parent: str) -> dict[tuple[str, str, str], "Run"]:
    """The runs below a parent run by trial id, digest of the config and status."""
    runs = _runs(client, experiment, f"tags.`mlflow.parentRunId` = '{parent}'")
    return {(run.data.tags.get("assay.trial", ""), run.data.tags.get("assay.config", ""), run.info.status): run for run in runs}


def _update(client: "MlflowClient", run: "Run", trial: TrialRun) -> None:
    """Add metrics that a run lacks, and update its conclusions; metrics that it has stay."""
    lacking = {name: value for name, value in trial.metrics.items() if run_content.metric_name(name) not in run.data.metrics}
    if lacking:
        _log(client, run.info.run_id, {}, lacking)
    if _update_conclusions(client, run, trial.tags) or lacking:
        _write_artifacts(client, str(run.info.artifact_uri), run_content.artifacts(trial))


def _log_changed(client: "MlflowClient", run_id: str, metrics: Mapping[str, float]) -> None:
    """Log new and changed metrics only: every logged value becomes a point of a chart."""
    there = client.get_run(run_id).data.metrics
    changed = {name: value for name, value in metrics.items() if there.get(run_content.metric_name(name)) != value}
    if changed:
        _log(client, run_id, {}, changed)


def _update_conclusions(client: "MlflowClient", run: "Run", tags: Mapping[str, str]) -> bool:
    """Replace the verdict of a run and, if `tags` name a judge, the tags of its judge; whether anything changed."""
    new = run_content.conclusions(run_content.fitting(tags, run_content.LONGEST_TAG))
    old = run_content.conclusions(run.data.tags)
    if not any(name.startswith("judge") for name in new):
        old = {name: value for name, value in old.items() if not name.startswith("judge")}
    for name in old.keys() - new.keys():
        client.delete_tag(run.info.run_id, name)
    for name, value in new.items():
        if old.get(name) != value:
            client.set_tag(run.info.run_id, name, value)
    return old != new


def _send(client: "MlflowClient", experiment: str, parent: str, record: SweepRun, trial: TrialRun) -> None:
    began = int((time.time() - trial.seconds) * 1000)
    tags = run_content.trial_tags(trial, record, parent)
    run = client.create_run(experiment, start_time=began, tags=tags, run_name=trial.name)
    with _killed_if_interrupted(client, run.info.run_id):
        _write_artifacts(client, str(run.info.artifact_uri), run_content.artifacts(trial))
        _log(client, run.info.run_id, trial.params, trial.metrics)
        _log_dataset(client, run, record)
        client.set_terminated(run.info.run_id, trial.status)


def _log(client: "MlflowClient", run_id: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> None:
    from mlflow.entities import Metric, Param

    now = int(time.time() * 1000)
    named = run_content.distinct((run_content.metric_name(column), value) for column, value in metrics.items())
    client.log_batch(
        run_id,
        metrics=[Metric(name, value, now, 0) for name, value in named],
        params=[Param(name, value) for name, value in run_content.fitting(params, run_content.LONGEST_PARAM).items()],
    )


def _write_artifacts(client: "MlflowClient", location: str, files: Mapping[str, str]) -> None:
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    if (folder := run_content.local_folder(location)) is not None:
        run_content.write(folder, files)
        return
    with tempfile.TemporaryDirectory() as passing:
        run_content.write(Path(passing), files)
        # The client's own method would request the artifact location of the run again.
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
