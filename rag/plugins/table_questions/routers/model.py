"""A chat model routes a question and writes its query of records as JSON; rules do so where it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rag.core.checks import check_whole
from rag.core.errors import UserError
from rag.core.models.typed_reply import Typed, ask_typed
from rag.core.record_json import routed
from rag.core.records.checks import check_query
from rag.core.records.display import described_table
from rag.core.records.queries import BY_RULES, Routed
from rag.core.records.sets import RecordSet
from rag.core.roles import Generator
from rag.core.text.stems import Stems
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request
from rag.plugins.table_questions.routers.rules import RulesRouter

TRIES, REPEATED = 2, 2000
"""Requests for a question, and the most characters of a reply in the second one."""


@dataclass(frozen=True)
class ModelRouter:
    """Asks a chat model for a route and a query, shown the `tables` that share most words with the question.

    A reply must be one JSON object with `route` and `query`, and the query must fit the records: its table, fields, operators
    and values. After another reply the model is asked once more with `again`, which has the placeholder {problem}; then the
    route is that of `rules`. `values` is the number of values of each field that the prompt shows.
    """

    generator: Generator
    rules: RulesRouter
    instruction: str
    prompt: str
    again: str
    tables: int = 4
    values: int = 4
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_template("route.prompt", self.prompt, ("tables", "question"), ("tables", "question"))
        check_template("route.again", self.again, ("problem",), ("problem",))
        check_whole("route.tables", self.tables, 1)
        check_whole("route.values", self.values, 0)

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        """The routes; all are semantic without records."""
        if not records.tables:
            return [Routed() for _ in queries]
        stems = Stems(self.rules.language)
        known = [stems.of(" ".join((table.title, table.name, described_table(table, 50)))) for table in records.tables]
        requests = [self._request(query, stems.of(query.text), known, records) for query in queries]
        asked = [Typed(request, lambda reply: _read(reply, records)) for request in requests]
        ask_typed(self.generator, asked, TRIES, self.again, REPEATED)
        lost = [query for query, each in zip(queries, asked, strict=True) if each.wrong]
        by_rules = iter(self.rules.route(lost, records))
        return [
            replace(
                each.value or replace(next(by_rules), why=f"{BY_RULES} {each.problem or f'is missing: {each.failure}'}"[:200]),
                tokens=each.spent.tokens,
                cost=each.spent.cost,
            )
            for each in asked
        ]

    def _request(self, query: Query, words: frozenset[str], known: Sequence[frozenset[str]], records: RecordSet) -> Request:
        best = sorted(range(len(known)), key=lambda place: -len(words & known[place]))[: self.tables]
        shown = "\n".join(described_table(records.tables[place], self.values) for place in best)
        user = fill(self.prompt, {"tables": shown, "question": query.text})
        return Request(query, (), (Message("system", self.instruction), Message("user", user)))


def _read(reply: str, records: RecordSet) -> Routed:
    mechanism, query = routed(reply)
    try:
        if query:
            check_query(query, records)
    except UserError as error:
        raise ValueError(f"has an error: {error.what}; {error.remedy}") from error
    return Routed(mechanism, query, "by the model")  # type: ignore[arg-type]
