"""Questions → routes with the results of records, and the passages that stand for records; those off the topic are declined."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.core.corpus import Corpus
from rag.core.errors import UserError
from rag.core.looks import Look
from rag.core.rankings import Rankings
from rag.core.records.database import RecordDatabase
from rag.core.records.display import described_table
from rag.core.records.queries import Result, Routed
from rag.core.records.sets import RecordSet
from rag.core.roles import Router, is_costly
from rag.core.text.stems import Stems
from rag.core.types import Allowed, Query
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.search.index_search import IndexSearch
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import Trace, Work

VALUES, SHARE = 50, 0.5
"""The most values of each field of a table that are read; a question with this share of its words in a table is on topic."""


def looks_of_routes(router: Router, database: RecordDatabase, queries: Sequence[Query]) -> list[Look]:
    """The routes of questions that can be understood alone, with results; a failed one has a note and no result.

    UserError as the router raises it, and all errors of a router that asks a model: its calls would be paid twice.
    """
    try:
        routes = router.route(queries, database.records)
        return [_look(routed, database) for _, routed in zip(queries, routes, strict=True)]
    except Exception as error:  # A router may raise anything: the other questions keep their routes.
        if isinstance(error, UserError) or is_costly(router):
            raise
        if len(queries) == 1:
            return [_look(Routed(failure=repr(error)[:200]), database)]
        return [look for query in queries for look in looks_of_routes(router, database, [query])]


def _look(routed: Routed, database: RecordDatabase) -> Look:
    if routed.query is None:
        return Look(
            routed, note=f"passages were searched, because the route failed: {routed.failure}" if routed.failure else ""
        )
    try:
        result = database.run(routed.query)
        cited, joins = {each[0] for each in result.sources}, database.records.reconciled
        wrong = [f"{each.record_id}: {each.detail}" for each in joins if each.status == "mismatch" and each.record_id in cited]
        return Look(replace(routed, why="; ".join((routed.why, *wrong))), result)
    except Exception as error:  # As above, of a query.
        return Look(routed, note=f"passages were searched, because the query of records failed: {error}")


def seen(database: RecordDatabase, corpus: Corpus, allowed: Allowed | None) -> RecordDatabase:
    """The records of the documents that a search may find."""
    if allowed is None or not database.records.tables:
        return database
    names = {corpus.documents[row].doc_id for row in np.unique(corpus.doc[allowed]).tolist()}
    tables = (
        replace(table, records=tuple(record for record in table.records if record.doc_id in names))
        for table in database.records.tables
    )
    return RecordDatabase(RecordSet(tuple(tables)))


def within(documents: Collection[str], corpus: Corpus, allowed: Allowed | None) -> Allowed:
    """The chunks of some documents, among those that are allowed."""
    rows = [row for doc_id in documents if (row := corpus.place(doc_id)) is not None]
    kept: Allowed = np.isin(corpus.doc, rows)
    return kept if allowed is None else kept & allowed


def passages_of(result: Result, corpus: Corpus, depth: int) -> Rankings:
    """The chunks that hold the sources of a result, in their order; scores are 1 / rank."""
    found = dict.fromkeys(position for source in result.sources if (position := _chunk_of(source, corpus)) is not None)
    return Rankings.pack([[(position, 1 / rank) for rank, position in enumerate(found, 1)][:depth]])


def _chunk_of(source: tuple[str, int, int], corpus: Corpus) -> int | None:
    """The first of the chunks with the most characters of a place."""
    doc_id, start, end = source
    if (row := corpus.place(doc_id)) is None:
        return None
    own = corpus.of_document(row)
    shared = np.minimum(corpus.end[own], max(end, start + 1)) - np.maximum(corpus.start[own], start)
    return int(own.start + shared.argmax()) if shared.max(initial=0) > 0 else None


def scope(look: Look, database: RecordDatabase, corpus: Corpus, allowed: Allowed | None) -> Allowed | None:
    """The chunks that may be found for a question: those of the documents of its records, where it is about some."""
    if look.result is None or look.routed.query is None:
        return allowed
    return within({record.doc_id for record in database.selected(look.routed.query)}, corpus, allowed)


@dataclass(frozen=True)
class RouteLink:
    """Answers questions from records, or narrows their search to the documents of records."""

    router: Router
    database: RecordDatabase
    corpus: Corpus
    depth: int
    allowed: Allowed | None
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set routes and their results; a question that records answer has their passages."""
        open_ = [work for work in works if not work.finished]
        if not open_:
            return
        with self.step("route"):
            known = seen(self.database, self.corpus, self.allowed)
            looks = looks_of_routes(self.router, known, [work.alone for work in open_])
        for work, look in zip(open_, looks, strict=True):
            work.note(routed=look.routed, result=look.result, note=look.note)
            work.allowed = scope(look, known, self.corpus, self.allowed)
            if look.result and look.answers:
                work.trace = Trace.at(work.sought, passages_of(look.result, self.corpus, self.depth), work.look)


@dataclass(frozen=True)
class TopicLink:
    """Searches once, without a reranker, and declines what the screens of `excerpts` decline by its first passages.

    What `router` answers from records without a model is on topic, and what has most of its words in one table.
    """

    excerpts: Excerpts
    search: IndexSearch
    corpus: Corpus
    router: Router
    records: RecordSet
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the passages of questions that are declined; for these no other link does anything."""
        with self.step("topic"):
            _, found = self.search.fused([work.own for work in works], [work.allowed for work in works])
            screened = self.excerpts.screen([work.query for work in works], found, self.corpus)
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
