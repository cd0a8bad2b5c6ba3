"""A record in the making: the values of one document, their places, and what could not be used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag.core import headings
from rag.core.documents import Document, Value
from rag.core.models.pinned import readable
from rag.core.record_sets import Cell, Field, FieldFailure, Record

SHORT = 1000
"""The most characters of the beginning of a document, and of the place of a record."""

Place = tuple[int, int]
Part = Sequence[tuple[int | None, str]]
"""Texts with their places in the document, None for a text that is not in it."""


@dataclass(frozen=True)
class Stated:
    """What a document states, and the characters [start, end) that state it; None for metadata."""

    value: Value | Sequence[str]
    place: Place | None = None

    def joined(self, others: Sequence["Stated"]) -> "Stated":
        """This value and others as one list, at the place of the first."""
        return Stated([str(each.value) for each in (self, *others)], self.place)


@dataclass
class Draft:
    """The values of a document by field; a field with a failure has no value."""

    document: Document
    values: dict[str, Cell] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def state(self, name: str, value: Cell, place: Place | None) -> None:
        """Set the value of a field."""
        self.values[name] = value
        self.failures.pop(name, None)
        if place:
            self.places.append(place)

    def part(self, name: str) -> Part:
        """The texts of one of PARTS."""
        known: Mapping[str, Callable[[], Part]] = {
            "text": lambda: [(0, self._text)],
            "beginning": lambda: [(self._body, self._text[self._body : self._second][:SHORT])],
            "title": lambda: self._headings[:1] or [(None, self.document.doc_id.rpartition("/")[2])],
            "headings": lambda: self._headings,
            "name": lambda: [(None, self.document.doc_id)],
        }
        return known[name]()

    def record(self, fields: Sequence[Field]) -> Record:
        """The record, at the characters that state its values if they are near each other, or else at the first of them."""
        places = sorted(self.places) or [self._first_line]
        start, end = places[0][0], max(place[1] for place in places)
        values = tuple(self.values.get(each.name) for each in fields)
        doc_id = self.document.doc_id
        return Record(doc_id, doc_id, start, end if end - start <= SHORT else min(places[0][1], start + SHORT), values)

    def failed(self, fields: Sequence[Field]) -> list[FieldFailure]:
        """The failures, those of declared fields first."""
        names = {**dict.fromkeys(each.name for each in fields if each.name in self.failures), **dict.fromkeys(self.failures)}
        return [FieldFailure(self.document.doc_id, name, self.failures[name]) for name in names]

    @cached_property
    def _text(self) -> str:
        return readable(self.document.text)

    @cached_property
    def _body(self) -> int:
        """The end of the metadata at the top of the text."""
        front = headings.FRONT.match(self._text)
        return front.end() if front else 0

    @cached_property
    def _sections(self) -> list[headings.Section]:
        return headings.sections(self._text)

    @cached_property
    def _second(self) -> int:
        """The second heading, or the end of the text."""
        return self._sections[2].start if len(self._sections) > 2 else len(self._text)

    @cached_property
    def _headings(self) -> Part:
        """The lines of headings, without marks around their words."""
        found = []
        for section in self._sections[1:]:
            line = self._text[section.start : section.body].strip("\n")
            words = section.path.rpartition(" > ")[2]
            at = line.find(words)
            found.append((section.start + at, words) if at >= 0 else (None, words))
        return found

    @property
    def _first_line(self) -> Place:
        """The first line with text."""
        text = self._text
        start = len(text) - len(text.lstrip())
        end = text.find("\n", start)
        return start, min(len(text) if end < 0 else end, start + SHORT)
