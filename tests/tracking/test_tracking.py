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
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.ports import free_port

from rag.core.errors import ServiceError
from rag.tracking import evaluation_traces, mlflow_client, run_records
from rag.tracking.mlflow_client import QuestionTable, SweepRecord, TrialRecord

GONE = 2**22 + 7
"""A process id beyond what Linux gives out."""


def trial(number: int, **changes: Any) -> TrialRecord:
    made = TrialRecord(
        trial_id=f"t{number}",
        name=f"chunker={number}",
        params={"chunker.size": str(number), "generator.api_key": "hunter2"},
        metrics={"recall@5": 0.5, "recall@5/kind=table": math.nan},
        config={"chunker": {"size": number}, "generator": {"api_key": "hunter2", "api_key_env": "KEY"}},
        tags={"axis.chunker": "fixed"},
        table=QuestionTable(["question", "recall@5"], [["Why ünder?", 0.5], ["When?", math.nan]]),
        seconds=3.0,
    )
    return replace(made, **changes)


def sweep(*trials: TrialRecord, **changes: Any) -> SweepRecord:
    made = SweepRecord("study", "chunk sizes", "handbook", "d" * 64, "datasets/handbook", 2, trials, params={"depth": "100"})
    return replace(made, **changes)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables made, to be copied: making them takes seconds."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        mlflow_client.prepare(None, folder)
    return folder / "mlflow.db"


