"""Share of the sentences that cite gold."""

from dataclasses import dataclass

from rag.components.metrics.gold import Grounds, answerable, check_coverage
from rag.core.records import Answer, Example


@dataclass(frozen=True)
class CitationRecall:
    """Sentences of a reply that cite a context which holds gold / sentences that claim something.

    The recall of ALCE (Gao et al. 2023), with gold in the place of its judge of support: a sentence without a citation counts
    as one that is not recalled. How much of the gold an answer cites is what `evidence_cited` measures.
    """

    coverage: float = 0.5

    def __post_init__(self) -> None:
        check_coverage("citation_recall", self.coverage)

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN for a question without gold and for an abstention, which claims nothing."""
        if answer.abstained or not answerable(example):
            return float("nan")
        grounds = Grounds(example, answer, self.coverage)
        recalled = [not grounds.good.isdisjoint(grounds.cites(sentence)) for sentence in grounds.sentences]
        return sum(recalled) / len(recalled) if recalled else 0.0
