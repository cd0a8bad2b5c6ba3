"""Finer stores under the stages: one row of numbers per item (a text's vector, a pair's score).

Values lie in append-only segments, so that many processes can add at once and a killed one loses one block at most. They
are shared by every chunker and every trial. Their key holds the code of this module, which stores them: a mistake in it would
outlive its correction else.
"""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag.config.identity import code_identity, digest
from rag.core.errors import ConfigError
from rag.core.records import Vectors
from rag.core.roles import Embedder, Reranker
from rag.execution.store.store import Entry, Store

BLOCK = 256
"""Items that are computed between two writes."""


def item_id(*parts: str) -> bytes:
    """Sixteen bytes that stand for a sequence of texts; no two sequences run together."""
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little"))
        hashed.update(data)
    return hashed.digest()


Rows = NDArray[np.floating[Any]]


class ItemStore:
    """Rows of numbers by item, all computed by one component, which `space` names."""

    def __init__(self, store: Store, space: str) -> None:
        self.store, self.space = store, space
        self._rows: dict[bytes, Rows] = {}
        self._seen: set[str] = set()

    def _refresh(self) -> None:
        for key in self.store.keys(self.space):
            if key in self._seen:
                continue
            self._seen.add(key)
            entry = self.store.read(key)
            if entry is not None:
                self._keep(entry.arrays["ids"], entry.arrays["values"])

    def _keep(self, ids: NDArray[np.generic], values: Rows) -> None:
        self._rows.update(zip((row.tobytes() for row in ids), values, strict=True))

    def resolve(self, ids: Sequence[bytes], compute: Callable[[list[int]], Rows]) -> Rows:
        """One row per id; `compute` is asked, block by block, for the numbers of the ids that nobody has computed yet.

        What it gives must be one row per number, checked: it is stored as it is.
        """
        if not all(item in self._rows for item in ids):
            self._refresh()
        first = {item: number for number, item in reversed(list(enumerate(ids))) if item not in self._rows}
        missing = sorted(first.values())
        for start in range(0, len(missing), BLOCK):
            numbers = missing[start : start + BLOCK]
            self._add([ids[number] for number in numbers], compute(numbers))
        return np.stack([self._rows[item] for item in ids]) if ids else np.zeros((0, 0), np.float32)

    def _add(self, ids: Sequence[bytes], values: Rows) -> None:
        table = np.frombuffer(b"".join(ids), np.uint8).reshape(len(ids), 16)
        key = f"{self.space}/{hashlib.sha256(table.tobytes()).hexdigest()}"
        self.store.write(key, Entry({"ids": table, "values": values}))
        self._seen.add(key)
        self._keep(table, values)


class StoredEmbedder:
    """An embedder whose vectors are kept by text; whatever else it can do (count tokens, embed them) it does itself."""

    def __init__(self, embedder: Embedder, store: Store, identity: str) -> None:
        self.embedder = embedder
        for name, _ in inspect.getmembers_static(type(embedder), inspect.isfunction):
            # As attributes: from Python 3.12 on, Protocols do not see what __getattr__ would give.
            if not name.startswith("_") and not hasattr(type(self), name):
                setattr(self, name, getattr(embedder, name))
        known = digest(identity, code_identity(__name__))
        self.documents = ItemStore(store, f"vectors/{known}-d")
        self.queries = ItemStore(store, f"vectors/{known}-q")

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does, but each distinct text once."""
        return _vectors(self.documents, self.embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does, but each distinct text once."""
        return _vectors(self.queries, self.embedder.embed_queries, texts)


def _vectors(items: ItemStore, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
    def compute(numbers: list[int]) -> Vectors:
        return whole_rows("embedder", embed([texts[number] for number in numbers]), len(numbers)).astype(np.float32)

    return items.resolve([item_id(text) for text in texts], compute).astype(np.float32, copy=False)


class StoredReranker:
    """A pairwise reranker whose scores are kept by (query, passage)."""

    pairwise: ClassVar[bool] = True

    def __init__(self, reranker: Reranker, store: Store, identity: str) -> None:
        self.reranker = reranker
        self.pairs = ItemStore(store, f"pairs/{digest(identity, code_identity(__name__))}")

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """As the reranker does, but each distinct pair once."""
        pairs = [(query, passage) for query, texts in zip(queries, passages, strict=True) for passage in texts]
        rows = self.pairs.resolve([item_id(*pair) for pair in pairs], lambda numbers: self._compute(pairs, numbers))
        flat = iter(rows[:, 0].tolist() if len(rows) else [])
        return [[next(flat) for _ in texts] for texts in passages]

    def _compute(self, pairs: Sequence[tuple[str, str]], numbers: Sequence[int]) -> Rows:
        grouped: dict[str, list[int]] = {}
        for number in numbers:
            grouped.setdefault(pairs[number][0], []).append(number)
        passages = [[pairs[number][1] for number in group] for group in grouped.values()]
        scored = self.reranker.score(list(grouped), passages, [[0.0] * len(texts) for texts in passages])
        if [len(values) for values in scored] != [len(group) for group in grouped.values()]:
            found = f"gave {sum(map(len, scored))} scores for {len(numbers)} passages"
            raise ConfigError("reranker", found, "return one list per query with one score per passage")
        order = [number for group in grouped.values() for number in group]
        by_number = dict(zip(order, (value for values in scored for value in values), strict=True))
        # As exact as they came: what is measured with stored scores is served without.
        rows = np.array([[by_number[number]] for number in numbers], np.float64)
        return whole_rows("reranker", rows, len(numbers))


Table = TypeVar("Table", bound=Rows)


def whole_rows(role: str, rows: Table, expected: int) -> Table:
    """The rows as they are, or a ConfigError where they are not one finite row per text."""
    if rows.ndim != 2 or len(rows) != expected:
        raise ConfigError(role, f"gave an array of shape {rows.shape} for {expected} texts", "return one row per text")
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ConfigError(role, f"gave NaN or infinity for text {row + 1} of {expected}", "check the model; nothing was stored")
    return rows
