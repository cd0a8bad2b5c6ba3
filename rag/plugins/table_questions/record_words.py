"""The words of questions and of tables, as stems that can be compared."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from rag.core.records.display import written
from rag.core.records.sets import Cell, RecordTable
from rag.core.text.languages import stemmer
from rag.core.text.values.numbers import cardinal

TOKEN = re.compile(r"(?:(,)[\s\"'“‘(]*)?([^\W_]+(?:(?:[.,'’](?=[^\W_]))[^\W_]+)*|[%£$€¥])")
LONGEST = 6
"""The most words of a value or a field name that are compared."""
SHARE = 3
"""Words link to a cell that has at most this many times as many words."""
MOST_TOKENS, MOST_ROWS = 40, 5_000
"""The most words of a cell whose parts are linked, and the most rows of such a table; larger ones are linked by whole cells."""
YEAR = re.compile(r"1\d{3}|20\d\d")
NOTE = re.compile(r"(?:\s*(?:\(\d{1,2}\)|\[[^\]]{1,8}\]|[*†‡]))+$")
"""Marks of footnotes at the end of a cell."""
Stems = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text in lower case, its stem, its value if it is a number, and if a comma stands before it."""

    word: str
    stem: str
    number: float | None
    has_comma: bool = False


class Tokenizer:
    """Splits texts into tokens; every thread needs its own."""

    def __init__(self, language: str) -> None:
        self._stemmer = stemmer(language)
        self._known: dict[tuple[str, bool], Token] = {}

    def __call__(self, text: str) -> tuple[Token, ...]:
        """The tokens of a text; numbers are alike in digits and words, with and without separators."""
        return tuple(self._token(match[2].lower(), bool(match[1])) for match in TOKEN.finditer(text))

    def stems(self, text: str) -> Stems:
        """The stems of a text."""
        return tuple(token.stem for token in self(text))

    def _token(self, word: str, has_comma: bool) -> Token:
        if (word, has_comma) not in self._known:
            plain = re.sub(r"['’]s$", "", word)
            counted = cardinal(plain)
            stem = counted or (self._stemmer.stemWord(plain) if self._stemmer else plain)
            self._known[word, has_comma] = Token(plain, stem, float(counted) if counted else None, has_comma)
        return self._known[word, has_comma]


@dataclass
class Link:
    """Rows of a field with certain words: those whose cell has no others, and all."""

    whole: set[int] = field(default_factory=set)
    part: set[int] = field(default_factory=set)


