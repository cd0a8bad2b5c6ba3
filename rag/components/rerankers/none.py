"""No reranking: the order of the fused ranking stays."""

from collections.abc import Sequence
from typing import ClassVar


class NoReranker:
    """Gives back the scores that it was given."""

    changes_nothing: ClassVar[bool] = True
    pairwise: ClassVar[bool] = False

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """The scores so far."""
        return [list(row) for row in scores]
