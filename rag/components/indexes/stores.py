"""The parts of every index in a vector store: the store proposes chunks, and inner products in float64 rank them."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rag.components.indexes.array_checks import vectors_of
from rag.components.indexes.vectors import MARGIN, SPARE, FlatSearcher, required_vectors
from rag.core.errors import ConfigError, ServiceError, UserError
from rag.core.rankings import Rankings
from rag.core.records import Allowed, Arrays, Vectors

PREFIX = "assay_"
"""The beginning of the name of every collection and table that Assay makes in a store."""
BLOCK = 1 << 18
"""The most numbers in one request that adds vectors: about 5 MB of JSON."""
RESUME = "start the server, or correct its address; then run the command again: finished stages are kept"

Places = NDArray[np.int64]


class Collection(Protocol):
    """The vectors of one index in a store; the id of a vector is the position of its chunk.

    `exact`: a search compares the question with every vector. A search among some `places` is exact where the engine can.
    """

    name: str
    exact: bool

    def fill(self, vectors: Vectors) -> None:
        """Make the collection, or complete it; nothing happens if it is complete. UserError if the store cannot do it."""
        ...

    def nearest(self, query: Vectors, most: int, places: Places | None) -> Places:
        """Up to `most` positions with the largest inner products, in any order, of all or of `places`."""
        ...


class StoredIndex:
    """An index whose vectors are in a vector store. Its arrays hold them too, so a store that lost them is filled again."""

    uses_vectors: ClassVar[bool] = True
    where: ClassVar[str]

    def collection(self, vectors: Vectors) -> Collection:
        """The collection of these vectors, which may not exist yet."""
        raise NotImplementedError

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Write the vectors, shape (chunks, dimensions), into the store, and keep them; `texts` are not read."""
        arrays = {"vectors": required_vectors(vectors)}
        self.open(arrays)
        return arrays

    def open(self, arrays: Arrays) -> "StoredSearcher":
        """Make built arrays searchable; DataError for arrays that are not a valid index, UserError without a usable store."""
        vectors = vectors_of(arrays, self.where)
        if not len(vectors):
            return StoredSearcher(vectors, self.where)
        collection = self.collection(vectors)
        collection.fill(vectors)
        return StoredSearcher(vectors, self.where, collection)


class StoredSearcher(FlatSearcher):
    """Ranks the chunks that a store proposes; `collection` is None if there are no chunks."""

    def __init__(self, vectors: Vectors, where: str, collection: Collection | None = None) -> None:
        super().__init__(vectors)
        self.where, self.collection = where, collection

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank by inner product with `vectors`, shape (questions, dimensions); the store searches in `allowed` alone."""
        if allowed is None:
            return super().search(texts, vectors, depth)
        queries, places = required_vectors(vectors, self.vectors.shape[1] if self.size else None), np.flatnonzero(allowed)
        width = min(depth, len(places))
        if not width or self.collection is None:
            return Rankings.pack([()] * len(queries), width)
        found = (self._found(self.collection, query, width, places) for query in queries)
        return Rankings.pack([self._ranked(*pair, width) for pair in zip(queries, found, strict=True)], width)

    def _candidates(self, queries: Vectors, width: int) -> Iterable[Places]:
        return (self._found(self.collection, query, width, None) for query in queries if self.collection)

    def _found(self, collection: Collection, query: Vectors, width: int, places: Places | None) -> Places:
        """The positions that may be among the best `width`; more are fetched while the last ones may tie with the edge."""
        size = self.size if places is None else len(places)
        fetched = min(width + SPARE, size)
        while True:
            found = collection.nearest(query, fetched, places)
            complete = len(np.unique(found)) == fetched
            if (found >= self.size).any() or (collection.exact and not complete):
                what = f"{collection.name} holds other chunks than were written: found {len(found):,} of {fetched:,}"
                raise ServiceError(self.where, what, "drop it in the store, and run the command again: it is filled again")
            scores = np.sort(self.vectors[found] @ query)[::-1]
            if fetched == size or not collection.exact or scores[-1] < scores[width - 1] - MARGIN:
                return found
            fetched = min(4 * fetched, size)


def name_of(vectors: Vectors, *parameters: object) -> str:
    """The name of a collection by its content: equal for equal vectors and parameters, so that nothing else can share it."""
    total = hashlib.sha256(repr((vectors.shape, *parameters)).encode())
    total.update(np.ascontiguousarray(vectors, dtype="<f4").data)
    return f"{PREFIX}{total.hexdigest()[:40]}"


def blocks(vectors: Vectors, start: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, from `start`, with at most BLOCK numbers each."""
    rows = max(1, BLOCK // vectors.shape[1])
    yield from ((first, min(first + rows, len(vectors))) for first in range(start, len(vectors), rows))


def checked_url(where: str, url: str | None, schemes: tuple[str, ...]) -> str | None:
    """The URL of a config; ConfigError for another scheme, and for one with a password: configs are stored and shown."""
    if url is not None and (parts := _parts(where, url, schemes)) and (parts.password or parts.query):
        raise ConfigError(where, "may hold a password", "set the whole URL in the environment, and leave it out of the config")
    return url


def server_url(where: str, url: str | None, variable: str, schemes: tuple[str, ...]) -> str | None:
    """The URL of a config, or else of an environment variable; None without either."""
    found = url or os.environ.get(variable, "").strip() or None
    if found is not None:
        _parts(where if url else variable, found, schemes)
    return found


def _parts(where: str, url: str, schemes: tuple[str, ...]) -> Any:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in schemes and (parts.hostname or parts.query) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(where, "is not the URL of a server", f"write it like {schemes[0]}://host:port")
    return parts


def shown(url: str) -> str:
    """A URL without user, password and parameters, for messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def failing(where: str, address: str, remedy: str, *kinds: type[Exception]) -> Iterator[None]:
    """Raise the errors of a client, of these kinds, as ServiceError with the first line of their message."""
    try:
        yield
    except UserError:
        raise
    except kinds as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise ServiceError(where, f"{address} fails: {message}", remedy) from error
