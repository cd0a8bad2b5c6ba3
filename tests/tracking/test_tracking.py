"""Tracking against real SQLite databases and a real MLflow server."""

import errno
import json
import math
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ports import free_port

from rag.core.errors import ServiceError
from rag.tracking import evaluation_traces, mlflow_client, run_content, shared_views
from rag.tracking.run_content import TABLE, SweepRun, TrialRun

GONE = 2**22 + 7
"""A process id beyond those of Linux."""
QUESTIONS = {"columns": ["question", "recall@5"], "data": [["Why ünder?", 0.5], ["When?", None]]}


def trial(number: int, **changes: Any) -> TrialRun:
    made = TrialRun(
        trial_id=f"t{number}",
        name=f"chunker={number}",
        params={"chunker.size": str(number), "generator.api_key": "hunter2"},
        metrics={"recall@5": 0.5, "recall@5/kind=table": math.nan},
        config={"chunker": {"size": number}, "generator": {"api_key": "hunter2", "api_key_env": "KEY"}},
        tags={"axis.chunker": "fixed"},
        files={TABLE: json.dumps(QUESTIONS)},
        seconds=3.0,
    )
    return replace(made, **changes)


def sweep(*trials: TrialRun, **changes: Any) -> SweepRun:
    made = SweepRun("study", "chunk sizes", "handbook", "d" * 64, "datasets/handbook", 2, trials, params={"depth": "100"})
    return replace(made, **changes)


