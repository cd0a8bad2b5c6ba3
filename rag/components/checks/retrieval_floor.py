"""Whether any retrieved passage is similar to the question, before a model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.components.checks.failure_action import check_before_model, finding_before_model
from rag.components.checks.nearness import Near, nearest, question_vectors
from rag.core.checks import check_number
from rag.core.roles import Embedder
from rag.core.types import Finding, Query, Ranking


@dataclass(frozen=True)
class RetrievalFloorCheck(Near):
    """Abstains if no passage has a cosine of at least `floor` with the question, by an embedder.

    The scores of BM25, fusion and rerankers have no common scale that says how good the best passage is; a cosine has one,
    for any index. A follow-up is also tried together with the last turn of the user, and the greater cosine counts.
    `on_failure` is refuse or flag.
    """

    embedder: Embedder
    floor: float = 0.25
    on_failure: str = "refuse"

    def __post_init__(self) -> None:
        check_before_model("retrieval_floor", self.on_failure)
        check_number("check.retrieval_floor.floor", self.floor, -1, 1, "a cosine")

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """One finding for a question whose best passage is below the floor."""
        return [[] if value >= self.floor else [self._finding(value)] for value in self.similarity(queries, contexts)]

    def similarity(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[float]:
        """The greatest cosine of a passage with each question, in any of its wordings; -1 without passages."""
        read = [self.passages([hit.chunk.text for hit in row]) for row in contexts]
        asked = question_vectors(self.embedder, queries)
        return [float(nearest(ours, np.array(own)).max()) for ours, own in zip(asked, read, strict=True)]

    def _finding(self, value: float) -> Finding:
        what = f"the nearest passage has a cosine of {value:.3f}, below {self.floor}" if value > -1 else "nothing was found"
        return finding_before_model("retrieval_floor", what, self.on_failure)
