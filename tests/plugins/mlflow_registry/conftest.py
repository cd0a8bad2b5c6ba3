"""A folder with five sealed trials: four that retrieve passages, one that answers; and models that are registered from them."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.gate_experiment import AXES, GATE, write_gated, write_many
from support.mlflow_fixtures import server, tables

from rag.bundle import seal
from rag.bundle.open_bundle import Bundle, open_bundle
from rag.config import experiment
from rag.execution.sweep import sweep
from rag.plugins.mlflow_registry.register import Registered, register

__all__ = ["server", "tables"]
ALL = GATE.replace("gate:\n", "split: all\ngate:\n  split: all\n")
ANSWERS = """\
question: Does it answer?
dataset: native
split: all
fixed: ["dataset.path=golden", "index=[bm25s]", fusion=single, embedder=hashing, generator=extractive, latency=0]
axes: {read: {three: k=3}}
"""


@dataclass(frozen=True)
class Answering:
    """A bundle that answers, and its model in MLflow."""

    bundle: Bundle
    model: Any
    registered: Registered
    client: Any
    variables: Mapping[str, str]
    """MLflow's environment variables after the model was loaded."""


MLFLOW = ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_TRACE_SAMPLING_RATIO")


def _unset(patched: pytest.MonkeyPatch) -> None:
    """Remove MLflow's variables, also those that are set during the patch."""
    for name in MLFLOW:
        patched.setenv(name, "")
        patched.delenv(name)


def swept(name: str) -> None:
    """Sweep an experiment and seal its trials as `bundles/<experiment>-<trial>`."""
    ready = sweep.prepare(experiment.load(name))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    sweep.write(done)
    place = Path(f"experiments/{name}.yaml")
    place.rename("away.yaml")  # exports then compose no config of it, which takes most of their time
    for row in done.board.rows:
        folder = f"{name}-{row.name}" if len(done.board.rows) > 1 else name
        seal.export(f"trial={row.trial_id}", Path("bundles") / folder)
    Path("away.yaml").rename(place)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with experiments, and `bundles/notes-narrow`, `notes-wide` (120 questions), `few-…` (24), `answers`."""
    folder = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        _unset(patched)
        (folder / "experiments").mkdir()
        write_many(Path("golden"))
        write_gated(Path("experiments/notes.yaml"), Path("golden"), AXES, ALL)
        write_gated(Path("experiments/few.yaml"), Path("golden"), AXES, GATE + "split: tune\nholdout: 0\n")
        Path("experiments/answers.yaml").write_text(ANSWERS, "utf-8")
        for name in ("notes", "few", "answers"):
            swept(name)
    return folder


@pytest.fixture
def at_home(home: Path, tables: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Work in that folder with a new database; a function that gives the paths of bundles."""
    _settle(monkeypatch, home, tables, tmp_path)
    return lambda name: home / "bundles" / name


def _settle(patched: pytest.MonkeyPatch, home: Path, tables: Path, database: Path) -> None:
    shutil.copy(tables, database / "mlflow.db")
    patched.chdir(home)
    _unset(patched)
    patched.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}/mlflow.db")
    patched.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")


@contextmanager
def _mlflow() -> Iterator[Any]:
    """MLflow, which uses the database of the environment in the block."""
    import mlflow

    uri = os.environ["MLFLOW_TRACKING_URI"]
    mlflow.set_tracking_uri(uri)
    try:
        yield mlflow
    finally:
        mlflow.set_tracking_uri(None)


@pytest.fixture
def mlflow_here(at_home: Any) -> Iterator[Any]:
    """MLflow with a new database."""
    with _mlflow() as mlflow:
        yield mlflow


@pytest.fixture(scope="session")
def loaded(home: Path, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Answering:
    """A bundle that answers, and its loaded model; for tests that change nothing."""
    with pytest.MonkeyPatch.context() as patched:
        _settle(patched, home, tables, tmp_path_factory.mktemp("mlflow"))
        path = home / "bundles/answers"
        found = register(path, "answers")
        with _mlflow() as mlflow:
            model = mlflow.pyfunc.load_model(found.uri)
            client = mlflow.MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
        variables = {name: os.environ[name] for name in MLFLOW if name in os.environ}
        return Answering(open_bundle(path), model, found, client, variables)


@pytest.fixture
def answering(loaded: Answering, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """The same, in the environment in which it was loaded."""
    import mlflow

    for name, value in {**loaded.variables, "MLFLOW_TRACKING_URI": loaded.client.tracking_uri}.items():
        monkeypatch.setenv(name, value)
    # MLflow decides once in a process whether it traces.
    mlflow.tracing.reset()
    return loaded


@pytest.fixture(scope="session")
def registered(home: Path, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database where `notes` and `few` have version 1, the narrow trial, and version 2, the wide one."""
    folder = tmp_path_factory.mktemp("registered")
    with pytest.MonkeyPatch.context() as patched:
        _settle(patched, home, tables, folder)
        for name in ("notes-narrow", "notes-wide", "few-narrow", "few-wide"):
            register(home / "bundles" / name, name.partition("-")[0])
    return folder


@pytest.fixture
def versions(at_home: Any, registered: Path, tmp_path: Path) -> Any:
    """A client of a copy of that database; there is no champion."""
    from mlflow import MlflowClient

    shutil.copy(registered / "mlflow.db", tmp_path / "mlflow.db")
    return MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
