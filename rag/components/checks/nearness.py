"""How near texts are to each other, and questions to passages, by an embedder: cosines of vectors of any length."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.core.records import Query, Ranking, Vectors
from rag.core.roles import Embedder

Floats = NDArray[np.float64]


def nearest(ours: Vectors, theirs: Vectors) -> Floats:
    """For each row of `ours` the greatest cosine with a row of `theirs`; -1 where there is none."""
    if not len(theirs):
        return np.full(len(ours), -1.0)
    cosines: Floats = (_unit(ours) @ _unit(theirs).T).max(axis=1)
    return cosines


def _unit(vectors: Vectors) -> Floats:
    wide = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: Floats = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return unit


def distinct(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """Every different text of several rows with its number: each is embedded once."""
    return {text: number for number, text in enumerate(dict.fromkeys(text for row in rows for text in row))}


def worded(query: Query) -> list[str]:
    """A question alone, and behind the person's last turn where there is one: a follow-up need not name its topic."""
    before = [turn.text for turn in query.history if turn.role == "user"]
    return [query.text, *(f"{text}\n{query.text}" for text in before[-1:])]


def similarity(embedder: Embedder, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[float]:
    """The cosine of the passage nearest to each question, by either of its wordings; -1 where none was found."""
    asked, passages = [worded(query) for query in queries], [[hit.chunk.text for hit in row] for row in contexts]
    question, passage = distinct(asked), distinct(passages)
    if not passage:
        return [-1.0] * len(queries)
    ours, theirs = embedder.embed_queries(list(question)), embedder.embed_documents(list(passage))
    rows = zip(asked, passages, strict=True)
    return [
        float(nearest(ours[[question[text] for text in texts]], theirs[[passage[text] for text in found]]).max())
        for texts, found in rows
    ]
