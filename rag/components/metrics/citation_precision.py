"""Share of the citations that point at gold."""

from rag.components.metrics.gold import CitationMetric, Grounds


class CitationPrecision(CitationMetric):
    """Over the claiming sentences of a reply: citations of a context that contains gold / citations.

    A context that a sentence cites several times counts once. An answer with claims and no citation has precision 0, as in ALCE
    (Gao et al. 2023), whose judge of support is replaced by gold here.
    """

    def share(self, grounds: Grounds) -> float:
        """The share of citations; 0 without any."""
        numbers = [number for sentence in grounds.cited for number in sentence]
        return sum(number in grounds.good for number in numbers) / len(numbers) if numbers else 0.0