class Lexicon:
    """The words of one table: of its fields, cells and titles."""

    def __init__(self, table: RecordTable, tokens: Tokenizer, words: Mapping[str, str]) -> None:
        stop = frozenset(tokens.stems(words["stop"]))
        self.table = table
        self.title = frozenset(tokens.stems(f"{table.name} {table.title}"))
        self.fields: dict[Stems, list[int]] = {}
        self.partial: dict[Stems, list[int]] = {}
        self.headed: dict[int, int] = {}
        self.names = frozenset(form for each in table.fields for token in tokens(each.name) for form in singulars(token.word))
        self.values: dict[Stems, dict[int, Link]] = {}
        self.written: set[str] = set()
        self.items: dict[tuple[int, Stems], dict[str, None]] = {}
        for place, each in enumerate(table.fields):
            stems = tokens.stems(each.name.partition("(")[0]) or tokens.stems(each.name)
            parts = [part for part in _parts(stems) if part[0] not in stop and part[-1] not in stop]
            for part in {stems, *parts}:
                (self.fields if part == stems else self.partial).setdefault(part, []).append(place)
            years = {int(stem) for stem in stems if YEAR.fullmatch(stem)}
            if len(years) == 1:
                self.headed[place] = years.pop()
        ranked = {*tokens.stems(words["ranks"])}
        self.ranks = [place for place, each in enumerate(table.fields) if ranked & {*tokens.stems(each.name)}]
        for row, record in enumerate(table.records):
            for place, each in enumerate(table.fields):
                held = record.values[place]
                for text in held if isinstance(held, tuple) else (written(record, place, each),):
                    cell = tokens(NOTE.sub("", text))
                    stems = tuple(token.stem for token in cell)
                    self.written.update(form for token in cell for form in singulars(token.word))
                    by_part = len(table.records) <= MOST_ROWS and len(stems) <= MOST_TOKENS and each.type != "list"
                    if stems and each.type != "boolean":
                        self._add(stems, place, row, by_part, stop)
                    if stems and isinstance(held, tuple):
                        self.items.setdefault((place, stems), {})[text] = None
        units = (stem for each in table.fields for stem in tokens.stems(each.unit))
        self.words = self.title.union(units, *self.fields, *self.values)
        keys = [place for place, each in enumerate(table.fields) if each.type == "text"]
        alone = [place for place in keys if self.is_key(place)]
        self.key = (alone or keys or [0])[0]
        self.years = [place for place, each in enumerate(table.fields) if each.type == "date" or self._has_years(place)]
        ids = [
            place
            for place, each in enumerate(table.fields)
            if {token.word for token in tokens(each.name)} <= {*words["ids"].split()}
        ]
        self.labels = {*self.ranks, *self.years, *ids, *filter(self._is_serial, range(len(table.fields)))}
        self.sides = tuple(f"{word} " for each in words["sides"].split() for word in (each, f"{each}."))

    def _add(self, stems: Stems, place: int, row: int, by_part: bool, stop: frozenset[str]) -> None:
        self.values.setdefault(stems, {}).setdefault(place, Link()).whole.add(row)
        for part in _parts(stems) if by_part else ():
            is_much = SHARE * len(part) >= len(stems)
            if part != stems and is_much and part[0] not in stop and part[-1] not in stop:
                self.values.setdefault(part, {}).setdefault(place, Link()).part.add(row)
        if len(stems[0]) == 1 < len(stems):
            self.values.setdefault((f"{stems[0]}.", *stems[1:]), {}).setdefault(place, Link()).whole.add(row)

    def has(self, stems: frozenset[str]) -> bool:
        """True if the table may have all stems, a first name as its initial."""
        return all(stem in self.words or stem[0] in self.words for stem in stems)

    def named(self, stems: Stems) -> tuple[list[int], bool]:
        """The fields with this name, else the only one that has these words in its name; and if it is the whole name."""
        whole, partial = self.fields.get(stems, []), self.partial.get(stems, [])
        return (whole, True) if whole else (partial if len(partial) == 1 else [], False)

    def links(self, stems: Stems) -> Mapping[int, Link]:
        """The rows with these words by field; a first name finds its initial."""
        found = self.values.get(stems, {})
        return found or (self.values.get((f"{stems[0][0]}.", *stems[1:]), {}) if len(stems) > 1 else {})

    def is_sorted(self, place: int) -> bool:
        """True if the values of a field never fall from row to row."""
        values = self._values(place)
        return None not in values and all(first <= second for first, second in pairwise(values))  # type: ignore[operator]

    def is_in_time(self) -> bool:
        """True if the records are in the order of all their dates and years, those within texts too."""
        texts = [place for place, each in enumerate(self.table.fields) if each.type == "text"]
        found = ([YEAR.search(str(value)) for value in self._values(place)] for place in texts)
        years = ([year[0] for year in each if year] for each in found if all(each))
        return all(map(self.is_sorted, self.years)) and all(each == sorted(each) for each in years)

    def is_key(self, place: int) -> bool:
        """True if no two records have the same value; False for lists, whose items are values."""
        values = self._values(place)
        return self.table.fields[place].type != "list" and len(set(values)) == len(values)

    def _values(self, place: int) -> list[Cell]:
        return [record.values[place] for record in self.table.records if not record.total]

    def _is_serial(self, place: int) -> bool:
        """True for the numbers of the records, from 1."""
        values = self._values(place)
        return len(values) > SHARE and not self.table.fields[place].unit and values == [*range(1, len(values) + 1)]

    def _has_years(self, place: int) -> bool:
        values = [record.values[place] for record in self.table.records if record.values[place] is not None]
        is_plain = self.table.fields[place].type == "number" and not self.table.fields[place].unit
        return is_plain and bool(values) and all(1000 <= value <= 2100 and value == int(value) for value in values)  # type: ignore[operator, arg-type]


def singulars(word: str) -> set[str]:
    """A word, and what it may be without the ending of a plural."""
    endings = {"s": "", "es": "", "ies": "y"}
    return {word} | {word.removesuffix(end) + other for end, other in endings.items() if word.endswith(end)}


def _parts(stems: Stems) -> Iterator[Stems]:
    """All words in a row, up to the longest that are compared."""
    for start in range(len(stems)):
        for end in range(start + 1, min(start + LONGEST, len(stems)) + 1):
            yield stems[start:end]


class Phrases:
    """The phrases of a language, from kind → meaning → phrases; each with its kind and meaning."""

    def __init__(self, groups: Mapping[str, Mapping[str, Any]], tokens: Tokenizer) -> None:
        self.meanings = {
            tuple(token.word for token in tokens(str(phrase))): (kind, meaning)
            for kind, named in groups.items()
            for meaning, phrases in named.items()
            for phrase in phrases
        }
        self.longest = max(map(len, self.meanings), default=0)
        self.words = frozenset(word for phrase in self.meanings for word in phrase)

    def at(self, tokens: Sequence[Token], start: int) -> tuple[int, tuple[str, Any]] | None:
        """The end and the meaning of the longest phrase that begins at a token."""
        for end in range(min(start + self.longest, len(tokens)), start, -1):
            if found := self.meanings.get(tuple(token.word for token in tokens[start:end])):
                return end, found
        return None
