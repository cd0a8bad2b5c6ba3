"""Passages that a model is asked about: the sentences, list items or table rows of a section, numbered."""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import NamedTuple

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
HEAD = 300
"""Characters at the beginning of a document that may say that it is superseded."""
EDITION = re.compile(r"[\W\d_]+")


class Bounds(NamedTuple):
    """Words count if at most `common` passages have them; a pair shares a part of all its words from `least` to `most`."""

    common: int
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Passage:
    """Units [start, end) of one section of a document; `names` are the columns of a table whose rows they are."""

    document: Document
    path: str
    units: tuple[Piece, ...]
    names: tuple[str, ...] = ()

    @property
    def doc_id(self) -> str:
        """The document."""
        return self.document.doc_id

    @property
    def place(self) -> tuple[str, str]:
        """Document and section."""
        return self.doc_id, self.path

    @property
    def text(self) -> str:
        """The units as they stand in the document."""
        return self.document.text[self.units[0][0] : self.units[-1][1]]

    def span(self, number: int) -> Span:
        """The span of a unit, counted from 0."""
        return Span(self.doc_id, *self.units[number])

    def shown(self, first: int = 1) -> str:
        """The headings, and a line for each unit with its number; the cells of a row with the names of their columns."""
        lines = [f"[{number}] {self._line(unit)}" for number, unit in enumerate(self.units, first)]
        return "\n".join([self.path or title(self.document.text) or self.doc_id, *lines])

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
    for item in sorted(items, key=lambda item: drawn(item.doc_id, item.units[0])):
        by_document[item.doc_id].append(item)
    ranked = [(rank, drawn(name), item) for name, own in by_document.items() for rank, item in enumerate(own)]
    return [item for _, _, item in sorted(ranked, key=lambda each: each[:2])]


def superseded(documents: Iterable[Document], words: Sequence[str]) -> frozenset[str]:
    """The doc_ids of old editions: the beginning or the metadata has one of the words, and an edition without them is there.

    Editions have the same name but for digits.
    """
    said = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
    families = defaultdict[str, list[tuple[str, bool]]](list)
    for each in documents:
        beginning = " ".join([each.text[:HEAD], *map(str, each.metadata.values())])
        families[family(each.doc_id)].append((each.doc_id, bool(said.search(beginning))))
    mixed = (members for members in families.values() if not all(is_old for _, is_old in members))
    return frozenset(name for members in mixed for name, is_old in members if is_old)


def family(doc_id: str) -> str:
    """The name that the editions of a document share."""
    return EDITION.sub("", PurePosixPath(doc_id).with_suffix("").as_posix()).lower()


def pairs(
    found: Sequence[Passage], language: str, fits: Callable[[Passage, Passage], bool], bounds: Bounds
) -> Iterator[tuple[Passage, Passage]]:
    """Each passage with the fitting one that shares most words with it, weighted by their rarity, within some bounds."""
    stems = Stems(language)
    terms = [stems.of(f"{item.path} {item.text}") for item in found]
    holders = defaultdict[str, list[int]](list)
    for number, own in enumerate(terms):
        for term in own:
            holders[term].append(number)
    for number, own in enumerate(terms):
        scores = defaultdict[int, float](float)
        for term in sorted(own):
            for other in holders[term] if 1 < len(holders[term]) <= bounds.common else ():
                scores[other] += math.log(len(found) / len(holders[term]) + 1)
        for other in sorted(scores.keys() - {number}, key=lambda each: (-scores[each], each)):
            share = len(own & terms[other]) / len(own | terms[other])
            is_alike = bool(found[number].names) == bool(found[other].names)
            if bounds.least <= share <= bounds.most and is_alike and fits(found[number], found[other]):
                yield found[number], found[other]
                break
