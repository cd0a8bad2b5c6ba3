"""Approximate search in Chroma, in a folder or on a server."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from rag.components.indexes.stores import Places, StoredIndex, write_missing
from rag.core.errors import ConfigError
from rag.core.files import locked
from rag.core.records import Vectors

WHERE = "index.chroma"
KEY = "CHROMA_API_KEY"
FOLDER = ".rag/chroma"
NEEDED = (1,)
"""The oldest server with the API of the client."""
SYNCED = 1_000
"""Chroma writes its graph to disk after so many new vectors by default; a larger one is written once, when it is complete."""


class ChromaIndex(StoredIndex):
    """One collection per index, searched through a graph of near neighbours (hnswlib); Chroma has no exact search.

    Among allowed chunks the graph is searched too, with the list of their ids. `url` is a server, `path` a folder; without
    both it is the server of the variable CHROMA_URL, or the folder `.rag/chroma`. CHROMA_API_KEY is sent as `x-chroma-token`.
    The collection keeps `ef_search`, so its name depends on it. Nothing is reported to the makers of Chroma.
    """

    where: ClassVar[str] = WHERE
    variable: ClassVar[str] = "CHROMA_URL"
    runtime: ClassVar[tuple[str, ...]] = ("url", "path")

    def __init__(
        self, m: int = 16, ef_construction: int = 100, ef_search: int = 100, url: str | None = None, path: str | None = None
    ) -> None:
        super().__init__(url, "hnsw", m, ef_construction, ef_search)
        if url and path:
            raise ConfigError(f"{WHERE}.runtime", "has both url and path", "leave one of them out")
        self.graph["ef_search"] = ef_search
        self.path = path
        self._collections: dict[str, Any] = {}

    @cached_property
    def folder(self) -> Path | None:
        """The folder of the engine in this process; None with a server."""
        return Path(self.path) if self.path else None if self.server else Path(FOLDER)

    @property
    def address(self) -> str:
        """The folder or the server, for messages."""
        return str(self.folder) if self.folder else super().address

    def _errors(self) -> AbstractContextManager[None]:
        try:
            import httpx
            from chromadb.errors import ChromaError
        except ModuleNotFoundError as error:
            raise self.missing(error) from error
        # The client raises ValueError for a server that it cannot reach.
        return self.errors(ChromaError, httpx.HTTPError, ValueError, OSError)

    @cached_property
    def client(self) -> Any:
        """The client of the folder or of the server; ServiceError for an old server."""
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        if self.folder:
            return chromadb.PersistentClient(self.folder.absolute(), settings)
        parts, key = urlsplit(self.server or ""), os.environ.get(KEY, "").strip()
        secure, headers = parts.scheme == "https", {"x-chroma-token": key} if key else {}
        client = chromadb.HttpClient(parts.hostname or "", parts.port or (443 if secure else 8000), secure, headers, settings)
        self.require(str(client.get_version()), NEEDED)
        return client

    def fill(self, name: str, vectors: Vectors) -> None:
        """Write what is missing; in a folder one process waits for another."""
        with self._errors(), locked(self._lock()) if self.folder else nullcontext():
            names = {"m": "max_neighbors"}
            graph: dict[str, Any] = {names.get(key, key): value for key, value in self.graph.items()}
            graph |= {"space": "ip", "sync_threshold": max(SYNCED, len(vectors))}
            made = self.client.get_or_create_collection(name, embedding_function=None, configuration={"hnsw": graph})
            self._collections[name] = made
            ids = [str(number) for number in range(len(vectors))]
            write_missing(vectors, made.count, lambda first, last: made.upsert(ids[first:last], vectors[first:last]))

    def _lock(self) -> Path:
        folder = self.folder or Path()
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "assay.lock"

    def nearest(self, name: str, query: Vectors, most: int, places: Places | None) -> Sequence[int]:
        """As in StoredIndex."""
        ids = None if places is None else [str(place) for place in places.tolist()]
        with self._errors():
            found = self._collections[name].query(query_embeddings=[query], n_results=most, ids=ids, include=[])
        return [int(number) for number in found["ids"][0]]
