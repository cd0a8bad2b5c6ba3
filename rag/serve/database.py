"""The database of a server, in SQLite or PostgreSQL, and its failures as errors for clients."""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from rag.core.errors import ConfigError, MissingExtraError, ServiceError, UserError
from rag.serve.sql_tables import SESSIONS, TABLES

LOG = logging.getLogger("rag.serve.database")
PATIENCE = 5
"""Seconds to wait for a connection, or for another process that writes."""
QUEUEING = 20
"""Seconds to wait for other threads of the same server."""
WRITERS = 24
"""Connections that write at a time, in a database that allows several."""
POOL: Mapping[str, Any] = {"pool_timeout": PATIENCE, "pool_size": 8, "max_overflow": WRITERS, "hide_parameters": True}
"""Errors and logs never repeat parameters of statements, which hold texts of users."""
LAYOUT = 72_657_001
"""The advisory lock of PostgreSQL under which one of several starting servers creates the tables."""


class MissingError(UserError):
    """A resource does not exist or belongs to another owner; the response does not say which."""


class Database:
    """A database by URL. ConfigError for a URL that is not valid, ServiceError for a database that cannot be opened.

    Missing tables, and the file of SQLite, are created unless `making` is False. A file that is removed while the server runs
    is an error; it is not created again.
    """

    def __init__(self, url: str, making: bool = True) -> None:
        self.url = url
        self._engine = _engine(url, making)
        # SQLite has one writer at a time, and does not serve waiting threads in their order.
        self._places = threading.BoundedSemaphore(1 if self._engine.dialect.name == "sqlite" else WRITERS)
        try:
            with self._engine.begin() as connection:
                if self._engine.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LAYOUT)))
                if making:
                    TABLES.create_all(connection)
        except (DBAPIError, PoolTimeoutError) as error:
            self.close()
            shown = sa.make_url(url).render_as_string(hide_password=True)
            remedy = "start the database, or give the URL of another, as sqlite:///.rag/serve.db"
            if not making:
                remedy = f"rate an answer on the page of `rag serve` in this folder, which makes it; or {remedy}"
            raise ServiceError("sessions", f"{shown} cannot be opened ({_reason(error)})", remedy) from error

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction; ServiceError if it fails, and then nothing of it is stored."""
        with self._as_service_error(), self._place(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(timeout=QUEUEING):
            raise PoolTimeoutError(f"other threads have been writing for {QUEUEING} seconds")
        try:
            yield
        finally:
            self._places.release()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for reading."""
        with self._as_service_error(), self._engine.connect().execution_options(reads=True) as connection:
            yield connection

    def ready(self) -> None:
        """ServiceError unless the tables can be read."""
        with self.reading() as connection:
            connection.execute(sa.select(SESSIONS.c.id).limit(1)).all()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _as_service_error(self) -> Iterator[None]:
        """Log a failure with its reason for the operator, and raise ServiceError without hosts and files for the client."""
        try:
            yield
        except (DBAPIError, PoolTimeoutError) as error:
            LOG.warning("sessions: %s", _reason(error))
            message = str(getattr(error, "orig", error)).lower()
            full = any(words in message for words in ("full", "no space", "could not extend", "disk quota"))
            what = "has no room left" if full else "cannot be read or written now"
            raise ServiceError("sessions", f"the database of sessions {what}", "try again later") from error


def _reason(error: Exception) -> str:
    """The first line of a driver's message; later lines may hold values."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _engine(url: str, making: bool) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError) as error:
        raise ConfigError("sessions", "is not the URL of a database", "sqlite:///.rag/serve.db or postgresql://…") from error
    kind = parsed.drivername.partition("+")[0]
    if kind == "sqlite":
        return _sqlite(parsed.database or "", making)
    if kind in ("postgresql", "postgres"):
        return _postgres(parsed.set(drivername="postgresql+psycopg"))
    raise ConfigError("sessions", f"is a database of {kind!r}", "sqlite:///.rag/serve.db or postgresql://…")


def _postgres(url: sa.URL) -> sa.Engine:
    # A connection that is cut off gets no packet that says so.
    alive = {"connect_timeout": PATIENCE, "keepalives_idle": PATIENCE, "tcp_user_timeout": 2000 * PATIENCE}
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args=alive, **POOL)
    except ModuleNotFoundError as error:
        raise MissingExtraError("sessions", "psycopg", "postgres") from error
    sa.event.listen(engine, "connect", _patient)
    return engine


def _patient(connection: Any, _: object) -> None:
    """Set timeouts by statements, because a connection pooler refuses them as options of the connection."""
    connection.execute(f"SET statement_timeout = '{PATIENCE}s'")
    connection.execute(f"SET lock_timeout = '{PATIENCE}s'")
    connection.commit()


def _sqlite(name: str, making: bool) -> sa.Engine:
    if name in ("", ":memory:") or name.startswith("file:"):
        raise ConfigError("sessions", "is not a file, and a restart would lose everything", "sqlite:///.rag/serve.db")
    path = Path(name).absolute()
    if making:
        _make(path)
    creator: Callable[[], sqlite3.Connection] = partial(_connect, path)
    engine = sa.create_engine("sqlite://", creator=creator, poolclass=sa.QueuePool, **POOL)
    sa.event.listen(engine, "begin", _begin)
    sa.event.listen(engine, "connect", lambda _, record: record.info.update(file=_identity(path)))
    sa.event.listen(engine, "checkout", lambda _, record, __: _same_file(path, record.info["file"]))
    return engine


def _make(path: Path) -> None:
    """Create the file if it does not exist; ServiceError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only the owner may read texts of users; SQLite gives its other files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _write_ahead(path)
    except OSError as error:
        what = f"{path} cannot be written ({error.strerror})"
        raise ServiceError("sessions", what, "give a file in a folder that the server may write to") from error


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that never creates the file, and whose commits survive a power cut."""
    address = f"file:{quote(str(path))}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    for setting in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _write_ahead(path: Path) -> None:
    """Set journal mode WAL, which the file remembers: readers and writers then do not wait for each other.

    Of several starting servers only one can set it; SQLite refuses the others at once, so this tries again.
    """
    until = time.monotonic() + PATIENCE
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                # Any other fault of the file is reported when it is opened.
                if time.monotonic() > until:
                    return
                time.sleep(0.01)


def _begin(connection: sa.Connection) -> None:
    """Take the write lock at the beginning: SQLite does not wait for it in the middle of a transaction."""
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


def _same_file(path: Path, known: tuple[int, int]) -> None:
    """Close a connection whose file was removed or replaced: what it wrote would be lost."""
    if _identity(path) != known:
        raise DisconnectionError("the file of the database is not the one that was opened")
