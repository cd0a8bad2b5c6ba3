"""The database of a server, in SQLite or PostgreSQL, and what its failures mean for those who ask."""

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
"""Seconds that are waited for a connection, or for another process that writes."""
QUEUEING = 20
"""Seconds that a thread waits for other threads of the same server."""
WRITERS = 24
"""Connections that write at a time, where a database lets several."""
POOL: Mapping[str, Any] = {"pool_timeout": PATIENCE, "pool_size": 8, "max_overflow": WRITERS, "hide_parameters": True}
"""Parameters of a statement are what people said: no error and no log repeats them."""
LAYOUT = 72_657_001
"""The lock of PostgreSQL under which one of several servers that start together makes the tables."""


class MissingError(UserError):
    """What was asked for is not there, or not this owner's: nobody learns which."""


class Database:
    """One database by URL. ConfigError for a URL that is none, ServiceError for a database that cannot be opened.

    Its tables, and the file of SQLite, are made where there are none, unless `making` is False. A file is never made again
    while the server runs: a database that has been taken away is told, not replaced.
    """

    def __init__(self, url: str, making: bool = True) -> None:
        self.url = url
        self._engine = _engine(url, making)
        # One thread at a time writes to SQLite, and those that it lets wait for each other it does not serve in turn.
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
        """A transaction: all of it is kept, or none and a ServiceError says that."""
        with self._told(), self._place(), self._engine.begin() as connection:
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
        """A connection that changes nothing."""
        with self._told(), self._engine.connect().execution_options(reads=True) as connection:
            yield connection

    def ready(self) -> None:
        """ServiceError unless the tables can be read."""
        with self.reading() as connection:
            connection.execute(sa.select(SESSIONS.c.id).limit(1)).all()

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What fails is logged for who runs the server; who asks learns neither hosts nor files."""
        try:
            yield
        except (DBAPIError, PoolTimeoutError) as error:
            LOG.warning("sessions: %s", _reason(error))
            what = "has no room left" if _full(error) else "cannot be read or written now"
            raise ServiceError("sessions", f"the database of sessions {what}", "try again later") from error


def _full(error: Exception) -> bool:
    said = str(getattr(error, "orig", error)).lower()
    return any(words in said for words in ("full", "no space", "could not extend", "disk quota"))


def _reason(error: Exception) -> str:
    """The first line of what a driver says: the ones behind it may hold values."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


def _engine(url: str, making: bool) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError) as error:
        raise ConfigError("sessions", "is no URL of a database", "sqlite:///.rag/serve.db or postgresql://…") from error
    kind = parsed.drivername.partition("+")[0]
    if kind == "sqlite":
        return _sqlite(parsed.database or "", making)
    if kind in ("postgresql", "postgres"):
        return _postgres(parsed.set(drivername="postgresql+psycopg"))
    raise ConfigError("sessions", f"is a database of {kind!r}", "sqlite:///.rag/serve.db or postgresql://…")


def _postgres(url: sa.URL) -> sa.Engine:
    # Whoever is cut off from the database learns it from no packet.
    alive = {"connect_timeout": PATIENCE, "keepalives_idle": PATIENCE, "tcp_user_timeout": 2000 * PATIENCE}
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args=alive, **POOL)
    except ModuleNotFoundError as error:
        raise MissingExtraError("sessions", "psycopg", "postgres") from error
    sa.event.listen(engine, "connect", _patient)
    return engine


def _patient(connection: Any, _: object) -> None:
    """Nothing is waited for longer than that; said here, for a pooler between refuses it among the options of a connection."""
    connection.execute(f"SET statement_timeout = '{PATIENCE}s'")
    connection.execute(f"SET lock_timeout = '{PATIENCE}s'")
    connection.commit()


def _sqlite(name: str, making: bool) -> sa.Engine:
    if name in ("", ":memory:") or name.startswith("file:"):
        raise ConfigError("sessions", "is no file, and a restart would lose everything", "sqlite:///.rag/serve.db")
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
    """The file, where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What people said is nobody else's to read; SQLite gives its other files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _write_ahead(path)
    except OSError as error:
        what = f"{path} cannot be written ({error.strerror})"
        raise ServiceError("sessions", what, "give a file in a folder that the server may write to") from error


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that never makes the file, and that no power cut betrays."""
    address = f"file:{quote(str(path))}?mode=rw"
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    for setting in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _write_ahead(path: Path) -> None:
    """Have readers and writers not wait for each other; the file remembers that.

    Of servers that start together only one can say so, and SQLite lets none of the others wait for it.
    """
    until = time.monotonic() + PATIENCE
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                # What else is wrong with the file is found, and told, when it is opened.
                if time.monotonic() > until:
                    return
                time.sleep(0.01)


def _begin(connection: sa.Connection) -> None:
    """Who will write takes its place at once: waiting in the middle of a transaction would fail instead."""
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


def _same_file(path: Path, known: tuple[int, int]) -> None:
    """A file that was taken away can still be written to, and what is written is lost: such a connection is closed."""
    if _identity(path) != known:
        raise DisconnectionError("the file of the database is not the one that was opened")
