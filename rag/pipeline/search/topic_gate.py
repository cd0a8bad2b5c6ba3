"""Questions off the topic of the documents and their records are declined before a link asks a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.core.corpus import Corpus
from rag.core.records.display import described_table
from rag.core.records.queries import Routed
from rag.core.records.sets import RecordSet
from rag.core.roles import Router, Screen
from rag.core.text.stems import Stems
from rag.core.types import Query
from rag.pipeline.prompt.excerpts import screen
from rag.pipeline.search.index_search import IndexSearch
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import Trace, Work

VALUES, SHARE = 50, 0.5
"""The most values of each field of a table that are read; a question with this share of its words in a table is on topic."""


@dataclass(frozen=True)
class TopicLink:
    """Searches once, without a reranker, and declines what `screens` decline by the first `k` passages.

    What `router` answers from records without a model is on topic, and what has most of its words in one table.
    """

    screens: Mapping[str, Screen]
    search: IndexSearch
    k: int
    corpus: Corpus
    router: Router
    records: RecordSet
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the passages of questions that are declined; for these no other link does anything."""
        with self.step("topic"):
            _, found = self.search.fused([work.own for work in works], [work.allowed for work in works])
            screened = screen(self.screens, [work.query for work in works], found.first(self.k), self.corpus)
            doubtful = [row for row, each in enumerate(screened) if each.abstains]
            known = self._known([works[row].alone for row in doubtful]) if doubtful else []
        for row, is_known in zip(doubtful, known, strict=True):
            if screened[row].reply or not is_known:
                works[row].trace = Trace.at(works[row].own, found.only(row), replace(works[row].look, declined=True))

    def _known(self, queries: Sequence[Query]) -> list[bool]:
        """Whether records have what each question is about."""
        stems, rules = Stems(), getattr(self.router, "rules", None)
        tables = [stems.of(described_table(table, VALUES)) for table in self.records.tables]
        routed = rules.route(queries, self.records) if rules else [Routed()] * len(queries)
        rows = [(stems.of(query.text), each.query) for query, each in zip(queries, routed, strict=True)]
        return [bool(query) or any(len(words & table) >= SHARE * len(words) for table in tables) for words, query in rows]
