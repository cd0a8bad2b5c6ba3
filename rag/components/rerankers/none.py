"""No reranking: the fused ranking keeps its order."""

from collections.abc import Sequence
from typing import ClassVar


class NoReranker:
    """Returns the scores of the fused ranking."""

    changes_nothing: ClassVar[bool] = True
    pairwise: ClassVar[bool] = False

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A copy of `scores`."""
        return [list(row) for row in scores]
