"""Approximate search in Chroma, in a folder or on a server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

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
from rag.core.checks import check_whole
from rag.core.errors import ConfigError, MissingExtraError, ServiceError
from rag.core.files import locked
from rag.core.records import Vectors

WHERE = "index.chroma"
VARIABLE, KEY = "CHROMA_URL", "CHROMA_API_KEY"
SCHEMES = ("http", "https")
FOLDER = ".rag/chroma"
OLDEST = 1
"""The oldest major version of a server with the API of the client."""
SYNCED = 1_000
"""Chroma writes the whole graph to disk after so many new vectors by default; here it is written once, at the end."""


class ChromaIndex(StoredIndex):
    """One collection per index, searched through a graph of near neighbours (hnswlib); Chroma has no exact search.

    Among allowed chunks the graph is searched too; Chroma gets the list of their ids. It is a server at `url`, or a folder at
    `path`; without both, a server at the variable CHROMA_URL, or the folder `.rag/chroma`. CHROMA_API_KEY is sent as
    `x-chroma-token`. Nothing is reported to the makers of Chroma.
    """

    where: ClassVar[str] = WHERE
    runtime: ClassVar[tuple[str, ...]] = ("url", "path")

    def __init__(
        self,
        m: int = 16,
        ef_construction: int = 100,
        ef_search: int = 100,
        url: str | None = None,
        path: str | None = None,
    ) -> None:
        check_whole(f"{WHERE}.m", m, 2, 1024, "16 to 64 is usual")
        check_whole(f"{WHERE}.ef_construction", ef_construction, 1, hint="64 to 400 is usual")
        check_whole(f"{WHERE}.ef_search", ef_search, 1, hint="64 to 400 is usual")
        if url and path:
            raise ConfigError(f"{WHERE}.runtime", "has both url and path", "leave one of them out")
        self.graph = {"max_neighbors": m, "ef_construction": ef_construction, "ef_search": ef_search}
        self.url, self.path = checked_url(f"{WHERE}.runtime.url", url, SCHEMES), path

    def collection(self, vectors: Vectors) -> "ChromaCollection":
        """The collection of these vectors. Chroma keeps `ef_search` with the collection, so its name depends on that too."""
        return ChromaCollection(self, name_of(vectors, *self.graph.values()))

    @cached_property
    def server(self) -> str | None:
        """The URL of the server; None for the engine in a folder."""
        return None if self.path else server_url(f"{WHERE}.runtime.url", self.url, VARIABLE, SCHEMES)

    @property
    def address(self) -> str:
        """The server or the folder, for messages."""
        return shown(self.server) if self.server else self.path or FOLDER

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of Chroma as ServiceError."""
        import httpx
        from chromadb.errors import ChromaError

        # The client raises ValueError for a server that it cannot reach.
        with failing(WHERE, self.address, RESUME, ChromaError, httpx.HTTPError, ValueError, OSError):
            yield

    @cached_property
    def client(self) -> Any:
        """The client of the server or of the folder; MissingExtraError without the package, ServiceError for an old server."""
        try:
            import chromadb
            from chromadb.config import Settings
        except ModuleNotFoundError as error:
            raise MissingExtraError(WHERE, str(error.name).partition(".")[0], "chroma") from error
        settings = Settings(anonymized_telemetry=False)
        with self.errors():
            if self.server is None:
                return chromadb.PersistentClient(self.address, settings)
            parts, key = urlsplit(self.server), os.environ.get(KEY, "").strip()
            secure, headers = parts.scheme == "https", {"x-chroma-token": key} if key else {}
            port = parts.port or (443 if secure else 8000)
            client = chromadb.HttpClient(parts.hostname or "", port, secure, headers, settings)
            version = str(client.get_version())
        if not version.partition(".")[0].isdecimal() or int(version.partition(".")[0]) < OLDEST:
            raise ServiceError(WHERE, f"{self.address} has version {version}, and {OLDEST}.0 is needed", "install a newer one")
        return client


class ChromaCollection:
    """The vectors of one index in Chroma."""

    exact = False

    def __init__(self, index: ChromaIndex, name: str) -> None:
        self.index, self.name = index, name
        self.made: Any = None

    def fill(self, vectors: Vectors) -> None:
        """Write what is missing: vectors are written in their order, so a half-filled collection is continued.

        Two processes that fill one collection write the same vectors; in a folder, one waits for the other.
        """
        client = self.index.client
        with self.index.errors():
            if self.index.server is None:
                with locked(Path(self.index.address) / "assay.lock"):
                    self._fill(client, vectors)
            else:
                self._fill(client, vectors)

    def _fill(self, client: Any, vectors: Vectors) -> None:
        graph = {"space": "ip", **self.index.graph, "sync_threshold": max(SYNCED, len(vectors))}
        self.made = client.get_or_create_collection(self.name, embedding_function=None, configuration={"hnsw": graph})
        for start in (self.made.count(), 0):
            if self.made.count() < len(vectors):
                for first, last in blocks(vectors, start):
                    self.made.upsert([str(number) for number in range(first, last)], vectors[first:last])

    def nearest(self, query: Vectors, most: int, places: Places | None) -> Places:
        """As in Collection."""
        ids = None if places is None else [str(place) for place in places.tolist()]
        with self.index.errors():
            found = self.made.query(query_embeddings=[query], n_results=most, ids=ids, include=["distances"])
        return np.array([int(number) for number in found["ids"][0]], np.int64)
