"""A folder with three trials that were swept, tracked and sealed: two that find passages, one that answers."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.gate_experiment import AXES, GATE, write_gated, write_many

from rag.bundle import seal
from rag.bundle.open_bundle import Bundle, open_bundle
from rag.config import experiment
from rag.execution.sweep import sweep
from rag.tracking import mlflow_client
from rag.tracking.registry.register import Registered, register

ALL = GATE.replace("gate:\n", "split: all\nholdout: 0\ngate:\n  split: all\n")
ANSWERS = """\
question: Does it answer?
dataset: native
split: all
holdout: 0
fixed: ["dataset.path=golden", "index=[bm25s]", fusion=single, embedder=hashing, generator=extractive, latency=0]
axes: {read: {three: k=3}}
"""


@dataclass(frozen=True)
class Answering:
    """A bundle that answers, and what MLflow has of it."""

    bundle: Bundle
    model: Any
    registered: Registered
    client: Any
    left: Mapping[str, str]
    """What of MLflow's variables was set when the model had been loaded."""


MLFLOW = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_TRACE_SAMPLING_RATIO")


def _unset(patched: pytest.MonkeyPatch) -> None:
    """Take MLflow's variables away; what is set meanwhile goes with the patch, too."""
    for name in MLFLOW:
        patched.setenv(name, "")
        patched.delenv(name)


def swept(name: str) -> dict[str, Path]:
    """Sweep an experiment and seal its trials; the bundles by the names of the trials."""
    ready = sweep.prepare(experiment.load(name))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    sweep.write(done)
    rows = done.board.rows
    places = {row.name: Path(f"bundles/{name}-{row.name}" if len(rows) > 1 else f"bundles/{name}") for row in rows}
    return {row.name: seal.export(f"trial={row.trial_id}", places[row.name]).path for row in rows}


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder: `bundles/notes-narrow`, `notes-wide` (120 questions), `few-…` (of 24) and `answers-…`; experiments beside."""
    folder = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        _unset(patched)
        (folder / "experiments").mkdir()
        write_many(Path("golden"))
        write_gated(Path("experiments/notes.yaml"), Path("golden"), AXES, ALL)
        write_gated(Path("experiments/few.yaml"), Path("golden"), AXES, GATE + "holdout: 0\n")
        Path("experiments/answers.yaml").write_text(ANSWERS, "utf-8")
        for name in ("notes", "few", "answers"):
            swept(name)
    return folder


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of MLflow's, to be copied: to make its tables takes ninety commits."""
    folder = tmp_path_factory.mktemp("blank")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("MLFLOW_TRACKING_URI", raising=False)
        mlflow_client.prepare(f"sqlite:///{folder}/mlflow.db", folder / "unused")
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder / "mlflow.db"


@pytest.fixture
def at_home(home: Path, blank: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Work in that folder, with a database of MLflow's of one's own; a function that names bundles there."""
    _settle(monkeypatch, home, blank, tmp_path)
    return lambda name: home / "bundles" / name


def _settle(patched: pytest.MonkeyPatch, home: Path, blank: Path, database: Path) -> None:
    shutil.copy(blank, database / "mlflow.db")
    patched.chdir(home)
    _unset(patched)
    patched.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}/mlflow.db")
    patched.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")


@contextmanager
def _looking_there() -> Iterator[Any]:
    """MLflow, which looks at the database of the environment meanwhile."""
    import mlflow

    uri = os.environ["MLFLOW_TRACKING_URI"]
    mlflow.set_tracking_uri(uri)
    try:
        yield mlflow
    finally:
        mlflow.set_tracking_uri(None)


@pytest.fixture
def mlflow_here(at_home: Any) -> Iterator[Any]:
    """MLflow over a database of one's own."""
    with _looking_there() as mlflow:
        yield mlflow


@pytest.fixture(scope="session")
def loaded(home: Path, blank: Path, tmp_path_factory: pytest.TempPathFactory) -> Answering:
    """A bundle that answers, the model that MLflow loads of it, and MLflow; for tests that change nothing."""
    with pytest.MonkeyPatch.context() as patched:
        _settle(patched, home, blank, tmp_path_factory.mktemp("mlflow"))
        path = home / "bundles/answers"
        found = register(path, "answers")
        with _looking_there() as mlflow:
            model = mlflow.pyfunc.load_model(found.uri)
            client = mlflow.MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
        left = {name: os.environ[name] for name in MLFLOW if name in os.environ}
        return Answering(open_bundle(path), model, found, client, left)


@pytest.fixture
def answering(loaded: Answering, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """The same, in the environment that it was loaded in."""
    import mlflow

    for name, value in {**loaded.left, "MLFLOW_TRACKING_URI": loaded.client.tracking_uri}.items():
        monkeypatch.setenv(name, value)
    # Whether anything is traced is looked at once in a process: others may have had that done.
    mlflow.tracing.reset()
    return loaded


@pytest.fixture(scope="session")
def registered(home: Path, blank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database in which `notes` and `few` have version 1, the narrow trial, and version 2, the wide one."""
    folder = tmp_path_factory.mktemp("registered")
    with pytest.MonkeyPatch.context() as patched:
        _settle(patched, home, blank, folder)
        for name in ("notes-narrow", "notes-wide", "few-narrow", "few-wide"):
            register(home / "bundles" / name, name.partition("-")[0])
    return folder


@pytest.fixture
def versions(at_home: Any, registered: Path, tmp_path: Path) -> Any:
    """A client of a copy of that database; nobody is champion."""
    from mlflow import MlflowClient

    shutil.copy(registered / "mlflow.db", tmp_path / "mlflow.db")
    return MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
