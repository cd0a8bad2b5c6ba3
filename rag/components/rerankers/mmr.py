"""Maximal marginal relevance: relevant passages that do not repeat each other.

Carbonell & Goldstein 1998, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.core.checks import check_number
from rag.core.diversity import picked_at
from rag.core.numbers import unit_rows
from rag.core.roles import Embedder


@dataclass(frozen=True)
class MmrReranker:
    """Picks passages one by one: the one with the greatest w · cosine(query, passage) - (1 - w) · redundancy comes next.

    Redundancy is the greatest cosine with a passage already picked, and at least 0: an opposite passage earns no bonus, and
    the values of successive picks never rise. `relevance_weight` is w; 1 leaves plain relevance, 0 plain diversity.
    """

    embedder: Embedder
    relevance_weight: float = 0.7
    pairwise: ClassVar[bool] = False
    compares: ClassVar[tuple[str, str]] = ("vectors", "embedder")

    def __post_init__(self) -> None:
        check_number("reranker.relevance_weight", self.relevance_weight, 0, 1)

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """The marginal relevance of each passage when it was picked; sorted by it, passages are in the order of the picks."""
        distinct = list(dict.fromkeys(text for texts in passages for text in texts))
        if not distinct:
            return [[] for _ in queries]
        questions = unit_rows(self.embedder.embed_queries(queries))
        vectors = unit_rows(self.embedder.embed_documents(distinct))
        place = {text: row for row, text in enumerate(distinct)}
        chosen = [vectors[[place[text] for text in texts]] for texts in passages]
        return [
            picked_at(rows @ query, rows @ rows.T, self.relevance_weight) for query, rows in zip(questions, chosen, strict=True)
        ]
