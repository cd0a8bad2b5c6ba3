"""Share of the citations that point at gold."""

from dataclasses import dataclass

from rag.components.metrics.gold import Grounds, answerable, check_coverage
from rag.core.records import Answer, Example


@dataclass(frozen=True)
class CitationPrecision:
    """Over the sentences of a reply that claim something: citations of a context that holds gold / citations.

    A sentence that cites a context several times cites it once. An answer that claims something and cites nothing has precision
    0, as in ALCE (Gao et al. 2023), whose judge of support gold takes the place of here.
    """

    coverage: float = 0.5

    def __post_init__(self) -> None:
        check_coverage("citation_precision", self.coverage)

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN for a question without gold and for an abstention, which cites nothing."""
        if answer.abstained or not answerable(example):
            return float("nan")
        grounds = Grounds(example, answer, self.coverage)
        cited = [number for sentence in grounds.sentences for number in grounds.cites(sentence)]
        return sum(number in grounds.good for number in cited) / len(cited) if cited else 0.0
