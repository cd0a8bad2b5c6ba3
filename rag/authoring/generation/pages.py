"""A document as rules read it: title, statements with their section, tables, lists, and the passages of a corpus."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath

from rag.core import headings
from rag.core.headings import Section
from rag.core.text.layout import Part, parts
from rag.core.text.sentences import Piece, sentences, trimmed
from rag.core.text.tables import Table, tables
from rag.core.types import Document, Span
from rag.documents.anchors.rendered import rendered

LONGEST = 1000
"""The most characters of a passage; a longer block is cut at sentences."""
AROUND = 400
"""The most characters of the sentences that are evidence together."""
ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)]|\([a-z\d]\))[ \t]+(?=\S)", re.MULTILINE)
SPACED = re.compile(r"\s+(?=[,.;:!?)%](?!\w)|'s\b)|(?<=[(])\s+")
"""White space that tokenised texts have before punctuation."""
CODE, PLACE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)|`([^`\n]+)`", re.DOTALL), "\ue000"
"""Code, whose characters are no marks, and what stands for it while a text is rendered."""
JOINED = re.compile(r" @([-,./])@ ")
"""Marks within a word, as tokenised texts write them."""
EXTENSION = re.compile(r"\.\w{1,5}\Z")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence: its place, its words on one line as a reader sees them, and its section."""

    span: Span
    text: str
    section: Section


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list with its places: the line above it, empty if there is none, the words of its items, and the place of each."""

    span: Span
    intro: str
    items: tuple[str, ...]
    section: Section
    spans: tuple[Span, ...]


class Page:
    """One document of a corpus in the language of its questions."""

    def __init__(self, document: Document, language: str) -> None:
        self.document, self.language = document, language
        self.sections: Sequence[Section] = headings.sections(document.text)
        self._first = str(document.metadata.get("title") or "") or self._titled()
        title = " ".join(self._first.split())
        self.title = re.sub(r"\b[^\W\d]+\b(?!-?\d)", lambda word: word[0].capitalize(), title) if title.isupper() else title

    def _titled(self) -> str:
        first = next((section.path for section in self.sections if section.path), "")
        name = EXTENSION.sub("", PurePosixPath(self.document.doc_id).name)
        named = re.sub(r"[-_\s]+", " ", name).strip()
        return headings.title(self.document.text) or first or (named if sum(map(str.isalpha, named.split())) > 1 else "")

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the document."""
        return tables(self.document.text)

    def section(self, place: int) -> Section:
        """The section of a character."""
        return headings.above(self.sections, place)

    def cluster(self, place: int) -> str:
        """The unit of resampling of a character: the section of the document."""
        return f"{self.document.doc_id}#{self.section(place).path}"

    def stretches(self) -> Iterator[tuple[Section, int]]:
        """The sections with their ends."""
        return zip(self.sections, [*(each.start for each in self.sections[1:]), len(self.document.text)], strict=True)

    def heading(self, section: Section) -> str:
        """The innermost heading of a section, empty for the title and above any heading."""
        last = section.path.rpartition(" > ")[2]
        return "" if last == self._first else last

    def shown(self, piece: Piece) -> str:
        """The words of a piece on one line, as a reader sees them."""
        text = self.document.text[slice(*piece)]
        codes = iter([" ".join((found[1] or found[2] or "").split()) for found in CODE.finditer(text)])
        words = " ".join(rendered(CODE.sub(PLACE, text)).text.split())
        return re.sub(PLACE, lambda _: next(codes), SPACED.sub("", JOINED.sub(r"\1", words)))

    def span(self, piece: Piece) -> Span:
        """A piece as a span."""
        return Span(self.document.doc_id, *piece)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The sentences of paragraphs and quotations, in reading order."""
        title = str(self.document.metadata.get("title") or "")
        text, begin = self.document.text, 0
        while title and text.startswith(title, begin):
            begin = trimmed(text, begin + len(title), len(text))[0]
        pieces = (piece for part in self.parts_of("text", "quote") for piece in self.sentences_of(part))
        found = (trimmed(self.document.text, max(start, begin), end) for start, end in pieces if end > begin)
        return tuple(Statement(self.span(piece), self.shown(piece), self.section(piece[0])) for piece in found)

    def around(self, span: Span) -> Span:
        """A sentence of a paragraph with those before and behind it, as many as a reader's AROUND characters hold."""
        for part in self.parts_of("text", "quote"):
            pieces = list(self.sentences_of(part)) if part.start <= span.start < part.end else []
            own = [at for at, (start, end) in enumerate(pieces) if start < span.end and span.start < end]
            first, last = (own[0], own[-1]) if own else (0, -1)
            while own:
                wider = [(first - 1, last)] * (first > 0) + [(first, last + 1)] * (last + 1 < len(pieces))
                fits = [each for each in wider if pieces[each[1]][1] - pieces[each[0]][0] <= AROUND]
                if not fits:
                    return self.span((min(span.start, pieces[first][0]), max(span.end, pieces[last][1])))
                first, last = min(fits, key=lambda each: abs(own[0] - each[0] - each[1] + own[-1]))
        return span

    @cached_property
    def lists(self) -> tuple[ItemList, ...]:
        """The lists of the document with at least two items."""
        text, found, above = self.document.text, [], ""
        for part in parts(text):
            if part.kind == "list":
                starts = [mark.start() for mark in ITEM.finditer(text, part.start, part.end)]
                pieces = [trimmed(text, *edge) for edge in pairwise([*starts, part.end])]
                items, spans = tuple(map(self.shown, pieces)), tuple(map(self.span, pieces))
                if len(items) > 1:
                    found.append(ItemList(self.span((part.start, part.end)), above, items, self.section(part.start), spans))
            above = self.shown((max(part.start, part.end - 300), part.end)) if part.kind == "text" else ""
        return tuple(found)

    def passages(self) -> Iterator[Span]:
        """The blocks of the document, rows of tables and long texts in parts of LONGEST characters."""
        for table in self.tables:
            yield from (self.span((row.start, row.end)) for row in table.rows)
        for part in self.parts_of("text", "quote", "list", "code", "footnote"):
            start = part.start
            for _, end in (*self.sentences_of(part), (part.end, part.end)):
                if end - start > LONGEST or end == part.end:
                    yield from (self.span((at, min(at + LONGEST, end))) for at in range(start, end, LONGEST))
                    start = end

    def parts_of(self, *kinds: str) -> Iterator[Part]:
        """The blocks of these kinds."""
        return (part for part in parts(self.document.text) if part.kind in kinds)

    def sentences_of(self, part: Part) -> Iterator[Piece]:
        """The sentences of a block."""
        return iter(sentences(self.document.text, (part.start, part.end), self.language))


def unnumbered(heading: str) -> str:
    """A heading without its number."""
    return re.sub(r"^(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.)\s+", "", heading)
