"""The connection to MLflow: where it is, clients over SQLite files that processes share, and errors of one line."""

import logging
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from filelock import FileLock

from rag.core.errors import ServiceError, required
from rag.core.files import locked
from rag.core.redaction import redacted_text

if TYPE_CHECKING:
    from mlflow import MlflowClient

BUSY, PATIENCE = 20.0, 120.0
"""Seconds to wait for another process that writes, and for one that makes the tables."""
ENVIRONMENT: Mapping[str, str] = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}
"""Defaults that are set before MLflow is imported: no telemetry, no prints, no minutes of retries."""


def tracking_uri(uri: str | None, folder: Path) -> str:
    """The environment variable MLFLOW_TRACKING_URI, else `uri`, else that of an SQLite file in `folder`."""
    return os.environ.get("MLFLOW_TRACKING_URI") or uri or sqlite_uri(folder.resolve() / "mlflow.db")


def sqlite_uri(path: Path) -> str:
    """The tracking URI of a database file; SQLAlchemy decodes `%` and `?` in it."""
    return "sqlite:///" + str(path).replace("%", "%25").replace("?", "%3F")


def sqlite_file(uri: str) -> Path | None:
    """The database file of a tracking URI; None for other URIs."""
    path = unquote(uri.removeprefix("sqlite:///").split("?")[0])
    return Path(path).absolute() if uri.startswith("sqlite:///") and path != ":memory:" else None


@contextmanager
def alone(uri: str) -> Iterator[None]:
    """Lock a database file against other senders of this machine: two with the same sweep would send it twice."""
    if (database := sqlite_file(uri)) is None:
        yield
        return
    with locked(Path(f"{database}.sending.lock")):
        yield


def client_of(uri: str) -> "MlflowClient":
    """A client of a tracking URI; the tables of an SQLite file are made under a lock.

    ServiceError for a file without runs whose tables MLflow cannot complete: a kill had cut short their making.
    """
    from mlflow import MlflowClient

    if (database := sqlite_file(uri)) is None:
        return MlflowClient(tracking_uri=uri)
    with FileLock(f"{database}.lock", timeout=PATIENCE, fallback_to_soft=False):
        # MLflow would try for 100 seconds to open a file that cannot be opened.
        with closing(sqlite3.connect(database, timeout=BUSY, isolation_level=None)) as connection:
            connection.executescript("BEGIN IMMEDIATE; ROLLBACK")
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            used = "runs" in tables and connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone()
        if not tables:
            _make_tables(database)
        try:
            return MlflowClient(tracking_uri=uri)
        except Exception as error:
            if used or not tables:
                raise
            what = f"MLflow cannot be used: {error_line(error)}; no run is in this file, so its making was probably cut short"
            raise ServiceError(str(database), what, "delete the file: it is made anew") from error


def _make_tables(database: Path) -> None:
    """Replace an empty database file by one with tables; a kill during the migrations leaves it empty."""
    from mlflow import MlflowClient

    for left in database.parent.glob(f"{database.name}.new-*"):
        shutil.rmtree(left, ignore_errors=True)
    # MLflow keeps a store for each URI that it has seen: the name is new each time.
    with tempfile.TemporaryDirectory(prefix=f"{database.name}.new-", dir=database.parent) as folder:
        aside = Path(folder) / database.name
        store: Any = MlflowClient(tracking_uri=sqlite_uri(aside))._tracking_client.store
        store.engine.dispose()
        aside.replace(database)


def commit_fast(tracking_store: Any) -> None:
    """Use SQLite's write-ahead log, which a crash leaves intact: a trial takes six commits, and each then waits less."""
    import sqlalchemy

    engine = getattr(tracking_store, "engine", None)
    if engine is not None and not sqlalchemy.event.contains(engine, "connect", _log_ahead):
        sqlalchemy.event.listen(engine, "connect", _log_ahead)
        engine.dispose()


def _log_ahead(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def later(experiment: str) -> str:
    """The remedy for results that MLflow did not take."""
    return f"the results are safe; once it is fixed: rag study track {experiment}"


@contextmanager
def connected(uri: str, experiment: str) -> Iterator["MlflowClient"]:
    """A client that no other process of this machine has at the same time, if it writes to a database file."""
    with explain_errors(uri, later(experiment)), alone(uri):
        yield client_of(uri)


@contextmanager
def explain_errors(uri: str, remedy: str) -> Iterator[None]:
    """Raise errors of MLflow as a ServiceError of one line; its own log is silent meanwhile."""
    required("MLflow", "mlflow")
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from alembic.util.exc import CommandError
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with quiet():
            yield
    except (MlflowException, SQLAlchemyError, CommandError, sqlite3.Error, OSError, NotImplementedError) as error:
        what = f"MLflow cannot be used: {error_line(error)}"
        raise ServiceError(redacted_text("", uri), what, remedy) from error


def error_line(error: Exception) -> str:
    """The message of an error of MLflow on one line, without secrets."""
    text = (redacted_text("", str(error)).strip() or type(error).__name__).splitlines()[0]
    reason = re.search(r"Max retries exceeded .*\[Errno -?\d+\] ([^\"'()]+)", text)
    return f"there is no answer ({reason[1].strip()})" if reason else text[:300]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the logs of MLflow: 90 migrations, and tracebacks of errors that we raise."""
    loggers = {logger: logger.level for logger in map(logging.getLogger, ("mlflow", "alembic"))}
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in loggers.items():
            logger.setLevel(level)
