"""Exact and approximate search in Qdrant, in memory or on a server."""

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from rag.components.indexes.stores import (
    RESUME,
    Places,
    StoredIndex,
    blocks,
    checked_url,
    failing,
    name_of,
    server_url,
    shown,
)
from rag.core.checks import check_choice, check_whole
from rag.core.errors import ConfigError, MissingExtraError, ServiceError
from rag.core.records import Vectors

WHERE = "index.qdrant"
VARIABLE, KEY = "QDRANT_URL", "QDRANT_API_KEY"
SCHEMES = ("http", "https")
NEEDED = (1, 10)
"""The oldest server with the request `query`."""
METHODS = ("exact", "hnsw")


class QdrantIndex(StoredIndex):
    """One collection per index on the server at `url`, or at the variable QDRANT_URL; in memory without both.

    `exact` compares a question with every vector, `hnsw` searches the server's graph (Malkov and Yashunin 2018). Among
    allowed chunks both are exact. The engine in memory has no graph. QDRANT_API_KEY holds the key of the server.
    """

    where: ClassVar[str] = WHERE
    runtime: ClassVar[tuple[str, ...]] = ("url", "timeout")

    def __init__(
        self,
        method: Literal["exact", "hnsw"] = "exact",
        m: int = 16,
        ef_construction: int = 100,
        ef_search: int = 128,
        url: str | None = None,
        timeout: int = 60,
    ) -> None:
        check_choice(f"{WHERE}.method", method, METHODS)
        check_whole(f"{WHERE}.m", m, 2, 1024, "16 to 64 is usual")
        check_whole(f"{WHERE}.ef_construction", ef_construction, 4, hint="64 to 400 is usual")
        check_whole(f"{WHERE}.ef_search", ef_search, 1, hint="64 to 400 is usual")
        check_whole(f"{WHERE}.runtime.timeout", timeout, 1, hint="seconds for one request")
        self.graph = {"m": m, "ef_construct": ef_construction} if method == "hnsw" else None
        self.ef_search, self.timeout = ef_search, timeout
        self.url = checked_url(f"{WHERE}.runtime.url", url, SCHEMES)

    def collection(self, vectors: Vectors) -> "QdrantCollection":
        """The collection of these vectors; ConfigError for a graph without a server."""
        if self.graph and self.server is None:
            remedy = f"export {VARIABLE}=http://127.0.0.1:6333, or {WHERE}.method=exact"
            raise ConfigError(f"{WHERE}.method=hnsw", "needs a server: the engine in memory has no graph", remedy)
        return QdrantCollection(self, name_of(vectors, *(self.graph or {}).values()))

    @cached_property
    def server(self) -> str | None:
        """The URL of the server; None for the engine in memory."""
        return server_url(f"{WHERE}.runtime.url", self.url, VARIABLE, SCHEMES)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of Qdrant as ServiceError."""
        from qdrant_client.http.exceptions import ApiException

        with failing(WHERE, shown(self.server) if self.server else "the engine in memory", RESUME, ApiException, ValueError):
            yield

    @cached_property
    def client(self) -> Any:
        """The client; MissingExtraError without the package, ServiceError for a server that is old or does not answer."""
        try:
            from qdrant_client import QdrantClient
        except ModuleNotFoundError as error:
            raise MissingExtraError(WHERE, str(error.name).partition(".")[0], "qdrant") from error
        if self.server is None:
            return QdrantClient(":memory:")
        with self.errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a key without TLS: the URL says so
            key = os.environ.get(KEY, "").strip() or None
            client = QdrantClient(self.server, api_key=key, timeout=self.timeout, check_compatibility=False)
            version = str(client.info().version)
        if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < NEEDED:
            what = f"{shown(self.server)} has version {version}, and {'.'.join(map(str, NEEDED))} is needed"
            raise ServiceError(WHERE, what, "install a newer one")
        return client


class QdrantCollection:
    """The vectors of one index in Qdrant."""

    def __init__(self, index: QdrantIndex, name: str) -> None:
        self.index, self.name, self.exact = index, name, index.graph is None

    def fill(self, vectors: Vectors) -> None:
        """Write what is missing: vectors are written in their order, so a half-filled collection is continued.

        Two processes that fill one collection write the same vectors. The graph is complete when this returns.
        """
        from qdrant_client import models

        client = self.index.client
        with self.index.errors():
            if not client.collection_exists(self.name):
                size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT)
                graph = models.HnswConfigDiff(**self.index.graph) if self.index.graph else models.HnswConfigDiff(m=0)
                self._create(client, size, graph)
            for start in (self._count(client), 0):
                if self._count(client) < len(vectors):
                    for first, last in blocks(vectors, start):
                        batch = models.Batch(ids=list(range(first, last)), vectors=vectors[first:last].tolist())
                        client.upsert(self.name, batch, wait=True)
            while self.index.graph and client.get_collection(self.name).status == models.CollectionStatus.YELLOW:
                time.sleep(0.1)

    def _create(self, client: Any, size: Any, graph: Any) -> None:
        from qdrant_client.http.exceptions import UnexpectedResponse

        try:
            client.create_collection(self.name, vectors_config=size, hnsw_config=graph)
        except UnexpectedResponse:
            # Another process was faster.
            if not client.collection_exists(self.name):
                raise

    def _count(self, client: Any) -> int:
        return int(client.count(self.name, exact=True).count)

    def nearest(self, query: Vectors, most: int, places: Places | None) -> Places:
        """As in Collection."""
        from qdrant_client import models

        among = None if places is None else models.Filter(must=[models.HasIdCondition(has_id=places.tolist())])
        params = models.SearchParams(exact=self.exact or places is not None, hnsw_ef=max(self.index.ef_search, most))
        if self.index.server is None:
            params = None  # the engine in memory warns that it needs none
        with self.index.errors():
            found = self.index.client.query_points(
                self.name, query.tolist(), query_filter=among, search_params=params, limit=most, with_payload=False
            )
        return np.array([point.id for point in found.points], np.int64)
