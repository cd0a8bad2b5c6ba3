"""Exact and approximate search in PostgreSQL, with the extension pgvector."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.types import Vectors
from rag.plugins.stores.stored_index import Places, StoredIndex

NEEDED = (0, 8)  # the oldest extension that continues a search in the graph beyond `hnsw.ef_search`
WIDEST = 2_000  # dimensions of an hnsw index
SETTING = "SELECT set_config(%s, %s, true)"  # until the end of the transaction
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
VERSION = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
BY_GRAPH = "SELECT position FROM {} ORDER BY embedding <#> %s LIMIT %s"
"""Only the bare distance is an order that the graph has: the others never use it."""
ALL = "SELECT position FROM {} ORDER BY (embedding <#> %s) + 0, position LIMIT %s"
AMONG = "SELECT position FROM {} WHERE position = ANY(%s) ORDER BY (embedding <#> %s) + 0, position LIMIT %s"


class PgvectorIndex(StoredIndex):
    """One table per index. It appears with its rows and its graph in one transaction: another process never sees half of it.

    `exact` compares a question with every row. `hnsw` searches a graph (Malkov and Yashunin 2018); its layers are drawn by
    chance, so two servers may propose different chunks. Among allowed chunks both are exact. The URL is that of the config,
    or of the variable PGVECTOR_URL.
    """

    where: ClassVar[str] = "index.pgvector"
    variable: ClassVar[str] = "PGVECTOR_URL"
    clients: ClassVar[tuple[str, ...]] = ("pgvector", "psycopg")
    schemes: ClassVar[tuple[str, ...]] = ("postgresql", "postgres")
    most: ClassVar[int] = 1_000
    runtime: ClassVar[tuple[str, ...]] = ("url", "timeout", "build_mb")

    def __init__(
        self, method: Literal["exact", "hnsw"] = "exact", m: int = 16, ef_construction: int = 64, ef_search: int = 64,
        url: str | None = None, timeout: int = 10, build_mb: int = 512,
    ) -> None:  # fmt: skip
        super().__init__(url, method, m, ef_construction, ef_search)
        check_whole(f"{self.where}.runtime.timeout", timeout, 1, hint="seconds to connect")
        check_whole(f"{self.where}.runtime.build_mb", build_mb, 1, hint="megabytes for the graph while it is built")
        self.timeout, self.build_mb = timeout, build_mb
        self._local = threading.local()

    def fill(self, name: str, vectors: Vectors) -> None:
        """Make the table unless it exists; of two processes one waits. ConfigError for vectors too long for a graph."""
        if self.graph and vectors.shape[1] > WIDEST:
            what = f"takes vectors of at most {WIDEST:,} dimensions, and these have {vectors.shape[1]:,}"
            raise ConfigError(
                f"{self.where}.method=hnsw", what, f"{self.where}.method=exact, or fewer dimensions of the embedder"
            )
        with self._transaction() as (cursor, sql):
            cursor.execute(LOCK, [name])
            if cursor.execute("SELECT to_regclass(%s)", [name]).fetchone()[0]:
                return
            table, size = sql.Identifier(name), sql.Literal(vectors.shape[1])
            create = "CREATE TABLE {} (position int4 PRIMARY KEY, embedding vector({}) NOT NULL)"
            cursor.execute(sql.SQL(create).format(table, size))
            with cursor.copy(sql.SQL("COPY {} FROM STDIN WITH (FORMAT BINARY)").format(table)) as copy:
                copy.set_types(["int4", "vector"])
                for row in enumerate(vectors):
                    copy.write_row(row)
            if self.graph:
                # One process: a parallel build reserves all its memory at once, which containers often lack.
                cursor.execute(SETTING, ["max_parallel_maintenance_workers", "0"])
                cursor.execute(SETTING, ["maintenance_work_mem", f"{self.build_mb}MB"])
                create = "CREATE INDEX ON {} USING hnsw (embedding vector_ip_ops) WITH (m = {}, ef_construction = {})"
                cursor.execute(sql.SQL(create).format(table, *map(sql.Literal, self.graph.values())))

    def nearest(self, name: str, query: Vectors, most: int, places: Places | None) -> Sequence[int]:
        """As in StoredIndex. `hnsw.ef_search` is at least `most`; among places every row of them is compared."""
        by_graph = places is None and not self.exact
        select, given = (BY_GRAPH if by_graph else ALL, []) if places is None else (AMONG, [places.tolist()])
        with self._transaction() as (cursor, sql):
            if by_graph:
                cursor.execute(SETTING, ["hnsw.ef_search", str(min(self.most, max(self.ef_search, most)))])
                cursor.execute(SETTING, ["hnsw.iterative_scan", "strict_order"])
            rows = cursor.execute(sql.SQL(select).format(sql.Identifier(name)), [*given, query, most]).fetchall()
        return [row[0] for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Any, Any]]:
        """A cursor in a transaction, and psycopg.sql. Every thread has a connection; a broken one is replaced."""
        with self.errors():
            import psycopg
            from psycopg import sql

            if getattr(self._local, "connection", None) is None or self._local.connection.closed:
                self._local.connection = self._connected(psycopg)
            connection = self._local.connection
            with connection.transaction(), connection.cursor() as cursor:
                yield cursor, sql

    def _connected(self, psycopg: Any) -> Any:
        """A connection to a server with the extension; ConfigError without a server, ServiceError for an old extension."""
        from pgvector.psycopg import register_vector

        example = "postgresql://user:password@host:5432/database"
        if self.server is None:
            raise ConfigError(self.where, "names no server", f"export {self.variable}={example}")
        try:
            connection = psycopg.connect(self.server, autocommit=True, prepare_threshold=None, connect_timeout=self.timeout)
        except psycopg.ProgrammingError:
            # Its message repeats parts of the URL, which may hold a password.
            raise ConfigError(self.variable, "is not a valid URL of PostgreSQL", f"write it like {example}") from None
        if connection.execute(VERSION).fetchone() is None:
            # One process at a time: PostgreSQL fails if two create an extension at once.
            with connection.transaction():
                connection.execute(LOCK, ["assay"])
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.require(connection.execute(VERSION).fetchone()[0], NEEDED, "install pgvector 0.8; ALTER EXTENSION vector UPDATE")
        register_vector(connection)
        return connection
