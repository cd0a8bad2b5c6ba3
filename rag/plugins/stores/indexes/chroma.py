"""Approximate search in Chroma, in a folder or on a server."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from rag.core.files import locked
from rag.core.types import Vectors
from rag.plugins.stores.stored_index import Places, StoredIndex, write_missing

KEY = "CHROMA_API_KEY"
FOLDER = ".rag/chroma"
BATCH = 100  # vectors that are searched one by one before they go into the graph
NEEDED = (1,)  # the oldest server with the API of the client


class ChromaIndex(StoredIndex):
    """One collection per index, searched through a graph of near neighbours (hnswlib); Chroma has no exact search.

    Among allowed chunks the graph is searched too, with the list of their ids. `path` is a folder, `url` a server; without
    both it is the server of the variable CHROMA_URL, or the folder `.rag/chroma`. CHROMA_API_KEY is sent as `x-chroma-token`.
    The collection keeps `ef_search`, so its name depends on it. Nothing is reported to the makers of Chroma.
    """

    where: ClassVar[str] = "index.chroma"
    variable: ClassVar[str] = "CHROMA_URL"
    clients: ClassVar[tuple[str, ...]] = ("chromadb", "httpx")
    runtime: ClassVar[tuple[str, ...]] = ("url", "path")

    def __init__(
        self, m: int = 16, ef_construction: int = 100, ef_search: int = 100, url: str | None = None, path: str | None = None
    ) -> None:
        super().__init__(url, "hnsw", m, ef_construction, ef_search)
        self.graph |= {"ef_search": ef_search, "batch_size": BATCH}
        self.engine, self.path = path or FOLDER, path
        self._collections: dict[str, Any] = {}

    @property
    def server(self) -> str | None:
        """As in StoredIndex; None with a folder in the config."""
        return None if self.path else super().server

    @cached_property
    def client(self) -> Any:
        """The client of the folder or of the server; ServiceError for an old server."""
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        if self.server is None:
            return chromadb.PersistentClient(Path(self.engine).absolute(), settings)
        parts, key = urlsplit(self.server), os.environ.get(KEY, "").strip()
        secure, headers = parts.scheme == "https", {"x-chroma-token": key} if key else {}
        client = chromadb.HttpClient(parts.hostname or "", parts.port or (443 if secure else 8000), secure, headers, settings)
        self.require(str(client.get_version()), NEEDED)
        return client

    def fill(self, name: str, vectors: Vectors) -> None:
        """Write what is missing; in a folder one process waits for another."""
        with self.errors():
            client = self.client  # makes the folder
        with self.errors(), nullcontext() if self.server else locked(Path(self.engine) / "assay.lock"):
            graph: dict[str, Any] = {"max_neighbors" if key == "m" else key: value for key, value in self.graph.items()}
            # The graph is written to disk once, when it is complete, and not after every 1,000 vectors: one that is not written
            # is built anew by each process, and finds other neighbours.
            graph |= {"space": "ip", "sync_threshold": max(BATCH, len(vectors))}
            made = client.get_or_create_collection(name, embedding_function=None, configuration={"hnsw": graph})
            self._collections[name] = made
            ids = [str(number) for number in range(len(vectors))]
            write_missing(vectors, made.count, lambda first, last: made.upsert(ids[first:last], vectors[first:last]))

    def nearest(self, name: str, query: Vectors, most: int, places: Places | None) -> Sequence[int]:
        """As in StoredIndex."""
        ids = None if places is None else [str(place) for place in places.tolist()]
        with self.errors():
            found = self._collections[name].query(query_embeddings=[query], n_results=most, ids=ids, include=[])
        return [int(number) for number in found["ids"][0]]
