"""The parts of every word index: postings of the terms of texts give rankings."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.components.indexes.array_checks import array, ensure, numbers_of
from rag.core.rankings import Rankings
from rag.core.roles import Analyser
from rag.core.types import Allowed, Arrays, Vectors

BLOCK = 1 << 23
"""The most scores that one search holds in memory at once."""


@dataclass(frozen=True)
class Postings:
    """Which chunks contain a term and what it adds to their scores there, computed when the index was built (Lù 2024, BM25S).

    The chunks of term t are `chunks[starts[t]:starts[t + 1]]`, with as many `weights`; `absent[t]` is what the term adds to
    a chunk without it (BM25L and BM25+; otherwise 0). `size` is the number of chunks.
    """

    terms: tuple[str, ...]
    starts: NDArray[np.int64]
    chunks: NDArray[np.int32]
    weights: NDArray[np.floating[Any]]
    absent: NDArray[np.floating[Any]]
    size: int

    @classmethod
    def none(cls, size: int) -> "Postings":
        """The postings of chunks without terms."""
        return cls((), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0), size)

    def arrays(self) -> Arrays:
        """As plain arrays; the terms are UTF-8 JSON bytes."""
        written = json.dumps(self.terms, ensure_ascii=False).encode("utf-8")
        return {
            "terms": np.frombuffer(written, np.uint8),
            "starts": self.starts,
            "chunks": self.chunks,
            "weights": self.weights,
            "absent": self.absent,
            "size": np.array([self.size], np.int64),
        }

    @classmethod
    def of(cls, arrays: Arrays, where: str) -> "Postings":
        """Read what `arrays` wrote; DataError, naming the index by `where`, for arrays that are not valid postings."""
        size = array(arrays, where, "size", "i")
        ensure(len(size) == 1 and size[0] >= 0, where, "holds no valid 'size'")
        terms = _terms(array(arrays, where, "terms", "u"), where)
        weights, absent = array(arrays, where, "weights", "f"), array(arrays, where, "absent", "f")
        starts = numbers_of(arrays, where, "starts", 0, len(weights) + 1)
        numbers_of(arrays, where, "chunks", 0, int(size[0]))
        chunks = arrays["chunks"].astype(np.int32, copy=False)
        ensure(len(chunks) == len(weights), where, f"holds {len(chunks)} chunks of terms, and {len(weights)} weights")
        ensure(len(starts) == len(terms) + 1 == len(absent) + 1, where, "holds other postings than terms")
        ensure(starts[0] == 0 and starts[-1] == len(weights) and (np.diff(starts) >= 0).all(), where, "mixes up its terms")
        ensure(np.isfinite(weights).all() and np.isfinite(absent).all(), where, "holds NaN or infinity")
        return cls(terms, starts, chunks, weights, absent, int(size[0]))

    def add(self, terms: Sequence[int], scores: NDArray[np.float64]) -> None:
        """Write the score of every chunk with at least one of `terms` into a row of -inf; a repeated term counts repeatedly."""
        if not terms:
            return
        parts = [slice(self.starts[term], self.starts[term + 1]) for term in terms]
        chunks = np.concatenate([self.chunks[part] for part in parts])
        weights = np.concatenate([self.weights[part] for part in parts])
        total = np.bincount(chunks, weights, self.size) + self.absent[list(terms)].sum(dtype=np.float64)
        scores[chunks] = total[chunks]


def _terms(written: NDArray[np.uint8], where: str) -> tuple[str, ...]:
    """The terms of an index from a flat JSON list of different strings; DataError for anything else."""
    try:
        terms = json.loads(written.tobytes().decode("utf-8"))
    except (ValueError, RecursionError):
        terms = None
    ensure(isinstance(terms, list) and all(isinstance(term, str) for term in terms), where, "holds no valid list of terms")
    ensure(len(set(terms)) == len(terms), where, "holds a term twice")
    return tuple(terms)


class WordSearcher:
    """Finds the chunks that share at least one term with a question."""

    def __init__(self, analyser: Analyser, postings: Postings) -> None:
        self.analyser, self.postings = analyser, postings
        self.numbers = {term: number for number, term in enumerate(postings.terms)}

    @property
    def size(self) -> int:
        """The number of chunks."""
        return self.postings.size

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """Rank by summed weights; a chunk without any term of the question is no hit, even if the hits score below 0."""
        block = max(1, BLOCK // max(1, self.postings.size))
        parts = [self._block(texts[start : start + block], depth, allowed) for start in range(0, len(texts), block)]
        width = min(depth, self.postings.size)
        positions = [np.zeros((0, width), np.int32), *(part.positions for part in parts)]
        return Rankings(np.concatenate(positions), np.concatenate([np.zeros((0, width)), *(part.scores for part in parts)]))

    def _block(self, texts: Sequence[str], depth: int, allowed: Allowed | None) -> Rankings:
        scores = np.full((len(texts), self.postings.size), -np.inf)
        for row, text in zip(scores, texts, strict=True):
            self.postings.add([self.numbers[term] for term in self.analyser.terms(text, self.numbers)], row)
        if allowed is not None:
            scores[:, ~allowed] = -np.inf
        return Rankings.top(scores, depth)