@pytest.fixture
def folder(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    copy(tables, tmp_path)
    return tmp_path


def copy(tables: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(tables, folder / "mlflow.db")


@pytest.fixture
def uri(folder: Path) -> str:
    """The database of the folder, ready to track."""
    return mlflow_client.prepare(None, folder)


def client_of(uri: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri)


def runs(uri: str) -> list[Any]:
    client = client_of(uri)
    known = client.get_experiment_by_name("study")
    return list(client.search_runs([known.experiment_id], order_by=["attributes.run_name"])) if known else []


def children(uri: str, parent: str) -> list[Any]:
    return [run for run in runs(uri) if run.data.tags.get("mlflow.parentRunId") == parent]


def artifact(run: Any, name: str) -> str:
    return (Path(run.info.artifact_uri.removeprefix("file://")) / name).read_text("utf-8")


def test_the_environment_goes_before_the_argument_and_the_folder(
    uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(folder / "mlflow.db", folder / "other")
    other = f"sqlite:///{folder}/other/mlflow.db"
    assert uri == f"sqlite:///{folder}/mlflow.db"
    assert mlflow_client.prepare(other, folder) == other
    monkeypatch.setenv("MLFLOW_TRACKING_URI", other)
    assert mlflow_client.prepare(None, folder) == other
    mlflow_client.track(sweep(), uri)
    modes = []
    for path in (folder / "mlflow.db", folder / "other" / "mlflow.db"):
        with closing(sqlite3.connect(path)) as database:
            modes.append(database.execute("PRAGMA journal_mode").fetchone()[0])
    assert modes == ["wal", "delete"], "only our own database gets a write-ahead log"


def test_a_sweep_is_a_parent_with_a_run_per_trial(folder: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    record = sweep(trial(1), trial(2, status="FAILED", metrics={}, files={}), tags={"question": "Which size?"})
    parent = mlflow_client.track(record, uri)
    first, second = children(uri, parent)
    assert (first.info.run_name, first.info.status) == ("chunker=1", "FINISHED")
    assert (second.info.run_name, second.info.status, second.data.metrics) == ("chunker=2", "FAILED", {})
    assert first.data.params == {"chunker.size": "1", "generator.api_key": "[redacted: secret-by-name]"}
    assert first.data.metrics["recall_5"] == 0.5
    assert math.isnan(first.data.metrics["recall_5_kind_table"])
    assert first.data.tags["axis.chunker"] == "fixed"
    assert first.data.tags["dataset.digest"] == "d" * 64
    assert 2900 <= first.info.end_time - first.info.start_time <= 8000
    (run,) = (run for run in runs(uri) if run.info.run_id == parent)
    assert (run.info.run_name, run.info.status, run.data.params) == ("chunk sizes", "FINISHED", {"depth": "100"})
    assert run.data.tags["question"] == "Which size?"
    (inputs,) = run.inputs.dataset_inputs
    assert (inputs.dataset.name, inputs.dataset.digest) == ("handbook", "d" * 36)
    assert json.loads(inputs.dataset.profile) == {"num_rows": 2}
    assert [(tag.key, tag.value) for tag in inputs.tags] == [("mlflow.data.context", "evaluation")]
    assert first.info.artifact_uri.startswith(f"file://{folder}/mlartifacts/")
    config = yaml.safe_load(artifact(first, "config.yaml"))
    assert config == {"chunker": {"size": 1}, "generator": {"api_key": "[redacted: secret-by-name]", "api_key_env": "KEY"}}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    table = client_of(uri).load_table(first.info.experiment_id, TABLE, [first.info.run_id])
    assert list(table["question"]) == ["Why ünder?", "When?"]
    assert not list(Path().iterdir()), "nothing is left in the working folder"


def test_finished_trials_are_not_sent_twice(uri: str) -> None:
    parent = mlflow_client.track(sweep(trial(1), trial(2, status="FAILED")), uri)
    assert mlflow_client.track(sweep(trial(1), trial(2, status="FAILED"), trial(3)), uri) == parent
    assert [run.info.run_name for run in children(uri, parent)] == ["chunker=1", "chunker=2", "chunker=3"]
    mlflow_client.track(sweep(trial(1, config={"other": 1}), trial(2)), uri)
    assert [run.info.run_name for run in children(uri, parent)] == ["chunker=1"] * 2 + ["chunker=2"] * 2 + ["chunker=3"]
    other = mlflow_client.track(sweep(trial(1, status="FAILED"), dataset_digest="e" * 64), uri)
    assert other != parent, "another dataset is another sweep"
    assert {run.info.run_id: run.info.status for run in runs(uri)}[other] == "FAILED", "no trial ended well"


def test_the_card_of_a_judge_is_updated_later(uri: str) -> None:
    unknown = trial(1, tags={"judge": "Local", "judge.remarks": "no card", "judge.auc.old": ".5"}, files={"judge.json": "{}"})
    parent = mlflow_client.track(sweep(unknown, trial(2)), uri)
    tags = {"judge": "Local", "judge.auc.wice": ".849", "judge.remarks": ""}
    known = replace(unknown, tags=tags, files={"judge.json": "[1]"})
    assert mlflow_client.track(sweep(known, trial(2)), uri) == parent
    first, second = children(uri, parent)
    assert run_content.conclusions(first.data.tags) == known.tags
    assert artifact(first, "judge.json") == "[1]"
    assert first.info.status == "FINISHED"
    assert "judge" not in second.data.tags


def test_metrics_that_are_measured_later_join_the_run_and_stay(uri: str) -> None:
    parent = mlflow_client.track(sweep(trial(1), trial(2)), uri)
    metrics, files = {"recall@5": 0.9, "faithfulness": 0.75}, {TABLE: '["faithfulness"]', "judge.json": "{}"}
    judged = trial(1, tags={"judge": "Local"}, metrics=metrics, files=files)
    mlflow_client.track(sweep(judged, trial(2)), uri)
    mlflow_client.track(sweep(trial(1), replace(judged, trial_id="t2", config=trial(2).config)), uri)
    for run in children(uri, parent):
        assert run.data.metrics["faithfulness"] == 0.75
        assert run.data.metrics["recall_5"] == 0.5, "a measured metric stays"
        assert run.data.tags["judge"] == "Local"
        assert "faithfulness" in artifact(run, TABLE)


def test_long_values_many_metrics_and_equal_names_are_sent(uri: str) -> None:
    params = {f"p{n}": "x" * 9000 for n in range(230)} | {"é%": "1", "é&": "2"}
    metrics = {f"m@{n}": n / 7 for n in range(1300)} | {"a@1": 1.0, "a_1": 2.0}
    (run,) = children(uri, mlflow_client.track(sweep(trial(1, params=params, metrics=metrics)), uri))
    assert (len(run.data.params), len(run.data.metrics)) == (232, 1302)
    assert set(run.data.params.values()) == {"x" * 499 + "…", "1", "2"}
    assert (run.data.metrics["a_1"], run.data.metrics["a_1_2"]) == (1.0, 2.0)
    assert (run.data.params["é_"], run.data.params["é__2"]) == ("1", "2")


@settings(max_examples=50)
@given(st.text(max_size=300))
def test_every_name_fits(text: str) -> None:
    from mlflow.utils import validation

    name = run_content.metric_name(text)
    assert validation.validate_param_and_metric_name(name)
    assert not validation.path_not_unique(name)
    assert 1 <= len(name) <= validation.MAX_ENTITY_KEY_LENGTH
    assert run_content.metric_name("recall@2000chars") == "recall_2000chars"
    assert run_content.metric_name("found/floor") == "found_floor"


def dead_run(client: Any, pid: int = GONE, host: str = "", name: str = "dead") -> Any:
    """A running run of a process."""
    known = client.get_experiment_by_name("study")
    experiment = known.experiment_id if known else client.create_experiment("study")
    tags = {"assay.pid": str(pid), "assay.host": host or socket.gethostname()} if pid else {}
    return client.create_run(experiment, tags=tags, run_name=name)


def test_runs_of_dead_processes_are_reaped(uri: str) -> None:
    client = client_of(uri)
    assert mlflow_client.reap(uri, "study") == 0
    for name, pid, host in (("dead", GONE, ""), ("mine", os.getpid(), ""), ("far", GONE, "elsewhere"), ("foreign", 0, "")):
        dead_run(client, pid, host, name)
    assert mlflow_client.reap(uri, "study") == 1
    states = {"dead": "KILLED"} | dict.fromkeys(("mine", "far", "foreign"), "RUNNING")
    assert {run.info.run_name: run.info.status for run in runs(uri)} == states


def test_a_run_that_ended_while_runs_were_listed_is_not_reaped(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(uri)
    run, is_orphan = dead_run(client), run_content.is_orphan

    def ended_before(tags: Mapping[str, str]) -> bool:
        client.set_terminated(run.info.run_id, "FINISHED")
        return is_orphan(tags)

    monkeypatch.setattr(run_content, "is_orphan", ended_before)
    assert mlflow_client.reap(uri, "study") == 0
    assert client.get_run(run.info.run_id).info.status == "FINISHED"


def test_a_full_disk_is_reported_and_the_sweep_can_be_sent_later(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_content, "write", full)
        with pytest.raises(ServiceError, match="No space left") as caught:
            mlflow_client.track(sweep(trial(1)), uri)
    assert caught.value.remedy.endswith("rag study track study")
    assert [run.info.status for run in runs(uri)] == ["KILLED", "KILLED"]
    parent = mlflow_client.track(sweep(trial(1)), uri)
    assert sorted(run.info.status for run in children(uri, parent)) == ["FINISHED", "KILLED"]
    assert {run.info.run_id: run.info.status for run in runs(uri)}[parent] == "FINISHED"


def test_a_database_that_mlflow_cannot_read_is_reported(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        database.executescript("UPDATE alembic_version SET version_num = 'unheard of'; DROP TABLE inputs")
    with pytest.raises(ServiceError, match="unheard of"):
        mlflow_client.prepare(None, folder)
    (folder / "mlflow.db").write_text("no database, " * 1000, encoding="utf-8")
    with pytest.raises(ServiceError, match="not a database"):
        mlflow_client.prepare(None, folder)


@pytest.mark.parametrize(("runs", "remedy"), [(0, "delete the file: it is made anew"), (1, "rag study track EXPERIMENT")])
def test_a_database_that_a_kill_left_half_made_says_what_to_do(tmp_path: Path, runs: int, remedy: str) -> None:
    with closing(sqlite3.connect(tmp_path / "half.db")) as database:
        database.executescript("CREATE TABLE runs (name); CREATE TABLE registered_models (name)")
        database.executemany("INSERT INTO runs VALUES (?)", [("a",)] * runs)
        database.commit()
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{tmp_path}/half.db"
    with pytest.raises(ServiceError, match=r"already exists|no such column") as caught:
        mlflow_client.prepare(None, tmp_path)
    assert caught.value.remedy.endswith(remedy)


MIGRATED = """
import os, signal, sys
from pathlib import Path
import mlflow.store.tracking.sqlalchemy_store
from sqlalchemy import event
from sqlalchemy.engine import Engine
from rag.tracking import mlflow_client

left = int(sys.argv[2])

@event.listens_for(Engine, "before_cursor_execute")
def count(connection, cursor, statement, *_):
    global left
    left -= statement.startswith("UPDATE alembic_version")
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

mlflow_client.prepare(None, Path(sys.argv[1]))
"""


def test_a_kill_during_the_first_migration_breaks_nothing_in_a_folder_of_odd_characters(folder: Path) -> None:
    odd = folder / "a b %20 ü"
    odd.mkdir()
    killed = subprocess.run([sys.executable, "-c", MIGRATED, str(odd), "5"], check=False)
    assert killed.returncode == -signal.SIGKILL
    uri = mlflow_client.prepare(None, odd)
    assert len(children(uri, mlflow_client.track(sweep(trial(1)), uri))) == 1
    assert list((odd / "mlartifacts").rglob("config.yaml"))
    assert [path.name for path in odd.glob("mlflow.db.new*")] == []


def test_a_database_that_cannot_be_opened_is_reported_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlflow.db").mkdir()
    monkeypatch.setattr("mlflow.MlflowClient", lambda **_: pytest.fail("MLflow tries for 100 seconds to open it"))
    with pytest.raises(ServiceError, match="rag study track"):
        mlflow_client.prepare(None, tmp_path)


def test_a_server_that_is_down_is_reported_without_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:hunter2@127.0.0.1:{free_port()}")
    with pytest.raises(ServiceError, match="there is no answer") as caught:
        mlflow_client.prepare(None, tmp_path)
    assert "rag study track" in caught.value.remedy
    assert "hunter2" not in str(caught.value)


def test_the_error_for_a_deleted_experiment_says_how_to_restore_it(uri: str) -> None:
    client = client_of(uri)
    client.delete_experiment(client.create_experiment("study"))
    with pytest.raises(ServiceError, match="restore"):
        mlflow_client.track(sweep(), uri)


def test_a_server_takes_a_trial_in_four_requests_and_files_in_two(
    server: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    (uri, artifacts), paths, send = server, list[str](), requests.Session.send

    def counted(self: Any, request: Any, **options: Any) -> Any:
        paths.append(request.path_url)
        return send(self, request, **options)

    def requests_for(*trials: TrialRun) -> int:
        paths.clear()
        mlflow_client.track(sweep(*trials), uri)
        return len([path for path in paths if "mlflow-artifacts" not in path])

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setattr(requests.Session, "send", counted)
    assert mlflow_client.prepare(None, tmp_path) == uri
    requests_for(trial(1))
    nothing_new = requests_for(trial(1))
    assert requests_for(*(trial(number) for number in range(1, 6))) - nothing_new == 4 * 4
    assert len(runs(uri)) == 1 + 5
    assert any(math.isnan(run.data.metrics.get("recall_5_kind_table", 0)) for run in runs(uri))
    assert len(list(artifacts.rglob("questions.json"))) == 5
    assert mlflow_client.reap(uri, "study") == 0
    files = {"report.html": "<p>ü", "report.md": "# ü", "verdict.json": "{}"}
    assert mlflow_client.attach(sweep(experiment="never sent"), files, None, tmp_path) == ""
    paths.clear()
    mlflow_client.attach(sweep(), files, None, tmp_path)
    assert len(paths) == 2 + len(files)
    for name, text in files.items():
        assert [path.read_text("utf-8") for path in artifacts.rglob(name)] == [text]


def test_a_view_of_the_last_sweep_is_sorted_by_its_objective(uri: str) -> None:
    metrics = {"ndcg@10": 0.5, "recall@10": 0.5, "latency_p95_ms": 9.0, "objective": 0.5, "ndcg@10_low": 0.4}
    orders = {
        "maximize recall@10, latency_p95_ms <= 200": ("recall_10", False),
        "minimize latency_p95_ms": ("latency_p95_ms", True),
        "0.5 * recall@10 + 0.5 * ndcg@10": ("objective", False),
        "maximize mrr@10": ("latency_p95_ms", False),  # no trial has a value
    }
    usual = ["ndcg_10", "recall_10", "latency_p95_ms"]
    for text, (first, rising) in orders.items():
        parent = mlflow_client.track(
            sweep(*(trial(number, metrics=metrics) for number in (1, 2)), params={"objective": text}), uri
        )
        ((name, address),) = shared_views.share(uri)
        experiment = client_of(uri).get_experiment_by_name("study")
        state = json.loads(experiment.tags[f"mlflow.sharedViewState.{parent}"])
        assert (name, parent in address, parent in state["searchFilter"]) == ("chunk sizes", True, True)
        assert (state["orderByKey"], state["orderByAsc"]) == (f"metrics.`{first}`", rising)
        shown = [f"metrics.`{name}`" for name in dict.fromkeys([first, *usual])]
        assert state["selectedColumns"] == ["params.`chunker.size`", *shown, "tags.`verdict`"]


def test_traces_hold_no_secrets(uri: str) -> None:
    record, key = sweep(trial(1)), "sk-Zq3vT8mK1xLp0RwY7uBd"
    parent = mlflow_client.track(record, uri)
    questions = [
        evaluation_traces.TracedQuestion(
            f"q{number}",
            {"question": f"Why {number}? {key}"},
            {"answer": f"Because {key}", "passages": ["a.md:0-9"]},
            {"ndcg@10": number / 3, "found/floor": 1.0},
            [{"id": "a.md:0-9", "page_content": key, "metadata": {"doc_uri": "a.md"}}],
            {"evidence": [f"a.md: {key}"]},
            {"split": "tune"},
            failed=number == 2,
        )
        for number in range(3)
    ]
    evaluation_traces.send(record, parent, {"t1": questions}, uri)
    (run,) = (run for run in runs(uri) if run.data.tags.get("assay.trial"))
    traces = client_of(uri).search_traces(locations=[run.info.experiment_id], run_id=run.info.run_id)
    assert [trace.info.client_request_id for trace in traces] == ["q0", "q1", "q2"]
    assert [trace.info.state.value for trace in traces] == ["OK", "OK", "ERROR"]
    assert {assessment.name for assessment in traces[0].info.assessments} == {"ndcg_10", "found_floor", "evidence"}
    assert key not in "".join(trace.to_json() for trace in traces)
    assert "Because [redacted: provider-key]" in traces[0].to_json()
