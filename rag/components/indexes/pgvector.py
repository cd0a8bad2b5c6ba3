"""Exact and approximate search in PostgreSQL, with the extension pgvector."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import numpy as np

from rag.components.indexes.stores import (
    RESUME,
    Places,
    StoredIndex,
    checked_url,
    failing,
    name_of,
    server_url,
    shown,
)
from rag.core.checks import check_choice, check_whole
from rag.core.errors import ConfigError, MissingExtraError, ServiceError
from rag.core.records import Vectors

WHERE = "index.pgvector"
VARIABLE = "PGVECTOR_URL"
SCHEMES = ("postgresql", "postgres")
NEEDED = (0, 8)
"""The oldest version of the extension: it continues a search in the graph beyond `hnsw.ef_search`."""
WIDEST = 2_000
"""The most dimensions of an hnsw index."""
MOST = 1_000
"""The largest `hnsw.ef_search`."""
METHODS = ("exact", "hnsw")


class PgvectorIndex(StoredIndex):
    """One table per index. It appears with its rows and its graph in one transaction: another process never sees half of it.

    `exact` compares a question with every row. `hnsw` searches a graph (Malkov and Yashunin 2018); its layers are drawn by
    chance, so two servers may propose different chunks. Among allowed chunks both are exact. The URL is that of the config,
    or of the variable PGVECTOR_URL.
    """

    where: ClassVar[str] = WHERE
    runtime: ClassVar[tuple[str, ...]] = ("url", "timeout", "build_mb")

    def __init__(
        self,
        method: Literal["exact", "hnsw"] = "exact",
        m: int = 16,
        ef_construction: int = 64,
        ef_search: int = 64,
        url: str | None = None,
        timeout: int = 10,
        build_mb: int = 512,
    ) -> None:
        check_choice(f"{WHERE}.method", method, METHODS)
        check_whole(f"{WHERE}.m", m, 2, 100, "16 to 64 is usual")
        check_whole(f"{WHERE}.ef_construction", ef_construction, 2 * m, MOST, "at least 2 m; 64 to 400 is usual")
        check_whole(f"{WHERE}.ef_search", ef_search, 1, MOST, "40 to 400 is usual")
        check_whole(f"{WHERE}.runtime.timeout", timeout, 1, hint="seconds to connect")
        check_whole(f"{WHERE}.runtime.build_mb", build_mb, 1, hint="megabytes for the graph while it is built")
        self.graph = None if method == "exact" else {"m": m, "ef_construction": ef_construction}
        self.ef_search, self.timeout, self.build_mb = ef_search, timeout, build_mb
        self.url = checked_url(f"{WHERE}.runtime.url", url, SCHEMES)

    def collection(self, vectors: Vectors) -> "Table":
        """The table of these vectors; ConfigError without a server, and for vectors that are too long for a graph."""
        url = server_url(f"{WHERE}.runtime.url", self.url, VARIABLE, SCHEMES)
        if url is None:
            remedy = f"export {VARIABLE}=postgresql://user:password@host:5432/database"
            raise ConfigError(WHERE, f"names no server, and {VARIABLE} is not set", remedy)
        if self.graph and vectors.shape[1] > WIDEST:
            what = f"takes vectors of at most {WIDEST:,} dimensions, and these have {vectors.shape[1]:,}"
            raise ConfigError(f"{WHERE}.method=hnsw", what, f"{WHERE}.method=exact, or fewer dimensions of the embedder")
        return Table(self, url, name_of(vectors, *(self.graph or {}).values()))


class Table:
    """The vectors of one index in PostgreSQL. Every thread has a connection of its own."""

    def __init__(self, index: PgvectorIndex, url: str, name: str) -> None:
        self.index, self.url, self.name, self.exact = index, url, name, index.graph is None
        self._local = threading.local()

    def fill(self, vectors: Vectors) -> None:
        """Make the table unless it exists. Of two processes one waits for the other."""
        from psycopg import sql

        with self._transaction() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [self.name])
            if cursor.execute("SELECT to_regclass(%s)", [self.name]).fetchone()[0]:
                return
            table, size = sql.Identifier(self.name), sql.Literal(vectors.shape[1])
            create = "CREATE TABLE {} (position int4 PRIMARY KEY, embedding vector({}) NOT NULL)"
            cursor.execute(sql.SQL(create).format(table, size))
            with cursor.copy(sql.SQL("COPY {} FROM STDIN WITH (FORMAT BINARY)").format(table)) as copy:
                copy.set_types(["int4", "vector"])
                for row in enumerate(vectors):
                    copy.write_row(row)
            if self.index.graph:
                # One process: a parallel build reserves all its memory at once, which containers often lack.
                cursor.execute(_SETTING, ["max_parallel_maintenance_workers", "0"])
                cursor.execute(_SETTING, ["maintenance_work_mem", f"{self.index.build_mb}MB"])
                graph = [sql.Literal(value) for value in self.index.graph.values()]
                create = "CREATE INDEX ON {} USING hnsw (embedding vector_ip_ops) WITH (m = {}, ef_construction = {})"
                cursor.execute(sql.SQL(create).format(table, *graph))

    def nearest(self, query: Vectors, most: int, places: Places | None) -> Places:
        """As in Collection. `hnsw.ef_search` is at least `most`; among places every row of them is compared."""
        from psycopg import sql

        given: list[Any] = [query, most]
        # Only the bare distance is an order that the graph has, and it has no other column.
        order, chosen = ("embedding <#> %s", "") if not self.exact else ("(embedding <#> %s) + 0, position", "")
        if places is not None:
            order, chosen = "(embedding <#> %s) + 0, position", "WHERE position = ANY(%s)"
            given = [places.tolist(), *given]
        select = sql.SQL(f"SELECT position FROM {{}} {chosen} ORDER BY {order} LIMIT %s")  # noqa: S608 - constants
        with self._transaction() as cursor:
            if self.index.graph and places is None:
                cursor.execute(_SETTING, ["hnsw.ef_search", str(min(MOST, max(self.index.ef_search, most)))])
                cursor.execute(_SETTING, ["hnsw.iterative_scan", "strict_order"])
            rows = cursor.execute(select.format(sql.Identifier(self.name)), given).fetchall()
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A cursor in a transaction: settings of a search end with it. A broken connection is replaced at the next one."""
        psycopg = _psycopg()
        address = shown(self.url)
        with failing(WHERE, address, RESUME, psycopg.Error):
            if getattr(self._local, "connection", None) is None or self._local.connection.closed:
                self._local.connection = self._connected(psycopg)
            connection = self._local.connection
            with connection.transaction(), connection.cursor() as cursor:
                yield cursor

    def _connected(self, psycopg: Any) -> Any:
        """A new connection to a server with the extension."""
        from pgvector.psycopg import register_vector

        try:
            connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=None, connect_timeout=self.index.timeout)
        except psycopg.ProgrammingError:
            # Its message repeats parts of the URL, which may hold a password.
            raise ConfigError(VARIABLE, "is not a valid URL of PostgreSQL", "postgresql://user:password@host/database") from None
        version = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        row = connection.execute(version).fetchone()
        if row is None:
            # One process at a time: PostgreSQL fails if two create an extension at once.
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('assay', 0))")
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            row = connection.execute(version).fetchone()
        if tuple(map(int, row[0].split(".")[:2])) < NEEDED:
            what = f"{shown(self.url)} has pgvector {row[0]}, and {'.'.join(map(str, NEEDED))} is needed"
            raise ServiceError(WHERE, what, "install a newer one, and run ALTER EXTENSION vector UPDATE")
        register_vector(connection)
        return connection


_SETTING = "SELECT set_config(%s, %s, true)"


def _psycopg() -> Any:
    try:
        import pgvector.psycopg
        import psycopg
    except ModuleNotFoundError as error:
        raise MissingExtraError(WHERE, str(error.name).partition(".")[0], "pgvector") from error
    return psycopg