@pytest.fixture
def folder(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    copy(tables, tmp_path)
    return tmp_path


def copy(tables: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(tables)) as source, closing(sqlite3.connect(folder / "mlflow.db")) as target:
        source.backup(target)


def runs(uri: str, experiment: str = "study") -> list[Any]:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    known = client.get_experiment_by_name(experiment)
    return list(client.search_runs([known.experiment_id], order_by=["attributes.run_name"])) if known else []


def children(uri: str, parent: str) -> list[Any]:
    return [run for run in runs(uri) if run.data.tags.get("mlflow.parentRunId") == parent]


def artifact(run: Any, name: str) -> str:
    return (Path(run.info.artifact_uri.removeprefix("file://")) / name).read_text("utf-8")


def test_the_module_loads_without_mlflow() -> None:
    code = "import sys, rag.tracking.mlflow_client; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_where_is_decided_by_environment_then_argument_then_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mlflow_client.prepare(None, folder) == f"sqlite:///{folder}/mlflow.db"
    copy(folder / "mlflow.db", folder / "other")
    other = f"sqlite:///{folder}/other/mlflow.db"
    assert mlflow_client.prepare(other, folder) == other
    monkeypatch.setenv("MLFLOW_TRACKING_URI", other)
    assert mlflow_client.prepare(None, folder) == other


def test_only_the_own_database_gets_a_write_ahead_log(folder: Path) -> None:
    copy(folder / "mlflow.db", folder / "other")
    mlflow_client.prepare(None, folder)
    mlflow_client.track(sweep(), mlflow_client.prepare(None, folder))
    mlflow_client.prepare(f"sqlite:///{folder}/other/mlflow.db", folder)
    modes = []
    for path in (folder / "mlflow.db", folder / "other" / "mlflow.db"):
        with closing(sqlite3.connect(path)) as connection:
            modes.append(connection.execute("PRAGMA journal_mode").fetchone()[0])
    assert modes == ["wal", "delete"]


def test_a_sweep_is_a_parent_with_a_run_per_trial(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    parent = mlflow_client.track(sweep(trial(1), trial(2, status="FAILED", metrics={}, table=None)), uri)
    first, second = children(uri, parent)
    assert (first.info.run_name, first.info.status) == ("chunker=1", "FINISHED")
    assert (second.info.run_name, second.info.status) == ("chunker=2", "FAILED")
    assert first.data.params == {"chunker.size": "1", "generator.api_key": "***"}
    assert first.data.metrics["recall_5"] == 0.5
    assert math.isnan(first.data.metrics["recall_5_kind_table"])
    assert first.data.tags["axis.chunker"] == "fixed"
    assert first.data.tags["dataset.digest"] == "d" * 64
    assert 2900 <= first.info.end_time - first.info.start_time <= 8000
    assert second.data.metrics == {}


def test_the_parent_says_what_was_asked_of_what(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    parent = mlflow_client.track(sweep(trial(1), tags={"question": "Which size?"}), uri)
    (run,) = (run for run in runs(uri) if run.info.run_id == parent)
    assert (run.info.run_name, run.info.status, run.data.params) == ("chunk sizes", "FINISHED", {"depth": "100"})
    assert run.data.tags["question"] == "Which size?"
    (given_to,) = run.inputs.dataset_inputs
    assert (given_to.dataset.name, given_to.dataset.digest) == ("handbook", "d" * 36)
    assert json.loads(given_to.dataset.profile) == {"num_rows": 2}
    assert [(tag.key, tag.value) for tag in given_to.tags] == [("mlflow.data.context", "evaluation")]


def test_artifacts_hold_the_config_and_a_table_that_mlflow_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    uri = mlflow_client.prepare(None, folder)
    (run,) = children(uri, mlflow_client.track(sweep(trial(1)), uri))
    assert run.info.artifact_uri.startswith(f"file://{folder}/mlartifacts/")
    config = yaml.safe_load(artifact(run, "config.yaml"))
    assert config == {"chunker": {"size": 1}, "generator": {"api_key": "***", "api_key_env": "KEY"}}
    table = json.loads(artifact(run, "questions.json"))
    assert table == {"columns": ["question", "recall@5"], "data": [["Why ünder?", 0.5], ["When?", None]]}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    read = MlflowClient(tracking_uri=uri).load_table(run.info.experiment_id, "questions.json", [run.info.run_id])
    assert list(read["question"]) == ["Why ünder?", "When?"]


def test_what_stands_there_is_not_sent_twice(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    parent = mlflow_client.track(sweep(trial(1), trial(2, status="FAILED")), uri)
    assert mlflow_client.track(sweep(trial(1), trial(2, status="FAILED"), trial(3)), uri) == parent
    assert [run.info.run_name for run in children(uri, parent)] == ["chunker=1", "chunker=2", "chunker=3"]
    mlflow_client.track(sweep(trial(1, config={"other": 1}), trial(2)), uri)
    assert [run.info.run_name for run in children(uri, parent)] == ["chunker=1"] * 2 + ["chunker=2"] * 2 + ["chunker=3"]


def test_what_is_learnt_of_a_judge_later_is_told_of_trials_that_stand_there(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    unknown = trial(1, tags={"judge": "Local", "judge.remarks": "no card", "judge.auc.old": ".5"}, files={"judge.json": "{}"})
    parent = mlflow_client.track(sweep(unknown, trial(2)), uri)
    known = replace(
        unknown, tags={"judge": "Local", "judge.auc.wice": ".849", "judge.remarks": ""}, files={"judge.json": "[1]"}
    )
    assert mlflow_client.track(sweep(known, trial(2)), uri) == parent
    first, second = children(uri, parent)
    assert run_records.verdicts(first.data.tags) == known.tags
    assert artifact(first, "judge.json") == "[1]"
    assert first.info.status == "FINISHED"
    assert "judge" not in second.data.tags


def test_metrics_that_are_measured_later_join_the_run_and_stay(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    parent = mlflow_client.track(sweep(trial(1), trial(2)), uri)
    table = QuestionTable(["question", "recall@5", "faithfulness"], [["Why?", 0.5, 1.0]])
    metrics = {"recall@5": 0.9, "faithfulness": 0.75}
    judged = trial(1, tags={"judge": "Local"}, metrics=metrics, table=table, files={"judge.json": "{}"})
    mlflow_client.track(sweep(judged, trial(2)), uri)
    mlflow_client.track(sweep(trial(1), replace(judged, trial_id="t2", config=trial(2).config)), uri)
    first, second = children(uri, parent)
    for run in (first, second):
        assert run.data.metrics["faithfulness"] == 0.75
        assert run.data.metrics["recall_5"] == 0.5  # what was measured before is what was measured
        assert run.data.tags["judge"] == "Local"
        assert "faithfulness" in artifact(run, run_records.TABLE)


def test_another_dataset_is_another_sweep(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    assert mlflow_client.track(sweep(), uri) != mlflow_client.track(sweep(dataset_digest="e" * 64), uri)


def test_a_parent_without_a_trial_that_ended_well_has_failed(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    parent = mlflow_client.track(sweep(trial(1, status="FAILED")), uri)
    assert {run.info.run_id: run.info.status for run in runs(uri)}[parent] == "FAILED"


def test_more_than_mlflow_takes_at_once(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    many = trial(1, params={f"p{n}": "x" * 9000 for n in range(230)}, metrics={f"m@{n}": n / 7 for n in range(1300)})
    (run,) = children(uri, mlflow_client.track(sweep(many), uri))
    assert len(run.data.params) == 230
    assert set(run.data.params.values()) == {"x" * 499 + "…"}
    assert len(run.data.metrics) == 1300


def test_names_that_meet_after_fitting_stay_apart(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    (run,) = children(
        uri, mlflow_client.track(sweep(trial(1, metrics={"a@1": 1.0, "a_1": 2.0}, params={"é%": "1", "é&": "2"})), uri)
    )
    assert run.data.metrics == {"a_1": 1.0, "a_1_2": 2.0}
    assert run.data.params == {"é_": "1", "é__2": "2"}


@given(st.text(max_size=300))
def test_every_name_fits(text: str) -> None:
    from mlflow.utils import validation

    name = run_records.metric_name(text)
    assert validation.validate_param_and_metric_name(name)
    assert not validation.path_not_unique(name)
    assert 1 <= len(name) <= validation.MAX_ENTITY_KEY_LENGTH


def test_typical_names_read_well() -> None:
    assert run_records.metric_name("recall@2000chars") == "recall_2000chars"
    assert run_records.metric_name("found/floor") == "found_floor"


def test_runs_of_dead_processes_are_reaped(folder: Path) -> None:
    from mlflow import MlflowClient

    uri = mlflow_client.prepare(None, folder)
    assert mlflow_client.reap(uri, "study") == 0
    client = MlflowClient(tracking_uri=uri)
    experiment = client.create_experiment("study")
    here, pids = socket.gethostname(), {"dead": GONE, "mine": os.getpid(), "far": GONE}
    tags = {name: {"assay.pid": str(pid), "assay.host": here if name != "far" else "elsewhere"} for name, pid in pids.items()}
    for name, ours in (tags | {"foreign": {}}).items():
        client.create_run(experiment, tags=ours, run_name=name)
    assert mlflow_client.reap(uri, "study") == 1
    assert {run.info.run_name: run.info.status for run in runs(uri)} == {
        "dead": "KILLED",
        "mine": "RUNNING",
        "far": "RUNNING",
        "foreign": "RUNNING",
    }


def test_a_run_that_ended_while_runs_were_listed_stays_as_it_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    uri = mlflow_client.prepare(None, folder)
    client = MlflowClient(tracking_uri=uri)
    run = client.create_run(
        client.create_experiment("study"), tags={"assay.pid": str(GONE), "assay.host": socket.gethostname()}
    )
    gone = run_records.is_orphan

    def looked_at_later(tags: Mapping[str, str]) -> bool:
        client.set_terminated(run.info.run_id, "FINISHED")  # its process did that, and then ended
        return gone(tags)

    monkeypatch.setattr(run_records, "is_orphan", looked_at_later)
    assert mlflow_client.reap(uri, "study") == 0
    assert client.get_run(run.info.run_id).info.status == "FINISHED"


def test_a_run_that_another_process_takes_up_again_stays_as_that_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    uri = mlflow_client.prepare(None, folder)
    client = MlflowClient(tracking_uri=uri)
    tags = {"assay.pid": str(GONE), "assay.host": socket.gethostname()}
    run = client.create_run(client.create_experiment("study"), tags=tags)
    found, ended, get = threading.Event(), threading.Event(), MlflowClient.get_run

    def slowly(self: MlflowClient, run_id: str) -> Any:
        looked_at = get(self, run_id)
        found.set()
        ended.wait(60)
        return looked_at

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "get_run", slowly)
        reaping = threading.Thread(target=mlflow_client.reap, args=(uri, "study"))
        with run_records.alone(uri):
            reaping.start()
            found.wait(1)  # it must not come to that yet
            client.set_terminated(run.info.run_id, "FINISHED")
            ended.set()
        reaping.join(60)
    assert not reaping.is_alive()
    assert client.get_run(run.info.run_id).info.status == "FINISHED"


def test_a_full_disk_is_told_and_made_good_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = mlflow_client.prepare(None, folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_records, "write", full)
        with pytest.raises(ServiceError, match="No space left") as caught:
            mlflow_client.track(sweep(trial(1)), uri)
    assert caught.value.remedy.endswith("rag track study")
    assert [run.info.status for run in runs(uri)] == ["KILLED", "KILLED"]
    parent = mlflow_client.track(sweep(trial(1)), uri)
    assert sorted(run.info.status for run in children(uri, parent)) == ["FINISHED", "KILLED"]
    assert {run.info.run_id: run.info.status for run in runs(uri)}[parent] == "FINISHED"


def test_a_database_that_is_none(folder: Path) -> None:
    (folder / "mlflow.db").write_text("no database, " * 1000, encoding="utf-8")
    with pytest.raises(ServiceError, match="not a database"):
        mlflow_client.prepare(None, folder)


def test_a_database_of_another_mlflow(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        connection.executescript("UPDATE alembic_version SET version_num = 'unheard of'; DROP TABLE inputs")
    with pytest.raises(ServiceError, match="unheard of"):
        mlflow_client.prepare(None, folder)


def test_a_database_that_cannot_be_opened_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlflow.db").mkdir()
    asked: list[Any] = []
    monkeypatch.setattr("mlflow.MlflowClient", lambda **given: asked.append(given))
    with pytest.raises(ServiceError, match="rag track"):
        mlflow_client.prepare(None, tmp_path)
    assert asked == [], "MLflow tries for 100 seconds to open what cannot be opened"


def test_a_server_that_is_down(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:hunter2@127.0.0.1:{free_port()}")
    with pytest.raises(ServiceError) as caught:
        mlflow_client.prepare(None, tmp_path)
    assert "rag track" in caught.value.remedy
    assert "hunter2" not in str(caught.value)


def test_a_deleted_experiment_says_how_to_get_it_back(folder: Path) -> None:
    from mlflow import MlflowClient

    uri = mlflow_client.prepare(None, folder)
    client = MlflowClient(tracking_uri=uri)
    client.delete_experiment(client.create_experiment("study"))
    with pytest.raises(ServiceError, match="restore"):
        mlflow_client.track(sweep(), uri)


def test_a_folder_with_odd_characters(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    odd = tmp_path / "a b %20 ü"
    copy(tables, odd)
    uri = mlflow_client.prepare(None, odd)
    parent = mlflow_client.track(sweep(trial(1)), uri)
    assert len(children(uri, parent)) == 1
    assert list((odd / "mlartifacts").rglob("config.yaml"))


@pytest.mark.bench
def test_a_trial_costs_less_than_sixty_milliseconds(folder: Path) -> None:
    uri = mlflow_client.prepare(None, folder)
    params, metrics = {f"p{n}": "x" * 20 for n in range(60)}, {f"m{n}@5": n / 7 for n in range(60)}
    table = QuestionTable(["question", "score"], [[f"q{n}", n / 7] for n in range(100)])
    trials = [trial(n, params=params, metrics=metrics, table=table) for n in range(21)]
    mlflow_client.track(sweep(trials[0]), uri)
    started = time.process_time()
    mlflow_client.track(sweep(*trials), uri)
    assert (time.process_time() - started) / 20 < 0.060


COLD = """
import sys
from pathlib import Path
from rag.tracking import mlflow_client as tracking
folder, name = Path(sys.argv[1]), sys.argv[2]
trials = [tracking.TrialRecord(f"{name}{n}", f"{name}{n}", {"n": str(n)}, {"m@5": 0.5}, {"n": n}) for n in range(3)]
uri = tracking.prepare(None, folder)
tracking.reap(uri, "study")
tracking.track(tracking.SweepRecord("study", name, "ds", "d", "s", 1, trials), uri)
"""


def test_four_processes_start_on_an_empty_folder(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "-c", COLD, str(tmp_path)]
    started = [
        subprocess.Popen([*command, name], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for name in "abcd"
    ]
    for process in started:
        output, _ = process.communicate(timeout=120)
        assert (process.returncode, output) == (0, "")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    assert {run.info.status for run in runs(uri)} == {"FINISHED"}
    assert len(runs(uri)) == 4 * (1 + 3)


def test_processes_that_send_the_same_sweep_at_once_send_it_once(folder: Path) -> None:
    uri = run_records.sqlite_uri(folder / "mlflow.db")
    record = sweep(*(trial(number) for number in range(5)))
    (folder / "record.json").write_text(json.dumps(asdict(record)), "utf-8")
    command = [sys.executable, "-c", SENDER, str(folder / "record.json"), uri]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.stdout.readline() for process in running if process.stdout] == ["ready\n"] * 3
    for process in running:
        assert process.stdin
        process.stdin.close()
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    found = runs(uri)
    assert len(found) == 1 + 5
    assert {run.info.status for run in found} == {"FINISHED"}


SENDER = """
import json, sys
from mlflow import MlflowClient
from rag.tracking.mlflow_client import SweepRecord, QuestionTable, TrialRecord, track

MlflowClient(tracking_uri=sys.argv[2]).search_experiments()
told = json.load(open(sys.argv[1], encoding="utf-8"))
trials = [TrialRecord(**{**trial, "table": QuestionTable(**trial["table"])}) for trial in told.pop("trials")]
print("ready", flush=True)
sys.stdin.read()
track(SweepRecord(**told, trials=trials), sys.argv[2])
"""


@pytest.fixture(scope="module")
def server(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    copy(tables, folder)
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "kept")]
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    uri = f"http://127.0.0.1:{port}"
    try:
        await_health(uri, process, folder / "log")
        yield uri, folder
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_health(uri: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{uri}/health", timeout=2) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"no MLflow server: {log.read_text('utf-8')[-2000:]}")


@pytest.mark.parametrize("kept", ["on disk", "by the server"])
def test_a_server_takes_a_trial_in_four_requests(
    server: tuple[str, Path], kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests
    from mlflow import MlflowClient

    uri, folder = server
    if kept == "on disk":
        MlflowClient(tracking_uri=uri).create_experiment(kept, (tmp_path / "kept").as_uri())
    asked: list[str] = []
    send = requests.Session.send

    def counted(self: Any, request: Any, **settings: Any) -> Any:
        asked.append(request.path_url)
        return send(self, request, **settings)

    def requests_for(*trials: TrialRecord) -> int:
        asked.clear()
        mlflow_client.track(sweep(*trials, experiment=kept), uri)
        return len([path for path in asked if "mlflow-artifacts" not in path])

    monkeypatch.setattr(requests.Session, "send", counted)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert mlflow_client.prepare(None, folder) == uri
    requests_for(trial(1))
    nothing_new = requests_for(trial(1))
    assert requests_for(*(trial(number) for number in range(1, 6))) - nothing_new == 4 * 4
    assert len(runs(uri, kept)) == 1 + 5
    assert any(math.isnan(run.data.metrics.get("recall_5_kind_table", 0)) for run in runs(uri, kept))
    written = tmp_path if kept == "on disk" else folder / "kept"
    assert len(list(written.rglob("questions.json"))) == 5
    assert mlflow_client.reap(uri, kept) == 0


def test_a_server_takes_a_question_in_one_request_without_secrets(
    server: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests
    from mlflow import MlflowClient

    uri, key = server[0], "sk-" + "a1B2" * 8
    MlflowClient(tracking_uri=uri).create_experiment("asked", (tmp_path / "kept").as_uri())
    record = sweep(trial(1), experiment="asked")
    parent = mlflow_client.track(record, uri)
    questions = [
        evaluation_traces.QuestionRecord(
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
    asked: list[str] = []
    send = requests.Session.send
    counted = lambda self, request, **settings: (asked.append(request.path_url), send(self, request, **settings))[1]  # noqa: E731
    monkeypatch.setattr(requests.Session, "send", counted)
    evaluation_traces.send(record, parent, {"t1": questions}, uri)
    sent = len(asked)
    evaluation_traces.send(record, parent, {"t1": questions}, uri)
    assert sent - (len(asked) - sent) <= len(questions) + 4  # and: the version, what was there, all spans, the tag
    (run,) = (run for run in runs(uri, "asked") if run.data.tags.get("assay.trial"))
    found = MlflowClient(tracking_uri=uri).search_traces(locations=[run.info.experiment_id], run_id=run.info.run_id)
    assert [trace.info.client_request_id for trace in found] == ["q0", "q1", "q2"]
    assert [trace.info.state.value for trace in found] == ["OK", "OK", "ERROR"]
    assert {one.name for one in found[0].info.assessments} == {"ndcg_10", "found_floor", "evidence"}
    assert key not in "".join(trace.to_json() for trace in found)
    assert "Because ***" in found[0].to_json()


@pytest.mark.parametrize("kept", ["on disk, attached", "by the server, attached"])
def test_files_are_put_beside_a_sweep_in_two_requests_and_one_each(
    server: tuple[str, Path], kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests
    from mlflow import MlflowClient

    uri, folder = server
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    if kept.startswith("on disk"):
        MlflowClient(tracking_uri=uri).create_experiment(kept, (tmp_path / "kept").as_uri())
    files = {"report.html": "<p>ü", "report.md": "# ü", "verdict.json": "{}"}
    assert mlflow_client.attach(sweep(experiment="never sent"), files, None, folder) == ""
    parent = mlflow_client.track(sweep(trial(1), experiment=kept), uri)
    asked: list[str] = []
    send = requests.Session.send
    counted = lambda self, request, **settings: (asked.append(request.path_url), send(self, request, **settings))[1]  # noqa: E731
    monkeypatch.setattr(requests.Session, "send", counted)
    assert mlflow_client.attach(sweep(experiment=kept), files, None, folder) == parent
    assert len(asked) == 2 + (0 if kept.startswith("on disk") else len(files))
    written = tmp_path if kept.startswith("on disk") else folder / "kept"
    for name, text in files.items():
        assert [path.read_text("utf-8") for path in written.rglob(f"{parent}/**/{name}")] == [text]


def test_nothing_is_left_beside_the_database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    mlflow_client.track(sweep(trial(1)), mlflow_client.prepare(None, folder))
    assert list(elsewhere.iterdir()) == []
    shutil.rmtree(folder / "mlartifacts")
