"""Routes a question to records if the words of a table explain all of it, without a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.components.routers.question_labels import CONTENT, Labeller
from rag.components.routers.question_parts import ASKS, Misfit
from rag.components.routers.question_reading import Reading
from rag.components.routers.record_words import Lexicon, Phrases, Token, Tokenizer
from rag.core.errors import UserError
from rag.core.memo import Once
from rag.core.record_database import RecordDatabase
from rag.core.record_queries import RecordQuery, Result, Routed
from rag.core.record_sets import RecordSet
from rag.core.records import Query
from rag.core.text.languages import check_language

MOST_WORDS = 60
"""The most words of a question."""
FEWEST = 2
"""The least number of addends of a sum."""
LISTED = ("list", "top_n", "lookup")
"""Intents whose values must not be missing."""


@dataclass(frozen=True)
class _Opened:
    """Records with the words of their tables and their database."""

    lexicons: tuple[Lexicon, ...]
    database: RecordDatabase
    single: bool


@dataclass(frozen=True)
class _Found:
    """A reading that gives an answer: `specific` is the number of words that fields and values explain."""

    query: RecordQuery
    answer: tuple[str, ...]
    specific: int


@dataclass(frozen=True)
class RulesRouter:
    """Makes a query of a question by the phrases of a language and the words of the tables.

    Every word must be a phrase of `operations`, `orders` or `comparisons`, the name or a value of a field, a word of the title
    of the table, or one of `stop`; and every phrase, name and value must have its part in the query. A question may be read in
    several ways: all that fit the records must give one answer, or the question is semantic. A query of one value in one record
    is made only if there is a single table, because a passage answers it as well. A filter before a phrase of `operations.says`
    narrows the search for the rest of the question: the route is `both`.
    """

    operations: Mapping[str, Sequence[str]]
    orders: Mapping[str, Sequence[str]]
    comparisons: Mapping[str, Sequence[str]]
    times: Mapping[str, str]
    joints: Sequence[str]
    rows: Sequence[str]
    related: Mapping[str, Sequence[str]]
    stop: str
    language: str = "english"
    languages: Sequence[str] = ("english",)

    def __post_init__(self) -> None:
        check_language("route.language", self.language)
        object.__setattr__(self, "_opened", Once())

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        """The routes; semantic for a language without phrases."""
        if not records.tables or self.language not in self.languages:
            return [Routed() for _ in queries]
        tokens = Tokenizer(self.language)
        stop = frozenset(tokens.stems(self.stop))
        groups = {"operation": self.operations, "order": self.orders, "comparison": self.comparisons}
        once: Once = self._opened  # type: ignore[attr-defined]
        phrases: Phrases = once(self, lambda: Phrases.of(groups, tokens))
        opened: _Opened = once(records, lambda: self._open(records, tokens, stop))
        labeller = Labeller(tokens, phrases, stop, self.rows, self.joints, self.related)
        return [self._routed(query.text, opened, labeller) for query in queries]

    def _open(self, records: RecordSet, tokens: Tokenizer, stop: frozenset[str]) -> _Opened:
        lexicons = tuple(Lexicon(table, tokens, stop) for table in records.tables if table.records)
        return _Opened(lexicons, RecordDatabase(records), len(records.tables) == 1)

    def _routed(self, text: str, opened: _Opened, labeller: Labeller) -> Routed:
        tokens = labeller.tokens(text)
        if not tokens or len(tokens) > MOST_WORDS:
            return Routed()
        needed = labeller.needed(tokens)
        fitting = [lexicon for lexicon in opened.lexicons if lexicon.has(needed)]
        found = [each for lexicon in fitting for each in self._found(tokens, lexicon, opened, labeller)]
        best = [each for each in found if each.specific == max(other.specific for other in found)]
        if len({each.answer for each in best}) == 1:
            return Routed("records", best[0].query, f"{best[0].query.intent} in {best[0].query.table}")
        narrowed = [query for lexicon in opened.lexicons for query in self._narrowed(tokens, lexicon, labeller)]
        if len(narrowed) == 1:
            return Routed("both", narrowed[0], f"passages of documents in {narrowed[0].table}")
        return Routed(why="several answers" if best else "")

    def _found(self, tokens: Sequence[Token], lexicon: Lexicon, opened: _Opened, labeller: Labeller) -> list[_Found]:
        """All readings of a question for one table that give an answer; none if they differ."""
        found = []
        for parts in labeller.readings(tokens, lexicon):
            reading = Reading(parts, lexicon, self.times)
            try:
                query = reading.query()
                if reading.is_absolute and _value(opened, query) < 0 and query.other:
                    query = replace(query.other, intent=query.intent, other=replace(query, intent="lookup", other=None))
                result = _checked(query, reading.claims, opened)
            except (Misfit, UserError):
                continue
            specific = sum(part.end - part.start for part in parts if part.kind in CONTENT)
            found.append(_Found(query, (result.value,) if result.value else tuple(sorted(result.values)), specific))
        return found if len({each.answer for each in found}) == 1 else []

    def _narrowed(self, tokens: Sequence[Token], lexicon: Lexicon, labeller: Labeller) -> Iterator[RecordQuery]:
        """Queries of the documents that a filter in front of `says` names."""
        for start in range(len(tokens)):
            phrase = labeller.phrases.at(tokens, start)
            if phrase and phrase[1] == ("operation", "says"):
                for parts in labeller.readings(tokens[:start], lexicon):
                    values = [part for part in parts if part.kind == "value"]
                    others = {part.kind for part in parts if part.meaning not in ASKS} - {
                        "stop",
                        "title",
                        "rows",
                        "value",
                        "field",
                    }
                    if values and not others:
                        yield RecordQuery("list", lexicon.table.name, where=Reading(parts, lexicon, {}).where(values))
                return


def _value(opened: _Opened, query: RecordQuery) -> float:
    return float(opened.database.run(query).rows[0][0])  # type: ignore[arg-type]


def _checked(query: RecordQuery, claims: Sequence[float], opened: _Opened) -> Result:
    """The result of a query that has one clear answer; Misfit for another one."""
    run = opened.database.run
    result = run(query)
    ranked = query.n if query.intent in ("top_n", "group_by") else 0
    is_empty = (query.intent == "count" and result.value == "0") or not (result.value or result.values)
    is_one = len(result.sources) == 1 and query.intent not in ("exists", "difference", "change", "group_by")
    unclear = {
        "equal records": ranked and len(result.rows) != ranked,
        "not one record": query.intent == "lookup" and (len(set(result.values)) != 1 or not result.value),
        "no records": is_empty,
        "a missing value": query.intent in LISTED and any(value is None for row in result.rows for value in row),
        "one record, as in a passage": is_one and not opened.single,
    }
    for why, is_so in unclear.items():
        if is_so:
            raise Misfit(why)
    taken = len(run(RecordQuery("lookup", query.table, query.fields, query.where)).rows) if query.fields or claims else 0
    if any(claim != taken for claim in claims):
        raise Misfit("another number of records")
    if query.intent in ("sum", "average") and taken * len(query.fields) < FEWEST:
        raise Misfit("one number")
    operands = (query, query.other) if query.intent in ("difference", "change") and query.other else ()
    if any(len(run(replace(each, intent="lookup", other=None)).rows) != 1 for each in operands):
        raise Misfit("not two numbers")
    return result
