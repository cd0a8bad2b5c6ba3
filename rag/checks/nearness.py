"""How near texts are to each other by an embedder: cosines of vectors that need not have length 1."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag.records import Vectors

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
