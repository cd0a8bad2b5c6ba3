"""Share of the sentences that cite gold."""

from rag.components.metrics.gold import CitationMetric, Grounds


class CitationRecall(CitationMetric):
    """Sentences of a reply that cite a context with gold / sentences that claim something.

    The recall of ALCE (Gao et al. 2023), with gold instead of a judge of support. Sentences without a citation count
    as not recalled. `evidence_cited` measures how much of the gold an answer cites.
    """

    def share(self, grounds: Grounds) -> float:
        """The share of sentences; 0 without any."""
        recalled = [not grounds.good.isdisjoint(numbers) for numbers in grounds.cited]
        return sum(recalled) / len(recalled) if recalled else 0.0
