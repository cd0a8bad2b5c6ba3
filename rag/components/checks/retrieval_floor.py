"""Whether anything that was found speaks to the question, before a model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.checks.failure_action import action_of
from rag.components.checks.nearness import similarity
from rag.core.errors import ConfigError
from rag.core.records import Finding, Query, Ranking
from rag.core.roles import Embedder


@dataclass(frozen=True)
class RetrievalFloorCheck:
    """Abstains where no passage has a cosine of at least `floor` with the question, by an embedder.

    Scores of BM25, of fused ranks and of rerankers have no common scale and none of them says how good the best passage is; a
    cosine does, whatever indexes found the passages. A question with turns before it is also tried together with the person's
    last one, and the greater cosine counts: a follow-up need not name its topic. `on_failure` is refuse or flag.
    """

    embedder: Embedder
    floor: float = 0.25
    on_failure: str = "refuse"

    def __post_init__(self) -> None:
        action_of("retrieval_floor", self.on_failure, "needs none")
        if self.on_failure == "regenerate":
            what = "is 'regenerate', and there is nothing to ask again before a model is asked"
            raise ConfigError("check.retrieval_floor.on_failure", what, "refuse or flag")
        if not -1 <= self.floor <= 1:
            raise ConfigError("check.retrieval_floor.floor", f"is {self.floor}", "a cosine, from -1 to 1")

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """One finding for a question whose best passage is below the floor."""
        return [[] if value >= self.floor else [self._finding(value)] for value in self.similarity(queries, contexts)]

    def similarity(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[float]:
        """The cosine of the passage nearest to each question, -1 where none was found."""
        return similarity(self.embedder, queries, contexts)

    def _finding(self, value: float) -> Finding:
        what = f"the nearest passage has a cosine of {value:.3f}, below {self.floor}" if value > -1 else "nothing was found"
        return Finding("retrieval_floor", what, "flag" if self.on_failure == "flag" else "abstain")
