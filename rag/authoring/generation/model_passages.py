"""Passages that a model is asked about: the sentences, list items or table rows of a section, numbered."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations
from typing import NamedTuple

from rag.authoring.generation.corpus_rules import is_older, series
from rag.authoring.generation.pages import Page
from rag.core.text.layout import Part, Row, parts
from rag.core.text.sentences import Piece, blocks
from rag.core.text.stems import Stems
from rag.core.types import Span

MOST, LONGEST = 8, 1000
"""The most units of a passage, and the most characters of a passage and of a unit."""
DOCUMENTS = 500
"""Documents whose passages are compared in order to find pairs."""
SHORT = 2
"""Words of so many letters say nothing about a link."""
EDITIONS = 20
"""The most editions of a document that are compared."""


class Bounds(NamedTuple):
    """Words count if at most `common` passages have them; a pair shares a part of all its words from `least` to `most`.

    `named`: only words in the headings of the second passage count that are in the text of the first and not in its headings.
    """

    common: int
    least: float
    most: float
    named: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Units [start, end) of one section of a document; `names` are the columns of a table whose `rows` they are."""

    page: Page
    path: str
    units: tuple[Piece, ...]
    names: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def doc_id(self) -> str:
        """The document."""
        return self.page.document.doc_id

    @property
    def text(self) -> str:
        """The units as they stand in the document."""
        return self.page.document.text[self.units[0][0] : self.units[-1][1]]

    def span(self, number: int) -> Span:
        """The span of a unit, counted from 0."""
        return self.page.span(self.units[number])

    def quote(self, number: int) -> str:
        """The text of a unit."""
        return self.page.document.text[slice(*self.units[number])]

    def shown(self, first: int = 1) -> str:
        """The headings, and a line for each unit with its number; the cells of a row with the names of their columns."""
        lines = [_cells(self.names, row) for row in self.rows] or [self.page.shown(unit) for unit in self.units]
        return "\n".join([self.path or self.page.title, *(f"[{number}] {line}" for number, line in enumerate(lines, first))])


def _cells(names: Sequence[str], row: Row) -> str:
    cells = zip(names, row.cells, strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)


def passages(page: Page) -> Iterator[Passage]:
    """The passages of a document, each of text or of table rows; longer units are left out."""
    text = page.document.text
    for table in page.tables:
        rows = {(row.start, row.end): row for row in table.rows}
        for units in _filled(rows):
            path = page.section(table.part.start).path
            yield Passage(page, path, units, table.names, tuple(rows[unit] for unit in units))
    pieces: list[tuple[str, Piece]] = []
    for part in parts(text):
        if part.kind in ("text", "list", "quote"):
            edges = blocks(text[part.start : part.end]) if part.kind == "list" else [(0, part.end - part.start)]
            lines = (Part("text", part.start + start, part.start + end) for start, end in edges)
            pieces += [(page.section(part.start).path, piece) for line in lines for piece in page.sentences_of(line)]
    for path, group in groupby(pieces, key=lambda piece: piece[0]):
        yield from (Passage(page, path, some) for some in _filled([piece for _, piece in group]))


def _filled(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, ...]]:
    """Units in groups of at most MOST units and LONGEST characters; longer units are left out."""
    group: list[Piece] = []
    for piece in (piece for piece in pieces if piece[1] - piece[0] <= LONGEST):
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


Fits = Callable[[Passage, Passage], bool]


def old_editions(pages: Sequence[Page]) -> dict[str, str]:
    """The doc_ids of old editions, each with that of a newer one."""
    found = defaultdict[str, list[Page]](list)
    for page in pages:
        found[str(page.document.metadata.get("series") or series(page))].append(page)
    pairs = ((one, other) for group in found.values() for one, other in permutations(group[:EDITIONS], 2))
    return {one.document.doc_id: other.document.doc_id for one, other in pairs if is_older(one, other)}


def pairs(found: Sequence[Passage], language: str, fits: Fits, bounds: Bounds) -> Iterator[tuple[Passage, Passage]]:
    """Each passage with the fitting one that shares most words with it, weighted by their rarity, within some bounds."""
    stems = Stems(language)
    heads = [stems.of(f"{item.page.title} {item.path}") for item in found]
    terms = [head | stems.of(item.text) for head, item in zip(heads, found, strict=True)]
    holders = defaultdict[str, list[int]](list)
    for number, words in enumerate(heads if bounds.named else terms):
        for term in (word for word in words if len(word) > SHORT):
            holders[term].append(number)
    for number, own in enumerate(terms):
        scores = defaultdict[int, float](float)
        for term in sorted(own - heads[number] if bounds.named else own):
            for other in holders[term] if len(holders[term]) <= bounds.common else ():
                scores[other] += math.log(len(found) / len(holders[term]) + 1)
        shares = {other: len(own & terms[other]) / len(own | terms[other]) for other in scores if other != number}
        for other in sorted(shares, key=lambda each: (-scores[each] - shares[each], each)):
            is_alike = bool(found[number].names) == bool(found[other].names) or bounds.named
            if bounds.least <= shares[other] <= bounds.most and is_alike and fits(found[number], found[other]):
                yield found[number], found[other]
                break
