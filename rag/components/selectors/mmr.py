"""Orders the best hits by maximal marginal relevance, so that the first of them do not repeat each other."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.checks import check_number, check_whole
from rag.core.corpus import Corpus
from rag.core.diversity import picked_at
from rag.core.errors import ConfigError
from rag.core.memo import Recent
from rag.core.numbers import unit_rows
from rag.core.rankings import Rankings
from rag.core.roles import Embedder


class MmrSelector:
    """Orders the first `depth` hits: the one with the greatest w · relevance - (1 - w) · redundancy comes next.

    Relevance is the score of the previous stage, from 0 for the lowest to 1 for the highest of these hits of a question;
    redundancy is the greatest cosine with a hit already picked, by the embedder, and at least 0 (`rag.core.diversity`).
    `relevance_weight` is w. Scores become those values; the hits behind keep their order and distances. So a floor behind it
    compares with these values, and a selector that adds chunks must come behind it.

    `reranker=mmr` takes its relevance from the embedder, too; this one keeps that of any index, fusion or reranker.
    """

    reorders: ClassVar[bool] = True
    """It gives hits new scores and a new order, and drops none."""
    compares: ClassVar[tuple[str, str]] = ("vectors", "embedder")

    def __init__(self, embedder: Embedder, relevance_weight: float = 0.7, depth: int = 20) -> None:
        check_number("selector.mmr.relevance_weight", relevance_weight, 0, 1)
        check_whole("selector.mmr.depth", depth, 1)
        self.embedder, self.relevance_weight, self.depth = embedder, float(relevance_weight), depth
        self._vectors: Recent[NDArray[np.float32]] = Recent()

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The same hits in a new order; ConfigError for rankings that a selector widened."""
        if rankings.ranks is not None:
            raise ConfigError("selector.mmr", "comes behind a selector that adds chunks", "write mmr before it in the list")
        heads = [rankings.first(self.depth).row(question) for question in range(len(rankings))]
        read = [[corpus.index_text(position) for position, _ in row] for row in heads]
        distinct = list(dict.fromkeys(text for texts in read for text in texts))
        vectors = dict(zip(distinct, self._vectors(distinct, self._embedded), strict=True))
        rows = zip(heads, read, strict=True)
        return rankings.rescored([self._picked(row, [vectors[text] for text in texts]) for row, texts in rows])

    def _embedded(self, texts: list[str]) -> list[NDArray[np.float32]]:
        return list(unit_rows(self.embedder.embed_documents(texts)))

    def _picked(self, row: Sequence[tuple[int, float]], vectors: Sequence[NDArray[np.float32]]) -> list[float]:
        if not row:
            return []
        scores, rows = np.array([score for _, score in row]), np.array(vectors)
        spread = np.ptp(scores)
        relevance = (scores - scores.min()) / spread if spread else np.ones(len(scores))
        return picked_at(relevance, rows @ rows.T, self.relevance_weight)
