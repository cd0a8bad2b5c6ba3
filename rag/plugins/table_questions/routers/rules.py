"""Routes a question to records if the words of a table explain all of it, without a model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from rag.core.errors import UserError
from rag.core.memo import Once
from rag.core.records.database import RecordDatabase
from rag.core.records.queries import RecordQuery, Routed
from rag.core.records.sets import RecordSet
from rag.core.text.languages import check_language
from rag.core.types import Query
from rag.plugins.table_questions.question_doubts import Doubt, clear_result
from rag.plugins.table_questions.question_labels import CONTENT, Labeller
from rag.plugins.table_questions.question_parts import ASKS, Misfit
from rag.plugins.table_questions.question_reading import Reading
from rag.plugins.table_questions.record_words import Lexicon, Phrases, Token, Tokenizer

MOST_WORDS = 60
"""The most words of a question."""
KEPT = 4
"""Sets of records that stay open."""


@dataclass(frozen=True)
class _Opened:
    """Records with the words of their tables and their database."""

    lexicons: tuple[Lexicon, ...]
    database: RecordDatabase


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
    of the table, or one of `words`; and every phrase, name and value must have its part in the query. A question may be read in
    several ways: all that fit the records must give one answer, or the question is semantic. A query of one value in one record
    is made only if there is a single table, because a passage answers it as well. A filter before a phrase of `operations.says`
    narrows the search for the rest of the question: the route is `both`.
    """

    operations: Mapping[str, Sequence[str]]
    orders: Mapping[str, Sequence[str]]
    comparisons: Mapping[str, Sequence[str]]
    words: Mapping[str, str]
    nouns: Mapping[str, Sequence[str]]
    related: Mapping[str, Sequence[str]]
    language: str = "english"
    languages: Sequence[str] = ("english",)
    _phrases: Once = field(default_factory=Once, init=False, compare=False)
    _recent: list[tuple[RecordSet, "_Opened"]] = field(default_factory=list, init=False, compare=False)

    def __post_init__(self) -> None:
        check_language("route.language", self.language)

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        """The routes; semantic for a language without phrases, and with the `failure` for a question that ends in an error."""
        if not records.tables or self.language not in self.languages:
            return [Routed() for _ in queries]
        tokens = Tokenizer(self.language)
        groups = {"operation": self.operations, "order": self.orders, "comparison": self.comparisons}
        phrases = self._phrases(self, lambda: Phrases(groups, tokens))
        opened = self._opened(records, tokens)
        labeller = Labeller(tokens, phrases, self.words, self.nouns, self.related)
        return [self._routed(query.text, opened, labeller) for query in queries]

    def _opened(self, records: RecordSet, tokens: Tokenizer) -> _Opened:
        """Records, opened; those of the last questions are kept. Filters of a search make records of their own."""
        if found := next((opened for known, opened in tuple(self._recent) if known is records), None):
            return found
        lexicons = tuple(Lexicon(table, tokens, self.words) for table in records.tables if table.records)
        opened = _Opened(lexicons, RecordDatabase(records))
        self._recent[:] = [*self._recent[1 - KEPT :], (records, opened)]
        return opened

    def _routed(self, text: str, opened: _Opened, labeller: Labeller) -> Routed:
        try:
            return self._read(text, opened, labeller)
        except Exception as error:  # No question may end a batch.
            return Routed(failure=repr(error)[:200])

    def _read(self, text: str, opened: _Opened, labeller: Labeller) -> Routed:
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
            reading = Reading(parts, lexicon)
            try:
                query = reading.query()
                if reading.is_absolute and query.other and opened.database.run(query).value.startswith("-"):
                    query = replace(query.other, intent=query.intent, other=replace(query, intent="lookup", other=None))
                result = clear_result(query, reading, opened.database, len(opened.lexicons) == 1)
            except Doubt:
                return []
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
                    others = {part.kind for part in parts if part.meaning not in ASKS}
                    others -= {"stop", "title", "rows", "value", "field"}
                    if values and not others:
                        with suppress(Misfit):
                            yield RecordQuery("list", lexicon.table.name, where=Reading(parts, lexicon).where(values))
                return
