"""Exact and approximate search in Qdrant, in memory or on a server."""

import os
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, Literal

from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.types import Vectors
from rag.plugins.stores.stored_index import Places, StoredIndex, write_missing

KEY = "QDRANT_API_KEY"
NEEDED = (1, 10)  # the oldest server with the request `query`


class QdrantIndex(StoredIndex):
    """One collection per index on the server at `url`, or of the variable QDRANT_URL; in memory without both.

    `exact` compares a question with every vector, `hnsw` searches the server's graph (Malkov and Yashunin 2018). Among
    allowed chunks both are exact. The engine in memory has no graph. QDRANT_API_KEY holds the key of the server.
    """

    where: ClassVar[str] = "index.qdrant"
    variable: ClassVar[str] = "QDRANT_URL"
    clients: ClassVar[tuple[str, ...]] = ("qdrant_client",)
    engine = "the engine in memory"
    runtime: ClassVar[tuple[str, ...]] = ("url", "timeout")

    def __init__(
        self, method: Literal["exact", "hnsw"] = "exact", m: int = 16, ef_construction: int = 100, ef_search: int = 128,
        url: str | None = None, timeout: int = 60,
    ) -> None:  # fmt: skip
        super().__init__(url, method, m, ef_construction, ef_search)
        check_whole(f"{self.where}.runtime.timeout", timeout, 1, hint="seconds for one request")
        self.timeout = timeout

    @cached_property
    def client(self) -> Any:
        """The client; ServiceError for a server that is old or does not answer."""
        from qdrant_client import QdrantClient

        if self.server is None:
            return QdrantClient(":memory:")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a key without TLS: the URL says so
            key = os.environ.get(KEY, "").strip() or None
            client = QdrantClient(self.server, api_key=key, timeout=self.timeout, check_compatibility=False)
        self.require(str(client.info().version), NEEDED)
        return client

    def fill(self, name: str, vectors: Vectors) -> None:
        """Write what is missing; the graph is complete when this returns. ConfigError for a graph without a server."""
        if self.graph and self.server is None:
            remedy = f"export {self.variable}=http://127.0.0.1:6333, or {self.where}.method=exact"
            raise ConfigError(f"{self.where}.method=hnsw", "needs a server: the engine in memory has no graph", remedy)
        with self.errors():
            from qdrant_client import models
            from qdrant_client.http.exceptions import UnexpectedResponse

            if not self.client.collection_exists(name):
                size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT)
                graph = models.HnswConfigDiff(m=self.graph.get("m", 0), ef_construct=self.graph.get("ef_construction"))
                with suppress(UnexpectedResponse):  # another process was faster; any other fault shows at once
                    self.client.create_collection(name, size, hnsw_config=graph)

            def write(first: int, last: int) -> None:
                batch = models.Batch(ids=list(range(first, last)), vectors=vectors[first:last].tolist())
                self.client.upsert(name, batch, wait=True)

            write_missing(vectors, lambda: int(self.client.count(name, exact=True).count), write)
            while self.graph and self.client.get_collection(name).status == models.CollectionStatus.YELLOW:
                time.sleep(0.1)

    def nearest(self, name: str, query: Vectors, most: int, places: Places | None) -> Sequence[int]:
        """As in StoredIndex. The engine in memory reads a list of ids once per vector: there all `places` are proposed."""
        if self.server is None and places is not None:
            return list(places)
        with self.errors():
            from qdrant_client import models

            among = None if places is None else models.Filter(must=[models.HasIdCondition(has_id=places.tolist())])
            params = models.SearchParams(exact=self.exact or places is not None, hnsw_ef=max(self.ef_search, most))
            known = {"search_params": params} if self.server else {}  # the engine in memory warns that it needs none
            found = self.client.query_points(name, query.tolist(), query_filter=among, limit=most, with_payload=False, **known)
        return [int(point.id) for point in found.points]
