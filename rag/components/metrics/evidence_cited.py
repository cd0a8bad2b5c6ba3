"""Share of the evidence groups that an answer cites."""

from dataclasses import dataclass

from rag.components.metrics.gold import Grounds, answerable, check_coverage
from rag.core.records import Answer, Example


@dataclass(frozen=True)
class EvidenceCited:
    """Evidence groups of which a sentence that claims something cites a context / all groups."""

    coverage: float = 0.5

    def __post_init__(self) -> None:
        check_coverage("evidence_cited", self.coverage)

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1], 0 for an abstention; NaN for a question without gold."""
        if not answerable(example):
            return float("nan")
        if answer.abstained:
            return 0.0
        grounds = Grounds(example, answer, self.coverage)
        cited = sorted({number for sentence in grounds.sentences for number in grounds.cites(sentence)})
        return sum(grounds.holds(cited, group) for group in grounds.groups) / len(grounds.groups)
