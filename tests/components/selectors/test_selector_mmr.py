"""The best hits by maximal marginal relevance of their own scores."""

from collections.abc import Sequence

import numpy as np
import pytest

from rag.components.selectors.mmr import MmrSelector
from rag.components.selectors.parents import ParentsSelector
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.roles import fingerprint
from rag.core.types import Document, Span, Vectors

TEXT = "1 0;1 0;0 1;3 4;"
CORPUS = Corpus.of([Document("d", TEXT)], [Span("d", at, at + 4) for at in range(0, 16, 4)])


class Plane:
    """Texts are "x y;"."""

    def fingerprint(self) -> str:
        return "plane"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([[float(part.strip(";")) for part in text.split()] for text in texts], np.float32)

    embed_queries = embed_documents


def ordered(row: list[tuple[int, float]], weight: float = 0.5, depth: int = 20) -> list[tuple[int, float]]:
    return MmrSelector(Plane(), weight, depth).select(Rankings.pack([row]), CORPUS).row(0)


def test_by_hand() -> None:
    assert fingerprint(MmrSelector(Plane())) == "plane", "the embedder is in the identity"
    # Relevance 1, .5, 0, picked in this order: 0; then 2 with 0 - 0 against 1 with .25 - .5.
    assert ordered([(0, 30.0), (1, 20.0), (2, 10.0)]) == [(0, 0.5), (2, 0.0), (1, -0.25)]
    # The last one has cosines of .6 and .8 with those before it.
    assert ordered([(0, 4.0), (2, 3.0), (3, 2.0)], 0.7) == [(0, 0.7), (2, 0.35), (3, -0.24)]


def test_hits_behind_the_depth_follow_with_their_distances() -> None:
    found = ordered([(0, 9.0), (1, 8.0), (2, 5.0), (3, 4.5)], 0.5, depth=2)
    assert found == [(0, 0.5), (1, -0.5), (2, -1.5), (3, -2.0)]


def test_behind_a_selector_that_adds_chunks_it_is_refused() -> None:
    widened = ParentsSelector().select(Rankings.pack([[(0, 1.0)]]), CORPUS)
    with pytest.raises(ConfigError, match="before it"):
        MmrSelector(Plane()).select(widened, CORPUS)
