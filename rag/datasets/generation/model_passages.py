"""Passages that a model is asked about: the sentences, list items or table rows of a section, numbered."""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from rag.core.headings import above, sections, title
from rag.core.records import Document, Span
from rag.core.text.layout import parts
from rag.core.text.sentences import Piece, blocks, sentences
from rag.core.text.stems import Stems
from rag.core.text.tables import within

MOST, LONGEST = 8, 1000
"""The most units of a passage, and the most characters of a passage and of a unit."""
DOCUMENTS = 500
"""Documents whose passages are compared in order to find pairs."""
RARE = 5
"""A word is rare if at most so many passages have it."""
HEAD = 300
"""Characters at the beginning of a document that may say that it is superseded."""
EDITION = re.compile(r"[\W\d_]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """Units [start, end) of one section of a document; `names` are the columns of a table whose rows they are."""

    document: Document
    path: str
    units: tuple[Piece, ...]
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The units as they stand in the document."""
        return self.document.text[self.units[0][0] : self.units[-1][1]]

    def span(self, number: int) -> Span:
        """The span of a unit, counted from 0."""
        return Span(self.document.doc_id, *self.units[number])

    def shown(self, first: int = 1) -> str:
        """The headings, and a line for each unit with its number; the cells of a row with the names of their columns."""
        lines = [f"[{number}] {self._line(unit)}" for number, unit in enumerate(self.units, first)]
        return "\n".join([self.path or title(self.document.text) or self.document.doc_id, *lines])

    def _line(self, unit: Piece) -> str:
        if not self.names:
            return " ".join(self.document.text[slice(*unit)].split())
        row = next(row for table in within(self.document.text, *unit) for row in table.rows if row.start == unit[0])
        cells = zip(self.names, row.cells, strict=False)
        return "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)


def passages(document: Document, language: str) -> Iterator[Passage]:
    """The passages of a document in reading order, each of text or of table rows; longer units are left out."""
    text = document.text
    heads = sections(text)
    units: list[tuple[str, tuple[str, ...], Piece]] = []
    for part in parts(text):
        if part.kind == "table":
            for table in within(text, part.start, part.end):
                units += [(above(heads, part.start).path, table.names, (row.start, row.end)) for row in table.rows]
        elif part.kind in ("text", "list", "quote"):
            path = above(heads, part.start).path
            lines = ((part.start + start, part.start + end) for start, end in blocks(text[part.start : part.end]))
            units += [(path, (), piece) for line in lines for piece in sentences(text, line, language)]
    for (path, names), group in groupby(units, key=lambda unit: unit[:2]):
        pieces = [piece for _, _, piece in group if piece[1] - piece[0] <= LONGEST]
        yield from (Passage(document, path, some, names) for some in _filled(pieces))


def _filled(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    """Units in groups of at most MOST units and LONGEST characters."""
    group: list[Piece] = []
    for piece in pieces:
        if group and (len(group) == MOST or piece[1] - group[0][0] > LONGEST):
            yield tuple(group)
            group = []
        group.append(piece)
    if group:
        yield tuple(group)


def shuffled(items: Sequence[Passage], salt: str) -> list[Passage]:
    """Passages in an order that is the same every time: one of each document, then the next of each."""

    def drawn(*what: object) -> str:
        return hashlib.sha256(repr((salt, *what)).encode()).hexdigest()

    by_document = defaultdict[str, list[Passage]](list)
    for item in sorted(items, key=lambda item: drawn(item.document.doc_id, item.units[0])):
        by_document[item.document.doc_id].append(item)
    ranked = [(rank, drawn(name), item) for name, own in by_document.items() for rank, item in enumerate(own)]
    return [item for _, _, item in sorted(ranked, key=lambda each: each[:2])]


Fits = Callable[[Passage, Passage], bool]


class Pairs:
    """Pairs of passages that a question may need together, by the words that they share."""

    def __init__(self, found: Sequence[Passage], language: str) -> None:
        stems = Stems(language)
        self.passages = found
        self.terms = [stems.of(f"{item.path} {item.text}") for item in found]
        self.holders = defaultdict[str, list[int]](list)
        for number, terms in enumerate(self.terms):
            for term in terms:
                self.holders[term].append(number)

    def of(self, relation: str, superseded: Sequence[str]) -> Iterator[tuple[Passage, Passage]]:
        """Each passage with the one that shares most words with it, under the conditions of a relation.

        `linked`: of another document, by rare words, and not much the same; `alike`: of another section, and no copy;
        `editions`: of the superseded edition of a document. Editions have the same name but for digits, and the beginning or
        the metadata of an old one has one of the words `superseded`.
        """
        if relation == "linked":
            return self._best(lambda own, other: own.document is not other.document, RARE, 0.0, 0.4)
        if relation == "alike":
            return self._best(lambda own, other: own.path != other.path or own.document is not other.document, 50, 0.1, 0.9)
        said = re.compile("|".join(map(re.escape, superseded)), re.IGNORECASE)
        documents = {item.document.doc_id: item.document for item in self.passages}
        old = {name for name, document in documents.items() if said.search(_beginning(document))}

        def fits(own: Passage, other: Passage) -> bool:
            first, second = own.document.doc_id, other.document.doc_id
            return first not in old and second in old and _family(first) == _family(second)

        return self._best(fits, len(self.passages), 0.1, 0.98)

    def _best(
        self, fits: Callable[[Passage, Passage], bool], common: int, least: float, most: float
    ) -> Iterator[tuple[Passage, Passage]]:
        """Pairs whose share of common words is between two bounds; only words of at most `common` passages find partners."""
        for number, terms in enumerate(self.terms):
            scores = defaultdict[int, float](float)
            for term in sorted(terms):
                holders = self.holders[term]
                for other in holders if 1 < len(holders) <= common else ():
                    scores[other] += math.log(len(self.passages) / len(holders) + 1)
            for other, _ in sorted(scores.items(), key=lambda each: (-each[1], each[0])):
                own, second = self.passages[number], self.passages[other]
                share = len(terms & self.terms[other]) / len(terms | self.terms[other])
                if other != number and least <= share <= most and bool(own.names) == bool(second.names) and fits(own, second):
                    yield own, second
                    break


def _beginning(document: Document) -> str:
    return " ".join([document.text[:HEAD], *map(str, document.metadata.values())])


def _family(doc_id: str) -> str:
    return EDITION.sub("", PurePosixPath(doc_id).with_suffix("").as_posix()).lower()
