"""Maximal marginal relevance by hand and against a reference that tries every candidate."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.rerankers.mmr import MmrReranker, picked_at
from rag.core.types import Vectors


@dataclass
class Plane:
    """Texts are "x y"; an empty text is the origin."""

    asked: list[str] = field(default_factory=list)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.array([[float(part) for part in text.split()] or [0, 0] for text in texts], np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


def test_by_hand() -> None:
    # Cosines with the query (1, 0): 1, 0.8, 0.6. The second repeats the first by 0.8, the third (below the axis) by 0.6,
    # and the second and third have 0.8 · 0.6 - 0.6 · 0.8 = 0.
    (found,) = MmrReranker(Plane(), relevance_weight=0.3).score(["2 0"], [["3 0", "0.8 0.6", "0.6 -0.8"]], [[0.0] * 3])
    assert found == pytest.approx([0.3, 0.3 * 0.8 - 0.7 * 0.8, 0.3 * 0.6 - 0.7 * 0.6])


def test_distinct_texts_are_embedded_once() -> None:
    plane = Plane()
    MmrReranker(plane).score(["1 0", "0 1"], [["1 1", "1 2"], ["1 2", "1 1", "1 1"]], [[0.0] * 2, [0.0] * 3])
    assert plane.asked == ["1 0", "0 1", "1 1", "1 2"]


def reference(relevance: np.ndarray, similarity: np.ndarray, weight: float) -> tuple[list[int], list[float]]:
    """Picks and their values, straight from the definition."""
    picks: list[int] = []
    values: list[float] = []
    while len(picks) < len(relevance):
        left = [number for number in range(len(relevance)) if number not in picks]
        marginal = [
            round(weight * relevance[number] - (1 - weight) * max([0.0, *(similarity[number, pick] for pick in picks)]), 6)
            for number in left
        ]
        best = max(range(len(left)), key=lambda place: (marginal[place], -place))
        picks.append(left[best])
        values.append(marginal[best])
    return picks, values


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 7), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), st.booleans())
def test_equals_the_reference(count: int, seed: int, weight: float, coarse: bool) -> None:
    draw = np.random.default_rng(seed)
    vectors = draw.integers(-1, 2, (count + 1, 3)).astype(float) if coarse else draw.normal(size=(count + 1, 3))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    relevance, similarity = vectors[1:] @ vectors[0], vectors[1:] @ vectors[1:].T
    picks, values = reference(relevance, similarity, weight)
    found = picked_at(relevance, similarity, weight)
    assert [found[pick] for pick in picks] == pytest.approx(values, abs=1e-9)
    assert all(a >= b for a, b in pairwise(values))
    assert np.argsort(-np.array(found), kind="stable").tolist() == picks
