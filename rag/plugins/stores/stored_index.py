"""The parts of every index in a vector store: the store proposes chunks, and inner products in float64 rank them."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from rag.components.indexes.array_checks import vectors_of
from rag.components.indexes.vectors import MARGIN, SPARE, FlatSearcher, required_vectors
from rag.core.checks import check_choice, check_whole
from rag.core.errors import ConfigError, MissingExtraError, ServiceError, UserError
from rag.core.rankings import Rankings
from rag.core.types import Allowed, Arrays, Vectors

PREFIX = "assay_"  # of the name of every collection and table that Assay makes in a store
BLOCK = 1 << 18  # the most numbers in one request that adds vectors: about 5 MB of JSON

Places = NDArray[np.int64]


class StoredIndex:
    """An index whose vectors are in a vector store. Its arrays hold them too, so a store that lost them is filled again.

    A collection is named by its vectors and its `graph`, the parameters with which it is built; `exact`: a search compares the
    question with every vector. The id of a vector is the position of its chunk. `url` is the server of the config, which may
    hold no password; without one it is that of the environment variable `variable`. `clients` are the packages of its client;
    the first one is that of the extra.
    """

    uses_vectors: ClassVar[bool] = True
    where: ClassVar[str]
    variable: ClassVar[str]
    clients: ClassVar[tuple[str, ...]]
    engine: str = ""
    schemes: ClassVar[tuple[str, ...]] = ("http", "https")
    most: ClassVar[int] = 10_000

    def __init__(self, url: str | None, method: str, m: int, ef_construction: int, ef_search: int) -> None:
        check_choice(f"{self.where}.method", method, ("exact", "hnsw"))
        check_whole(f"{self.where}.m", m, 2, 100, "16 to 64 is usual")
        check_whole(f"{self.where}.ef_construction", ef_construction, 2 * m, self.most, "at least 2 m; 64 to 400 is usual")
        check_whole(f"{self.where}.ef_search", ef_search, 1, self.most, "40 to 400 is usual")
        place = f"{self.where}.runtime.url"
        if url and ((parts := self._parts(place, url)).password or parts.query):
            raise ConfigError(place, "may hold a password, and configs are stored", f"set the URL in {self.variable} instead")
        self.url, self.exact, self.ef_search = url, method == "exact", ef_search
        self.graph = {} if self.exact else {"m": m, "ef_construction": ef_construction}

    @property
    def server(self) -> str | None:
        """The URL of the server; None without one. ConfigError for a variable that holds something else."""
        found = self.url or os.environ.get(self.variable, "").strip() or None
        if found:
            self._parts(self.variable, found)
        return found

    @property
    def address(self) -> str:
        """The server without user, password and parameters, or the `engine` in this process; for messages."""
        parts = urlsplit(self.server or "")
        return self.engine if self.server is None else f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def _parts(self, place: str, url: str) -> SplitResult:
        try:
            parts = urlsplit(url)
            valid = parts.scheme in self.schemes and (parts.hostname or parts.query) and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ConfigError(place, "is not the URL of a server", f"write it like {self.schemes[0]}://host:port")
        return parts

    def fill(self, name: str, vectors: Vectors) -> None:
        """Make a collection, or complete it; UserError if the store cannot do it."""
        raise NotImplementedError

    def nearest(self, name: str, query: Vectors, most: int, places: Places | None) -> Sequence[int]:
        """The positions of the `most` largest inner products, of all or of `places`, in any order; others may be among them."""
        raise NotImplementedError

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Write the vectors, shape (chunks, dimensions), into the store, and keep them; `texts` are not read."""
        arrays = {"vectors": required_vectors(vectors)}
        self.open(arrays)
        return arrays

    def open(self, arrays: Arrays) -> "StoredSearcher":
        """Make built arrays searchable; DataError for arrays that are not a valid index, UserError without a usable store."""
        searcher = StoredSearcher(vectors_of(arrays, self.where), self)
        if searcher.size:
            self.fill(searcher.name, searcher.vectors)
        return searcher

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of the client as ServiceError with the first line of their message; MissingExtraError without it."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            package = (getattr(error, "name", None) if isinstance(error, ImportError) else type(error).__module__) or ""
            if package.partition(".")[0] not in self.clients and not isinstance(error, OSError | ValueError):
                raise
            if isinstance(error, ModuleNotFoundError):
                raise MissingExtraError(self.where, self.clients[0]) from error
            message = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
            remedy = "start the server, or correct its address; then run the command again: finished stages are kept"
            raise ServiceError(self.where, f"{self.address} fails: {message}", remedy) from error

    def require(self, version: str, needed: tuple[int, ...], remedy: str = "install a newer one") -> None:
        """ServiceError for a server that is older than needed."""
        if tuple(int(part) for part in version.split(".")[: len(needed)] if part.isdecimal()) < needed:
            what = f"{self.address} has version {version or 'unknown'}, and {'.'.join(map(str, needed))} is needed"
            raise ServiceError(self.where, what, remedy)


class StoredSearcher(FlatSearcher):
    """Ranks the chunks that a store proposes."""

    def __init__(self, vectors: Vectors, index: StoredIndex) -> None:
        super().__init__(vectors)
        self.index = index
        content = hashlib.sha256(repr((vectors.shape, *sorted(index.graph.items()))).encode())
        content.update(np.ascontiguousarray(vectors, dtype="<f4").data)
        self.name = f"{PREFIX}{content.hexdigest()[:40]}"

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank by inner product with `vectors`, shape (questions, dimensions); the store searches in `allowed` alone."""
        if allowed is None:
            return super().search(texts, vectors, depth)
        queries, places = required_vectors(vectors, self.vectors.shape[1] if self.size else None), np.flatnonzero(allowed)
        width = min(depth, len(places))
        rows = [self._ranked(query, self._found(query, width, places), width) if width else [] for query in queries]
        return Rankings.pack(rows, width)

    def _candidates(self, queries: Vectors, width: int) -> Iterable[Places]:
        return (self._found(query, width, None) for query in queries)

    def _found(self, query: Vectors, width: int, places: Places | None) -> Places:
        """The positions that may be among the best `width`; more are fetched while the last ones may tie with the edge."""
        size = self.size if places is None else len(places)
        fetched = min(width + SPARE, size)
        while True:
            found = np.array(self.index.nearest(self.name, query, fetched, places), np.int64)
            if (found >= self.size).any() or (self.index.exact and len(np.unique(found)) < fetched):
                what = f"{self.name} holds other chunks than were written: found {len(found):,} of {fetched:,}"
                raise ServiceError(
                    self.index.where, what, "drop it in the store, and run the command again: it is filled again"
                )
            scores = np.sort(self.vectors[found] @ query)[::-1]
            if fetched == size or not self.index.exact or scores[-1] < scores[width - 1] - MARGIN:
                return found
            fetched = min(4 * fetched, size)


def write_missing(vectors: Vectors, count: Callable[[], int], write: Callable[[int, int], object]) -> None:
    """Write the rows that a collection lacks, in their order: one that a killed process left half-filled is continued.

    Processes that fill one collection at once write the same rows.
    """
    rows = max(1, BLOCK // vectors.shape[1])
    for start in (count(), 0):
        if count() < len(vectors):
            for first in range(start, len(vectors), rows):
                write(first, min(first + rows, len(vectors)))
