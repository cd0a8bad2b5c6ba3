"""Routes a question to records if the words of a table explain all of it, without a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from rag.components.routers.question_parts import ASKS, Misfit, Part
from rag.components.routers.question_reading import Reading
from rag.components.routers.record_words import Lexicon, Phrases, Stems, Token, Tokenizer
from rag.core.errors import UserError
from rag.core.memo import Once
from rag.core.record_database import RecordDatabase
from rag.core.record_queries import RecordQuery, Result, Routed
from rag.core.record_sets import RecordSet
from rag.core.records import Query
from rag.core.text.cells import SIGNS
from rag.core.text.languages import check_language

MOST_READINGS, MOST_MEANINGS, MOST_WORDS = 48, 4, 60
"""The most readings of a question for a table, meanings of some of its words, and words of a question."""
FEWEST = 2
"""The least number of addends of a sum."""
LISTED = ("list", "top_n", "lookup")
CONTENT = ("value", "field", "number")


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
        labeller = _Labeller(self, tokens, phrases, stop)
        return [self._routed(query.text, opened, labeller) for query in queries]

    def _open(self, records: RecordSet, tokens: Tokenizer, stop: frozenset[str]) -> _Opened:
        lexicons = tuple(Lexicon(table, tokens, stop) for table in records.tables if table.records)
        return _Opened(lexicons, RecordDatabase(records), len(records.tables) == 1)

    def _routed(self, text: str, opened: _Opened, labeller: "_Labeller") -> Routed:
        tokens = labeller.tokens(text)
        if not tokens or len(tokens) > MOST_WORDS:
            return Routed()
        found = [each for lexicon in opened.lexicons for each in self._found(tokens, lexicon, opened, labeller)]
        best = [each for each in found if each.specific == max(other.specific for other in found)]
        if len({each.answer for each in best}) == 1:
            return Routed("records", best[0].query, f"{best[0].query.intent} in {best[0].query.table}")
        narrowed = [query for lexicon in opened.lexicons for query in self._narrowed(tokens, lexicon, labeller)]
        if len(narrowed) == 1:
            return Routed("both", narrowed[0], f"passages of documents in {narrowed[0].table}")
        return Routed(why="several answers" if best else "")

    def _found(self, tokens: Sequence[Token], lexicon: Lexicon, opened: _Opened, labeller: "_Labeller") -> list[_Found]:
        """All readings of a question for one table that give an answer; none if they differ."""
        found = []
        for parts in labeller.readings(tokens, lexicon):
            reading = Reading(parts, lexicon, labeller.times)
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

    def _narrowed(self, tokens: Sequence[Token], lexicon: Lexicon, labeller: "_Labeller") -> Iterator[RecordQuery]:
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


class _Labeller:
    """Finds what the words of a question may mean for a table."""

    def __init__(self, router: RulesRouter, tokens: Tokenizer, phrases: Phrases, stop: frozenset[str]) -> None:
        self.tokens, self.phrases, self._stop = tokens, phrases, stop
        self.times = router.times
        self._joints = frozenset(router.joints)
        self._rows = frozenset(tokens.stems(" ".join(router.rows)))
        self._related = {tokens.stems(word): [tokens.stems(each) for each in named] for word, named in router.related.items()}

    def readings(self, tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[tuple[Part, ...]]:
        """The parts of a question by each reading; none if a word means nothing for the table."""
        spans: list[list[Part]] = []
        start = 0
        while start < len(tokens):
            meanings = self._longest(tokens, start, lexicon)
            before = next((each[0].kind for each in reversed(spans) if each[0].kind != "stop"), "")
            if before == "comparison" and (number := tokens[start].number) is not None:
                fields = self._measured(tokens, start, lexicon)
                meanings = [Part("number", start, start + 1, number=number, fields=fields)]
            if not meanings:
                return
            spans.append(meanings)
            start = meanings[0].end
        if any(part.kind in CONTENT or part.kind == "title" for meanings in spans for part in meanings):
            yield from islice(product(*spans), MOST_READINGS)

    def _longest(self, tokens: Sequence[Token], start: int, lexicon: Lexicon) -> list[Part]:
        phrase = self.phrases.at(tokens, start)
        if self._is_unit(tokens, start, lexicon):
            return [Part("stop", start, start + 1)]
        for end in range(min(len(tokens), start + 6), start, -1):
            stems = tuple(token.stem for token in tokens[start:end])
            found = list(self._schema(stems, start, end, tokens, lexicon))
            if phrase and phrase[0] == end:
                found = [part for part in found if not part.is_part]
                kind, meaning = phrase[1]
                found.append(self._phrase(kind, meaning, stems, start, end, lexicon))
            if found:
                is_loose = len(stems) == 1 and stems[0] in lexicon.title and stems not in lexicon.fields
                return [*found, *([Part("title", start, end)] if is_loose else [])][:MOST_MEANINGS]
        token = tokens[start]
        if token.stem in self._rows:
            return [Part("rows", start, start + 1)]
        if token.stem in self._stop:
            return [Part("stop", start, start + 1, "and" if token.word in self._joints else "")]
        return [Part("title", start, start + 1)] if token.stem in lexicon.title else []

    def _schema(self, stems: Stems, start: int, end: int, tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[Part]:
        """Fields, values and numbers."""
        if len(stems) == 1 and stems[0] in self._stop and stems not in self._related:
            return
        number = tokens[start].number if len(stems) == 1 else None
        places, is_name = lexicon.named(stems)
        for place in places or self._relatives(stems, lexicon):
            yield Part("field", start, end, place=place, number=number or 0)
        if units := self._units(stems, lexicon):
            yield Part("unit", start, end, fields=units)
        links = lexicon.links(stems)
        whole = {place: link.whole for place, link in links.items() if link.whole}
        held = [*(whole or {place: link.part for place, link in links.items() if not is_name}).items()]
        held += [
            (place, rows | links[place].part)
            for place, rows in whole.items()
            if links[place].part - rows and place != lexicon.key
        ]
        for place, rows in held:
            of_source = lexicon.table.fields[place].name == "source"
            kind = "title" if of_source and len(rows) == len(lexicon.table.records) else "value"
            is_part = not whole and not of_source
            yield Part(kind, start, end, place=place, rows=frozenset(rows), number=number or 0, is_part=is_part)
        if number is not None:
            yield Part("number", start, end, number=number, fields=self._measured(tokens, start, lexicon))

    def _phrase(self, kind: str, meaning: str, stems: Stems, start: int, end: int, lexicon: Lexicon) -> Part:
        hints = [self.tokens.stems(word) for word in meaning.split()[1:]] if kind == "order" else self._related.get(stems, [])
        fields = tuple(place for hint in hints for place in lexicon.named(hint)[0])
        return Part(kind, start, end, meaning, fields=tuple(dict.fromkeys(fields)))

    def _relatives(self, stems: Stems, lexicon: Lexicon) -> list[int]:
        """The fields that a related word names."""
        return list(dict.fromkeys(place for each in self._related.get(stems, []) for place in lexicon.named(each)[0]))

    def _units(self, stems: Stems, lexicon: Lexicon) -> tuple[int, ...]:
        """The fields with a unit that words name, themselves or a related one."""
        words = [stems, *self._related.get(stems, [])]
        units = enumerate(self.tokens.stems(each.unit) for each in lexicon.table.fields)
        return tuple(place for place, unit in units if unit and unit in words)

    def _measured(self, tokens: Sequence[Token], at: int, lexicon: Lexicon) -> tuple[int, ...]:
        """The fields whose unit stands around a number."""
        around = {token.stem for token in (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2])}
        return tuple(place for place, each in enumerate(lexicon.table.fields) if around & {*self.tokens.stems(each.unit)[:1]})

    def _is_unit(self, tokens: Sequence[Token], at: int, lexicon: Lexicon) -> bool:
        near = [*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2]]
        units = {stem for each in lexicon.table.fields for stem in self.tokens.stems(each.unit)}
        return any(token.number is not None for token in near) and (tokens[at].stem in units or tokens[at].word in SIGNS)
