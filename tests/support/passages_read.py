"""The passages that a prompt shows of hits, by a selector."""

from itertools import pairwise

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import Selector
from rag.core.types import Document, Span
from rag.pipeline.prompt.context_packing import passages


def corpus_of(text: str, edges: list[int]) -> Corpus:
    """One document, cut at `edges`."""
    return Corpus.of([Document("d", text)], [Span("d", *pair) for pair in pairwise(edges)])


def read(selector: Selector, corpus: Corpus, *hits: int) -> list[tuple[int, str]]:
    """The ranks and the texts of the passages."""
    selected = selector.select(Rankings.pack([[(position, 1 / rank) for rank, position in enumerate(hits, 1)]]), corpus)
    return [(passage.rank, passage.chunk(corpus).text) for passage in passages(selected, 0, corpus)]
