"""A chat model routes a question and writes its query of records as JSON; rules do so where it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rag.components.routers.rules import RulesRouter
from rag.core.assessments import Spent
from rag.core.checks import check_whole
from rag.core.errors import UserError
from rag.core.models.chat import Given, ask, spent
from rag.core.record_json import routed
from rag.core.records.checks import check_query
from rag.core.records.display import described_table
from rag.core.records.queries import Routed
from rag.core.records.sets import RecordSet
from rag.core.roles import Generator, fingerprint
from rag.core.text.stems import Stems
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request

REPEATED = 2000
"""The most characters of a reply in the second request."""


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

    def fingerprint(self) -> str:
        """The fingerprint of the generator."""
        return fingerprint(self.generator)

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        """The routes; all are semantic without records."""
        if not records.tables:
            return [Routed() for _ in queries]
        stems = Stems(self.rules.language)
        known = [stems.of(" ".join((table.title, table.name, described_table(table, 50)))) for table in records.tables]
        requests = [self._request(query, stems.of(query.text), known, records) for query in queries]
        first = ask(self.generator, requests)
        found = [_read(reply, records) for reply in first]
        wrong = [place for place, each in enumerate(found) if isinstance(each, str) and not isinstance(first[place], str)]
        second = ask(self.generator, [self._again(requests[at], first[at], found[at]) for at in wrong])
        took = [Spent(*spent(reply)) for reply in first]
        for at, reply in zip(wrong, second, strict=True):
            found[at] = _read(reply, records)
            took[at] += Spent(*spent(reply))
        lost = [at for at, each in enumerate(found) if isinstance(each, str)]
        by_rules = dict(zip(lost, self.rules.route([queries[at] for at in lost], records), strict=True))
        return [
            replace(by_rules[at], why=f"by rules: the model's reply {each}"[:200], tokens=taken.tokens, cost=taken.cost)
            if isinstance(each, str)
            else replace(each, tokens=taken.tokens, cost=taken.cost)
            for at, (each, taken) in enumerate(zip(found, took, strict=True))
        ]

    def _request(self, query: Query, words: frozenset[str], known: Sequence[frozenset[str]], records: RecordSet) -> Request:
        best = sorted(range(len(known)), key=lambda place: -len(words & known[place]))[: self.tables]
        shown = "\n".join(described_table(records.tables[place], self.values) for place in best)
        user = fill(self.prompt, {"tables": shown, "question": query.text})
        return Request(query, (), (Message("system", self.instruction), Message("user", user)))

    def _again(self, request: Request, reply: Given, problem: Routed | str) -> Request:
        text = reply if isinstance(reply, str) else reply.text[:REPEATED]
        correction = Message("user", fill(self.again, {"problem": str(problem)[:REPEATED]}))
        return Request(request.query, (), (*request.messages, Message("assistant", text), correction))


def _read(reply: Given, records: RecordSet) -> Routed | str:
    """The route of a reply, or what is wrong with it."""
    if isinstance(reply, str):
        return f"is missing: {reply}"
    try:
        mechanism, query = routed(reply.text)
        if query:
            check_query(query, records)
    except (ValueError, UserError) as error:
        return f"has an error: {error.what}; {error.remedy}" if isinstance(error, UserError) else str(error)
    return Routed(mechanism, query, "by the model")  # type: ignore[arg-type]
