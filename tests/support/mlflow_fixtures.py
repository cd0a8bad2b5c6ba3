"""One database with MLflow's tables, to be copied, and one MLflow server for all tests of tracking."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.mlflow_process import mlflow_process

from rag.tracking import mlflow_client


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables: copies are cheap, and making the tables takes seconds."""
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        mlflow_client.prepare(None, folder)
    with closing(sqlite3.connect(folder / "mlflow.db")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return folder / "mlflow.db"


@pytest.fixture(scope="session")
def server(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of an MLflow server, and the folder where it keeps artifacts."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "mlflow.db").write_bytes(tables.read_bytes())
    stores = ("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "kept"))
    with mlflow_process("server", "--workers", "1", *stores, folder=folder, ping="health") as url:
        yield url, folder / "kept"
