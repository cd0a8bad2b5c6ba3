"""Vector stores for tests: PostgreSQL, and the engines of Chroma and Qdrant in this process."""

from collections.abc import Iterator

import pytest
from support.databases import Postgres, postgres

SERVERS = ("PGVECTOR_URL", "CHROMA_URL", "QDRANT_URL", "CHROMA_API_KEY", "QDRANT_API_KEY")


@pytest.fixture(scope="session")
def pg() -> Iterator[Postgres]:
    """A PostgreSQL server with pgvector."""
    with postgres() as server:
        yield server


@pytest.fixture(scope="module")
def vector_stores(pg: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A place for every choice of conf/index: a new database, a new folder, and memory."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SERVERS:
            patch.delenv(name, raising=False)
        patch.setenv("PGVECTOR_URL", pg.fresh())
        patch.chdir(tmp_path_factory.mktemp("stores"))
        yield
