"""Cosines between texts, and between questions and passages, by an embedder."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag.core.memo import Recent
from rag.core.numbers import unit_rows
from rag.core.roles import Embedder
from rag.core.types import Query, Vectors


class Near:
    """A check that compares with passages by an embedder, and keeps the vectors of recent ones."""

    embedder: Embedder

    @cached_property
    def _recent(self) -> Recent[Vectors]:
        return Recent()

    def passages(self, texts: Sequence[str]) -> list[Vectors]:
        """The vectors of passages, shape (dimensions,) each."""
        return self._recent(texts, self.embedder.embed_documents)


def nearest(ours: Vectors, theirs: Vectors) -> NDArray[np.float64]:
    """For each row of `ours` the greatest cosine with a row of `theirs`, shape (rows,); -1 if there is none."""
    if not len(theirs):
        return np.full(len(ours), -1.0)
    rows, others = (unit_rows(np.asarray(vectors, np.float64)) for vectors in (ours, theirs))
    cosines: NDArray[np.float64] = (rows @ others.T).max(axis=1)
    return cosines


def numbered(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """The distinct texts of several rows with their numbers, so that each is embedded once."""
    return {text: number for number, text in enumerate(dict.fromkeys(text for row in rows for text in row))}


def wordings(query: Query) -> list[str]:
    """A question alone, and after the last turn of the user if there is one: a follow-up need not name its topic."""
    before = [turn.text for turn in query.history if turn.role == "user"]
    return [query.text, *(f"{text}\n{query.text}" for text in before[-1:])]


def question_vectors(embedder: Embedder, queries: Sequence[Query]) -> list[Vectors]:
    """The vectors of the wordings of each question, shape (wordings, dimensions); all are embedded in one batch."""
    texts = [wordings(query) for query in queries]
    rows = numbered(texts)
    vectors = embedder.embed_queries(list(rows)) if rows else np.zeros((0, 0), np.float32)
    return [vectors[[rows[text] for text in own]] for own in texts]
