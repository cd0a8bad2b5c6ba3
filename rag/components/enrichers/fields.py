"""Fields that a config declares, the sources of their values, and the record of a document in the making."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from rag.core.checks import check_choice, check_whole
from rag.core.corpus import Corpus
from rag.core.documents import Document, Span
from rag.core.errors import ConfigError
from rag.core.headings import FRONT, sections
from rag.core.models.pinned import readable
from rag.core.records.sets import Cell, Field, FieldFailure, FieldType, Record, RecordSet, RecordTable
from rag.core.text.field_values import ITEMS, UnfitError, fitted
from rag.core.text.languages import stop_words
from rag.core.text.re2_patterns import compiled
from rag.core.text.stems import Stems

SHORT = 1000
"""The most characters of the beginning of a document, and of the place of a record."""
ROSTER = "roster"
"""The source of fields that a roster fills."""
PARTS = ("text", "beginning", "title", "headings", "name")
"""What a pattern reads: the text, its part up to the second heading, the line of the first or of every heading, the doc_id."""
KEYS = ("name", "type", "description", "allowed", "unit", "inferred", "source")
SOURCE_KEYS = ("metadata", "pattern", "in", "value", "keywords")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass
class Draft:
    """The values of one document of a `corpus` by field, the characters that state them, and why other fields have none."""

    document: Document
    corpus: Corpus | None = None
    values: dict[str, Cell] = field(default_factory=dict)
    places: list[tuple[int, int]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def take(self, field: Field, value: object, place: tuple[int, int] | None = None) -> None:
        """Fill a field that is empty, or list why the value does not fit; `place` is None for one that is not in the text."""
        try:
            self.values.setdefault(field.name, fitted(field, value))
        except UnfitError as error:
            self.failures.setdefault(field.name, str(error))
            return
        self.failures.pop(field.name, None)
        self.places += [place] if place else []

    def record(self, fields: Sequence[Field]) -> Record:
        """The record, where its values are if these are near each other, or else where the first is, or at the first line."""
        text, doc_id = self.document.text, self.document.doc_id
        first = len(text) - len(text.lstrip())
        line = text.find("\n", first)
        places = sorted(self.places) or [(first, len(text) if line < 0 else line)]
        start, end = places[0][0], max(end for _, end in places)
        end = end if end - start <= SHORT else min(places[0][1], start + SHORT)
        return Record(doc_id, doc_id, start, end, tuple(self.values.get(each.name) for each in fields))

    def part(self, name: str) -> list[tuple[int | None, str]]:
        """The texts of one of PARTS with their places, None for a name."""
        if name in ("text", "name"):
            return [(0, self._text)] if name == "text" else [(None, self.document.doc_id)]
        if name == "beginning":
            front = FRONT.match(self._text)
            start = front.end() if front else 0
            return [(start, self._text[start : self._headings[1][0] if len(self._headings) > 1 else None][:SHORT])]
        lines: list[tuple[int | None, str]] = [(start, self._text[start:end].strip()) for start, end in self._headings]
        return lines if name == "headings" else lines[:1] or [(None, self.document.doc_id.rpartition("/")[2])]

    @cached_property
    def _headings(self) -> list[tuple[int, int]]:
        return [(each.start, each.body) for each in sections(self._text)[1:]]

    @cached_property
    def _text(self) -> str:
        return readable(self.document.text)


@dataclass(frozen=True)
class DeclaredField:
    """A field with its sources, in the order in which they are read; a roster fills it where `of_roster` is True."""

    field: Field
    sources: Sequence[Mapping[str, Any]]
    of_roster: bool

    def fill(self, draft: Draft) -> None:
        """Take the first value that fits the field, or else list why the first one does not."""
        for source in self.sources:
            if self.field.name not in draft.values and (found := list(self._read(source, draft))):
                several = self.field.type == "list" and "pattern" in source
                draft.take(self.field, ", ".join(str(value) for value, _ in found) if several else found[0][0], found[0][1])

    def _read(self, source: Mapping[str, Any], draft: Draft) -> Iterator[tuple[Any, tuple[int, int] | None]]:
        """What a document states in a source, with its places: several values where a pattern fills a list."""
        if "keywords" in source and draft.corpus:
            found = keywords(draft.document.text, draft.corpus, source["keywords"])
            yield from [(found, None)] if found else []
            return
        if "pattern" not in source:
            value = draft.document.metadata.get(source["metadata"]) if "metadata" in source else source["value"]
            yield from [] if value in (None, "") else [(value, None)]
            return
        matches = ((start, match) for start, text in draft.part(source["in"]) for match in source["pattern"].finditer(text))
        for number, (start, match) in enumerate(matches):
            first, last = match.span(source["pattern"].groups)
            if match[source["pattern"].groups]:
                value = source.get("value", match[source["pattern"].groups])
                yield value, None if start is None else (start + first, start + last)
            if number == (ITEMS if self.field.type == "list" else 0):
                return


def drafts(documents: Sequence[Document], fields: Sequence[DeclaredField]) -> Iterator[Draft]:
    """The drafts of documents with what their sources state."""
    reads = any("keywords" in source for each in fields for source in each.sources)
    spans = (Span(document.doc_id, 0, len(document.text)) for document in documents)
    corpus = Corpus.of(documents, spans) if reads else None
    for document in documents:
        draft = Draft(document, corpus)
        for each in fields:
            each.fill(draft)
        yield draft


def records_of(drafts: Iterable[Draft], declared: Sequence[DeclaredField], table: str, title: str) -> RecordSet:
    """The table of finished drafts, and their failures; a draft, with what it read of its document, is not kept."""
    fields = tuple(each.field for each in declared)
    records, failures = list[Record](), list[FieldFailure]()
    for draft in drafts:
        records.append(draft.record(fields))
        failures += [FieldFailure(draft.document.doc_id, name, why) for name, why in draft.failures.items()]
    return RecordSet((RecordTable(table, fields, tuple(records), title),), tuple(failures))


def declared(fields: Sequence[Mapping[str, Any]]) -> tuple[DeclaredField, ...]:
    """The fields of a config; ConfigError for a key, type, source or pattern that is not valid, and for a repeated name."""
    found = tuple(_field(content, f"enrich.fields.{number}") for number, content in enumerate(fields))
    names = [each.field.name.casefold() for each in found]
    if not found or len(set(names)) < len(names):
        raise ConfigError("enrich.fields", f"declares {', '.join(names) or 'nothing'}", "list each field once, by its name")
    return found


def _field(content: Mapping[str, Any], where: str) -> DeclaredField:
    _check_keys(content, KEYS, where)
    name, kind, allowed, source = (content.get(key) for key in ("name", "type", "allowed", "source"))
    check_choice(f"{where}.type", kind or "text", get_args(FieldType))
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{where}.name", f"is {name!r}", "a letter, then letters, digits and _, 64 at most")
    if allowed and (isinstance(allowed, str) or kind in ("number", "date", "boolean") or {*map(type, allowed)} != {str}):
        raise ConfigError(f"{where}.allowed", f"is {allowed!r}", "list texts, for a field of the type text or list")
    made = Field(name, kind or "text", content.get("description", ""), tuple(allowed or ()), content.get("unit", ""))
    made = replace(made, inferred=bool(content.get("inferred")))
    of_roster = source == ROSTER or (isinstance(source, Sequence) and ROSTER in source)
    listed = [source] if isinstance(source, Mapping) else () if source in (None, ROSTER) else source
    if isinstance(listed, str):
        raise ConfigError(f"{where}.source", f"is {listed!r}", f"list sources such as {{metadata: status}}, or write {ROSTER}")
    sources = [_source(each, made, f"{where}.source.{number}") for number, each in enumerate(listed) if each != ROSTER]
    return DeclaredField(made, sources, of_roster)


def _source(content: Mapping[str, Any], field: Field, where: str) -> dict[str, Any]:
    """A source with its pattern compiled."""
    _check_keys(content, SOURCE_KEYS, where)
    if not ({*content} in ({"metadata"}, {"value"}, {"keywords"}) or {"pattern"} <= {*content} <= {"pattern", "in", "value"}):
        raise ConfigError(where, f"is {dict(content)!r}", "write {metadata: key}, {pattern: …, in: title} or {value: …}")
    check_whole(f"{where}.keywords", content.get("keywords", 1), 1)
    check_choice(f"{where}.in", content.get("in", PARTS[0]), PARTS)
    try:
        fitted(field, content["value"]) if "value" in content else None
    except UnfitError as error:
        raise ConfigError(f"{where}.value", str(error), f"a value of the type {field.type}") from error
    if "pattern" not in content:
        return dict(content)
    pattern = compiled(content["pattern"], f"{where}.pattern")
    if pattern.groups > 1 or (not pattern.groups and "value" not in content):
        raise ConfigError(f"{where}.pattern", f"has {pattern.groups} groups", "put the value in one ( ), others in (?: )")
    return {"in": PARTS[0], **content, "pattern": pattern}


def _check_keys(content: object, known: Sequence[str], where: str) -> None:
    if not isinstance(content, Mapping):
        raise ConfigError(where, f"is {content!r}", f"a mapping with the keys {', '.join(known)}")
    for key in content:
        check_choice(f"{where}.{key}", key, known)


def keywords(text: str, corpus: Corpus, most: int) -> list[str]:
    """The words of a text that are frequent in it and in at most half of the documents, one per stem, best first."""
    reader, stop, count = Stems(), stop_words("english_plus"), len(corpus)
    words = Counter(word for word in map(str.lower, reader.terms(text)) if word.isalpha() and len(word) > 2)
    held = {word: max(1, corpus.frequency(word)) for word in words if word not in stop}
    known = {word: times for word, times in held.items() if 2 * times <= count and (times > 1 or words[word] > 1)}
    best = sorted(known, key=lambda word: (-words[word] * math.log(count / known[word]), word))
    stems = dict(zip(reader.stems(best[::-1]), best[::-1], strict=True))  # Of the words with a stem the first stays.
    return [word for word in best if word in stems.values()][:most]
