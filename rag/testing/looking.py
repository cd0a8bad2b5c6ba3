"""The laws of enrichers, rosters, routers, policies, retrieval memories, shapers and condensers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rag.core import look_checks
from rag.core.corpus import Corpus
from rag.core.errors import UserError
from rag.core.looks import Shape
from rag.core.rankings import Rankings, merged
from rag.core.records.queries import ROUTES, RecordQuery, Result
from rag.core.records.sets import Cell, Field, Record, RecordSet, RecordTable
from rag.core.roles import Condenser, Enricher, Policy, RetrievalMemory, Roster, Router, Shaper
from rag.core.roles.looking import Asked, Kept
from rag.core.types import Document, Framed, Query, Sought, Span
from rag.testing.laws import DOCUMENTS, READABLE, law, lawful

TABLE = RecordTable(
    "assets",
    (Field("id"), Field("price", "number", unit="£")),
    tuple(Record(f"A-{number}", "d4", 0, 4, (f"A-{number}", float(number))) for number in range(1, 6)),
    "Asset register",
)
RECORDS = RecordSet((TABLE,))
QUERIES = [Query(f"q{number}", text) for number, text in enumerate((*READABLE, "How many assets are there?"))]


def check_enrich(enricher: Enricher) -> None:
    """Records lie in their documents, and have a value or None of the right type for each field."""
    made = enricher.enrich(DOCUMENTS)
    sizes = {document.doc_id: len(document.text) for document in DOCUMENTS}
    for table in made.tables:
        law(len({field.name for field in table.fields}) == len(table.fields), "no two fields of a table have one name")
        for record in table.records:
            law(0 <= record.start <= record.end <= sizes.get(record.doc_id, -1), "a record lies in its document")
            law(len(record.values) == len(table.fields), "a record has one value per field")
            for field, value in zip(table.fields, record.values, strict=True):
                law(value is None or _fits(field, value), "a value is None or has the type of its field")
    law(len({table.name for table in made.tables}) == len(made.tables), "no two tables have one name")
    law(RecordSet.from_json(made.to_json()) == made, "records are JSON values")
    law(enricher.enrich(DOCUMENTS) == made, "the same documents give the same records")


def _fits(field: Field, value: Cell) -> bool:
    kinds = {"text": str, "date": str, "boolean": bool, "list": tuple, "number": (int, float)}
    return isinstance(value, kinds[field.type]) and not (field.type == "number" and isinstance(value, bool))  # type: ignore[arg-type]


def check_roster(roster: Roster) -> None:
    """A join keeps all records, their places and the values of fields that the roster does not have."""
    joined = roster.join(RECORDS)
    law([table.name for table in joined.tables] == [TABLE.name], "no table is added or dropped")
    places = [(record.record_id, record.doc_id, record.start, record.end) for record in joined.tables[0].records]
    law(places == [(each.record_id, each.doc_id, each.start, each.end) for each in TABLE.records], "records keep their places")
    law(roster.join(RECORDS) == joined, "the same records give the same join")


def check_route(router: Router) -> None:
    """There is one route per question; a query names a table and fields that exist."""
    routed = router.route(QUERIES, RECORDS)
    law(len(routed) == len(QUERIES), "there is one route per question")
    for each in routed:
        law(each.mechanism in ROUTES, "a route is semantic, records or both")
        law((each.query is None) == (each.mechanism == "semantic"), "a question for records has a query, another has none")
        law(each.query is None or each.query.table == TABLE.name, "a query names a table that exists")
        named = {*each.query.fields, *(test.field for test in each.query.where)} if each.query else set()
        law(named <= {field.name for field in TABLE.fields}, "a query names fields that exist")
    without = router.route(QUERIES, RecordSet())
    law(all(each.mechanism == "semantic" for each in without), "without records every question is semantic")


class FixedTools:
    """Tools over five passages: a search finds all of them."""

    def __init__(self, question: str) -> None:
        self.corpus = Corpus.of([Document("d", "one two three four five")], [Span("d", s, s + 3) for s in (0, 4, 8, 14, 19)])
        self.records, self.k, self.calls = RECORDS, 3, 0
        self.sought = Sought(question, (question,))

    def search(self, texts: Sequence[str]) -> Rankings:
        """All passages, in an order that depends on the number of texts."""
        self.calls += 1
        law(texts and all(text.strip() for text in texts), "a search has texts that are not empty")
        return Rankings.pack([[(place, 1.0 - place / 10) for place in range(5)]])

    def rerank(self, question: str, found: Sequence[Rankings]) -> Rankings:
        """One ranking of all."""
        return merged(found, [one.scores for one in found], 5)

    def read(self, ranking: Rankings | None, results: Sequence[str] = ()) -> Framed:
        """The first three passages and all texts."""
        row = ranking.first(self.k).row(0) if ranking is not None else ()
        return Framed((*(self.corpus.text(place) for place, _ in row), *results))

    def query_records(self, query: RecordQuery) -> Result:
        """No result."""
        self.calls += 1
        raise UserError("records", "are not there", "ask for passages")


MOST_CALLS = 100
"""The most calls of tools for one question."""


def check_policy(policy: Policy) -> None:
    """A policy ends with a lawful ranking of one question, within a limit of calls."""
    for query in QUERIES:
        if query.text.strip():
            tools = FixedTools(query.text)
            looked = policy.look(query, tools)
            lawful(looked.ranking, 1, 5)
            law(bool(looked.sought.texts), "a look says what was searched for")
            law(tools.calls <= MOST_CALLS, "a look ends within a limit of calls")
            law(all(step.seconds >= 0 and step.tokens >= 0 for step in looked.steps), "a step takes no negative time or tokens")
            names = {tools.corpus.chunk(place).chunk_id for place in range(5)}
            law(all(names.issuperset(step.found) for step in looked.steps), "a step names chunks of the corpus")


def check_reuse(memory: RetrievalMemory) -> None:
    """A share is 0, .5 or 1, and names an earlier question that exists."""
    vectors = np.eye(3, dtype=np.float32)
    for vector in (*vectors, np.zeros(3, np.float32)):
        found = memory.reuse("How many days?", vector[None], ["How many days?", "Who signs?", "When?"], vectors)
        law(found.share in (0.0, 0.5, 1.0), "a share is 0, .5 or 1")
        law(found.share == 0 or 0 <= found.earlier < len(vectors), "a share names an earlier question")
    law(
        memory.reuse("Who?", vectors[:1], [], np.zeros((0, 3), np.float32)).share == 0,
        "without earlier questions nothing is reused",
    )


def check_shape(shaper: Shaper) -> None:
    """There is one lawful shape per question, before and after a search."""
    asked = [Asked(query, query.text, titles=tuple(document.doc_id for document in DOCUMENTS)) for query in QUERIES]
    for row in (asked, [replace(one, before=Shape("lookup", "d1"), read=Framed(("text",)), sources=("d4",)) for one in asked]):
        shaped = shaper.shape(row)
        law(len(shaped) == len(row), "there is one shape per question")
        for one in shaped:
            look_checks.check_shape(one.shape)
        law(
            [one.shape for one in shaper.shape(row)] == [one.shape for one in shaped], "the same questions give the same shapes"
        )
    law(shaper.shape([]) == [], "without a question there is no shape")


def check_condense(condenser: Condenser) -> None:
    """A condensed context passes the checks of the pipeline, or there is a reason for none."""
    spans = [Span(one.doc_id, 0, len(one.text)) for one in DOCUMENTS if one.text.strip()]
    passages = Corpus.of(DOCUMENTS, spans).chunks(range(len(spans)))
    kept = [Kept(query, query.text, passages, Framed(tuple(one.text for one in passages))) for query in QUERIES]
    made = condenser.condense(kept)
    law(len(made) == len(kept), "there is one result per question")
    for one in made:
        law((one.condensed is None) == bool(one.failure), "without a condensed context there is a reason")
        if one.condensed:
            look_checks.check_condensed(one.condensed, ["\n".join((chunk.section, chunk.text)) for chunk in passages])
    law(condenser.condense([]) == [], "without a question there is nothing")
