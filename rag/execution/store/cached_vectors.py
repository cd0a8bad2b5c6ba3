"""Vectors by text and scores by pair: values below the stages, which all chunkers and trials share.

The key of a space holds the code of this module: a corrected mistake must not leave wrong values behind.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag.config.identity import code_identity, digest
from rag.core.errors import ConfigError
from rag.core.progress import blocks
from rag.core.roles import Embedder, Reranker
from rag.core.types import Vectors
from rag.execution.store.store import Entry, Store

BLOCK = 256
"""Items that are computed between two writes of an entry."""


def item_id(*parts: str) -> bytes:
    """The name of a sequence of texts, 16 bytes; where one text ends and the next begins counts."""
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little"))
        hashed.update(data)
    return hashed.digest()


Rows = NDArray[np.floating[Any]]
Value = TypeVar("Value")


class Segments(Generic[Value]):
    """Values by item, all computed by one component, which `space` names.

    They lie in append-only entries, so that processes can add at the same time, and a killed one loses at most one `block`.
    """

    block = BLOCK

    def __init__(self, store: Store, space: str) -> None:
        self.store, self.space = store, space
        self._known: dict[bytes, Value] = {}
        self._seen: set[str] = set()

    def encode(self, values: Mapping[bytes, Value]) -> Entry:
        """Values by item as an entry of the store."""
        raise NotImplementedError

    def decode(self, entry: Entry) -> Mapping[bytes, Value]:
        """The values that `encode` was given."""
        raise NotImplementedError

    def values(self, ids: Sequence[bytes], compute: Callable[[Sequence[int]], Iterable[tuple[Value, bool]]]) -> list[Value]:
        """One value per id. `compute` gets, block by block, the places of ids without a stored value.

        It gives one value per place, and whether that is to be stored.
        """
        if not self._known.keys() >= set(ids):
            for key in self.store.keys(self.space):
                if key not in self._seen and (entry := self.store.read(key)):
                    self._known.update(self.decode(entry))
                self._seen.add(key)
        first = {item: number for number, item in reversed(list(enumerate(ids))) if item not in self._known}
        missing, failed = sorted(first.values()), dict[bytes, Value]()
        for numbers in blocks(missing, self.space.partition("/")[0], self.block):
            computed = dict(zip((ids[number] for number in numbers), compute(numbers), strict=True))
            self._add({item: value for item, (value, is_good) in computed.items() if is_good})
            failed |= {item: value for item, (value, is_good) in computed.items() if not is_good}
        return [failed[item] if item in failed else self._known[item] for item in ids]

    def _add(self, values: Mapping[bytes, Value]) -> None:
        if values:
            key = f"{self.space}/{hashlib.sha256(b''.join(values)).hexdigest()}"
            self.store.write(key, self.encode(values))
            self._seen.add(key)
            self._known.update(values)


class ItemStore(Segments[Rows]):
    """Rows of numbers by item."""

    def encode(self, values: Mapping[bytes, Rows]) -> Entry:
        """Items and rows as two arrays."""
        ids = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), 16)
        return Entry({"ids": ids, "values": np.stack([*values.values()])})

    def decode(self, entry: Entry) -> Mapping[bytes, Rows]:
        """The rows of two arrays."""
        return dict(zip((row.tobytes() for row in entry.arrays["ids"]), entry.arrays["values"], strict=True))

    def resolve(self, ids: Sequence[bytes], compute: Callable[[Sequence[int]], Rows]) -> Rows:
        """Shape (ids, width): stored rows, and those that `compute` gives for the places of the other ids."""
        rows = self.values(ids, lambda numbers: ((row, True) for row in compute(numbers)))
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)


class StoredEmbedder:
    """An embedder whose vectors are stored by text. Its other methods, such as counting tokens, are those of the embedder."""

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
        """The vectors of the embedder; each distinct text is embedded once."""
        return _vectors(self.documents, self.embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the embedder; each distinct text is embedded once."""
        return _vectors(self.queries, self.embedder.embed_queries, texts)

    def token_vectors(self, texts: Sequence[str]) -> list[Rows]:
        """The token vectors of the embedder. Where one reading of the texts gives their vectors too, these are stored."""
        embedder: Any = self.embedder
        if not hasattr(embedder, "embed_passages"):
            return list(embedder.embed_tokens(texts))
        vectors, tokens = embedder.embed_passages(texts)
        self.documents.resolve([item_id(text) for text in texts], lambda numbers: vectors[list(numbers)])
        return list(tokens)


def _vectors(items: ItemStore, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
    def compute(numbers: Sequence[int]) -> Vectors:
        return whole_rows("embedder", embed([texts[number] for number in numbers]), len(numbers)).astype(np.float32)

    return items.resolve([item_id(text) for text in texts], compute).astype(np.float32, copy=False)


class StoredReranker:
    """A pairwise reranker whose scores are stored by (query, passage)."""

    pairwise: ClassVar[bool] = True

    def __init__(self, reranker: Reranker, store: Store, identity: str) -> None:
        self.reranker = reranker
        self.pairs = ItemStore(store, f"pairs/{digest(identity, code_identity(__name__))}")

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """The scores of the reranker; each distinct pair is scored once."""
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
            what = f"gave {sum(map(len, scored))} scores for {len(numbers)} passages"
            raise ConfigError("reranker", what, "return one list per query with one score per passage")
        order = [number for group in grouped.values() for number in group]
        by_number = dict(zip(order, (value for values in scored for value in values), strict=True))
        # Scores keep all their digits: a server ranks with scores that were not stored.
        rows = np.array([[by_number[number]] for number in numbers], np.float64)
        return whole_rows("reranker", rows, len(numbers))


Table = TypeVar("Table", bound=Rows)


def whole_rows(role: str, rows: Table, expected: int) -> Table:
    """The rows, unchanged; ConfigError unless there is one finite row per text."""
    if rows.ndim != 2 or len(rows) != expected:
        raise ConfigError(role, f"gave an array of shape {rows.shape} for {expected} texts", "return one row per text")
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ConfigError(role, f"gave NaN or infinity for text {row + 1} of {expected}", "check the model; nothing was stored")
    return rows
