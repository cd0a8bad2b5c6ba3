"""Reads the section around every hit: small chunks are found, and a section is read."""

from bisect import bisect_left, bisect_right
from typing import ClassVar

from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings

MOST = 100_000
"""The most characters of a parent: a document without headings is one section."""


class ParentsSelector:
    """Reads the chunks of the section of every hit with it, as one passage.

    If the section has more than `size` characters, it reads those chunks that lie within `size` characters around the middle of
    the hit, moved into the section where they would leave it. A hit with text of several sections, headings aside, reads them
    all; a hit with more than `size` characters is read alone. The passage has the rank and the score of its hit: a cut at k
    takes k hits with their sections, and several hits in one section are one passage.
    """

    widens: ClassVar[bool] = True
    """It adds chunks that were not ranked."""

    def __init__(self, size: int = 3200) -> None:
        check_whole("selector.parents.size", size, 1, MOST)
        self.size = size

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Every hit with its section, in passages of up to `size` characters."""

        def around(position: int) -> tuple[int, int]:
            first, last = corpus.section_mates(position)
            middle = int(corpus.start[position] + corpus.end[position]) // 2
            begin = min(middle - self.size // 2, int(corpus.end[last]) - self.size)
            begin = max(begin, int(corpus.start[first]))
            low = bisect_left(corpus.start, begin, first, last + 1)
            high = bisect_right(corpus.end, begin + self.size, first, last + 1) - 1
            return min(low, position), max(high, position)

        return rankings.widened(around, join=True)
