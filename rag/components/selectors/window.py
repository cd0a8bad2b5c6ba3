"""Reads the sentences around every hit: a sentence is found, and understood by those next to it."""

from bisect import bisect_left, bisect_right
from itertools import chain
from typing import ClassVar

from rag.core import headings
from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.memo import Once
from rag.core.rankings import Rankings
from rag.core.text.languages import check_language
from rag.core.text.sentences import blocks, sentences

MOST = 1000
"""The most sentences on one side: every hit takes memory for all of them."""


class WindowSelector:
    """Reads `sentences` sentences before and behind every hit with it, as one passage.

    These are sentences of the section of the hit; a list item, a table row and a line of code count as one, a heading as none.
    Sentences that the hit has a part of are read whole. Chunks are read whole too: where a chunk holds several sentences, the
    passage is that much longer. It has the rank and the score of its hit: a cut at k takes k hits with their windows.
    """

    widens: ClassVar[bool] = True
    """It adds chunks that were not ranked."""

    def __init__(self, sentences: int = 3, language: str = "english") -> None:
        check_whole("selector.window.sentences", sentences, 1, MOST)
        check_language("selector.window.language", language)
        self.sentences, self.language = sentences, language
        self._known = Once()

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Every hit with the chunks of the sentences around it."""
        known: dict[int, tuple[list[int], list[int]]] = self._known(corpus.documents, dict)

        def around(position: int) -> tuple[int, int]:
            row = int(corpus.doc[position])
            if row not in known:
                known[row] = _sentences(corpus, row, self.language)
            starts, ends = known[row]
            before = bisect_right(ends, corpus.start[position]) - self.sentences
            behind = bisect_left(starts, corpus.end[position]) - 1 + self.sentences
            first, last = corpus.section_mates(position)
            low = bisect_right(corpus.start, starts[max(before, 0)], first, last + 1) - 1 if starts else position
            high = bisect_left(corpus.end, ends[min(behind, len(ends) - 1)], first, last + 1) if starts else position
            return max(first, min(low, position)), min(last, max(high, position))

        return rankings.widened(around, join=True)


def _sentences(corpus: Corpus, row: int, language: str) -> tuple[list[int], list[int]]:
    """The starts and the ends of the sentences of a document, headings left out."""
    text, sections = corpus.documents[row].text, corpus.sections[row]
    found = (sentences(text, block, language) for block in blocks(text) if not headings.holds(sections, block[0]))
    every = list(chain.from_iterable(found))
    return [start for start, _ in every], [end for _, end in every]
