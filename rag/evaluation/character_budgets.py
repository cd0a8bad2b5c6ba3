"""Rankings cut to a number of characters: of the hit that does not fit whole, the part that fits counts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rag.core.corpus import Corpus
from rag.core.rankings import NOTHING, Rankings
from rag.core.types import Example
from rag.evaluation.gold_matching import Hits, Judged, judge, read_chars
from rag.evaluation.gold_table import gold_table

Budgets = Callable[[int], Judged]
"""A number of characters → the judgements of what is read of each ranking within it."""


def budgets(rankings: Rankings, corpus: Corpus, examples: Sequence[Example], coverage: float) -> Budgets:
    """The judgements of these rankings within any number of characters; row i belongs to example i."""

    def within(chars: int) -> Judged:
        cut, parts = within_chars(rankings, corpus, chars)
        return judge(cut, gold_table(parts, examples, coverage))

    return within


def within_chars(rankings: Rankings, corpus: Corpus, chars: int) -> tuple[Rankings, Corpus]:
    """The first `chars` characters of every ranking, as rankings of chunks of their own, and these chunks.

    Chunks are read in the order of the row: a hit, then what a selector added to it. The last one loses its end.
    """
    used = rankings.positions != NOTHING
    place = rankings.positions[used]
    hits = replace(Hits.of(rankings), position=np.arange(len(place)))
    doc, start, end = corpus.doc[place], corpus.start[place], corpus.end[place]
    fresh = read_chars(hits, gold_table(Corpus(corpus.documents, doc, start, end), ()))
    over = hits.running(fresh) - chars
    kept = over < fresh
    positions = np.full(rankings.positions.shape, NOTHING, np.int32)
    positions[used] = np.where(kept, np.cumsum(kept) - 1, NOTHING)
    parts = Corpus(corpus.documents, doc[kept], start[kept], (end - np.maximum(over, 0))[kept])
    return replace(rankings, positions=positions), parts
