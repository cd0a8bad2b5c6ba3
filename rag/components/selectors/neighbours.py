"""Adds the chunks around every hit: small chunks are easier to find, longer passages are easier to read."""

from typing import ClassVar

from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings

MOST = 1000
"""The most neighbours on one side: every hit takes memory for all of them."""


class NeighboursSelector:
    """Adds up to `before` chunks before and `after` chunks behind every hit, each a context of its own.

    A neighbour is next to the hit in the same document, and both have text, headings aside, of one section. Neighbours
    follow their hit in reading order and share its rank and its score: a cut at k takes k hits and their neighbours.
    A chunk occurs once, at the best of its ranks.
    """

    widens: ClassVar[bool] = True
    """It adds chunks that were not ranked."""

    def __init__(self, before: int = 1, after: int = 1) -> None:
        check_whole("selector.neighbours.before", before, 0, MOST)
        check_whole("selector.neighbours.after", after, 0, MOST)
        self.before, self.after = before, after

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Every hit with its neighbours behind it; rows grow up to (before + 1 + after) times as long."""

        def around(position: int) -> tuple[int, int]:
            first, last = corpus.section_mates(position)
            return max(first, position - self.before), min(last, position + self.after)

        return rankings.widened(around)
