"""Questions off the topic of the documents and their records are declined before a link asks a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.records.display import described_table
from rag.core.records.sets import RecordSet
from rag.core.roles import Screen
from rag.core.text.stems import Stems
from rag.pipeline.prompt.excerpts import screen
from rag.pipeline.search.index_search import IndexSearch
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import Trace, Work

TABLES, VALUES = 4, 50
"""The most tables that are read for a question, and the most values of each of their fields."""


def early(screens: Mapping[str, Screen]) -> dict[str, Screen]:
    """The screens that can decline a question before a model is asked: their attribute `early` is true."""
    return {name: each for name, each in screens.items() if getattr(each, "early", False)}


@dataclass(frozen=True)
class TopicLink:
    """Searches once, without a reranker, and declines what early `screens` decline by `k` passages and the nearest tables."""

    screens: Mapping[str, Screen]
    search: IndexSearch
    k: int
    corpus: Corpus
    records: RecordSet
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the passages of questions that are declined; for these no other link does anything."""
        with self.step("topic"):
            _, found = self.search.fused([work.own for work in works], [work.allowed for work in works])
            stems = Stems()
            known = {text: stems.of(text) for text in (described_table(table, VALUES) for table in self.records.tables)}
            looks = [Look(results=_near(stems.of(work.query.text), known)) for work in works]
            queries, heads = [work.query for work in works], found.first(self.k)
            screened = screen(early(self.screens), queries, heads, self.corpus, looks)
        for row, (work, each) in enumerate(zip(works, screened, strict=True)):
            if each.abstains:
                work.trace = Trace.at(work.own, found.only(row), replace(work.look, declined=True))


def _near(asked: frozenset[str], known: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """The texts that share most words with a question; those that share none are left out."""
    shared = {text: len(asked & words) for text, words in known.items() if asked & words}
    return tuple(sorted(shared, key=lambda text: -shared[text])[:TABLES])
