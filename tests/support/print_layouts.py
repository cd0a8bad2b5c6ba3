"""Layouts of printed pages, drawn by reportlab; every letter that is drawn is recorded with its page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from reportlab.lib import colors
from reportlab.lib.enums import TA_JUSTIFY, TA_LEFT
from reportlab.lib.pagesizes import A4, A5, A6, LETTER, landscape
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, CondPageBreak, Flowable, Frame, LongTable, PageTemplate, Paragraph, Spacer

ORGANISATION = "Ostrey Valley Hydrometric Trust"
SHY = "\N{SOFT HYPHEN}"
SYLLABLE = re.compile(r"(?<=[aeiouy])(?=[bcdfghjklmnpqrstvwxz]{1,2}[aeiouy])", re.IGNORECASE)
LONG = 8
"""Words of so many letters are hyphenated."""
NOTE, APART = 260, 4
"""A paragraph of NOTE characters at most may be printed as a footnote, one of APART paragraphs at most."""


@dataclass(frozen=True)
class Unit:
    """A text that is printed as one paragraph or cell, with <b>, <i> and <br/>."""

    markup: str

    @property
    def plain(self) -> str:
        """The words."""
        return unescape(re.sub(r"<[^<>]*>", " ", self.markup)).strip()


@dataclass(frozen=True)
class Element:
    """A heading, text, item or table. `level` is that of a heading, and the number of columns of a table."""

    kind: str
    units: tuple[Unit, ...]
    level: int = 0

    @property
    def rows(self) -> Iterator[tuple[Unit, ...]]:
        """The rows of a table."""
        return (self.units[start : start + self.level] for start in range(0, len(self.units), self.level))


@dataclass(frozen=True)
class Layout:
    """A printed page. `head` adds a running header with the title and a footer with the page number."""

    size: tuple[float, float] = A4
    columns: int = 1
    font: str = "Helvetica"
    points: float = 10.5
    margin: float = 62
    head: bool = False
    justified: bool = False
    hyphenated: bool = False
    ruled: bool = True
    notes: bool = False


LAYOUTS: Mapping[str, Layout] = {
    "plain": Layout(),
    "report": Layout(font="Times-Roman", points=11, head=True),
    "columns": Layout(columns=2, font="Times-Roman", points=9.5, margin=48, head=True, justified=True),
    "slides": Layout(size=landscape(A5), points=13, margin=40, head=True),
    "footnotes": Layout(size=LETTER, font="Times-Roman", head=True, notes=True),
    "hyphenated": Layout(columns=2, font="Times-Roman", points=10, justified=True, hyphenated=True, ruled=False),
    "pocket": Layout(size=A6, points=8.5, margin=28, head=True, justified=True, hyphenated=True),
}
"""`slides` and `pocket` have tables over several pages, with repeated header rows; `hyphenated` has tables without lines."""


def key(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def print_pdf(elements: Sequence[Element], target: Path, layout: Layout) -> list[tuple[str, int]]:
    """Write a PDF; return the letters and digits in the order of the elements, as pieces with their pages, from 1."""
    return _Printer(elements, target, layout).drawn()


class _Piece(Paragraph):  # type: ignore[misc]  # reportlab has no types
    """A paragraph that records what is drawn of it, also when it is split over pages."""

    record: "_Record"

    def split(self, width: float, height: float) -> list[Any]:
        parts = list(super().split(width, height))
        for part in parts:
            part.record = self.record
        return parts

    def draw(self) -> None:
        super().draw()
        lines = [line[1] if isinstance(line, tuple) else [part.text for part in line.words] for line in self.blPara.lines]
        self.record.add("".join(word for words in lines for word in words), self.canv.getPageNumber())


@dataclass
class _Record:
    """The pieces of a unit that were drawn: first `skipped` letters that are not its own, then its own, then others."""

    letters: str
    skipped: int
    pieces: list[tuple[str, int]]

    def add(self, text: str, page: int) -> None:
        left = len(self.letters) - sum(len(piece) for piece, _ in self.pieces)
        drawn = key(text)[self.skipped :]
        self.skipped = max(0, self.skipped - len(key(text)))
        # A repeated header row of a table, and the mark of a footnote, are no letters of the unit.
        if drawn[:left]:
            self.pieces.append((drawn[:left], page))


class _Printer:
    """Prints one document."""

    def __init__(self, elements: Sequence[Element], target: Path, layout: Layout) -> None:
        self.layout, self.records, self.title = layout, list[_Record](), elements[0].units[0].plain
        self.notes: list[tuple[int, _Piece]] = []
        width, height = layout.size
        foot = 120 if layout.notes else 0
        gap, margin = 18, layout.margin
        column = (width - 2 * margin - gap * (layout.columns - 1)) / layout.columns
        tall = height - 2 * margin - foot
        frames = [
            Frame(margin + number * (column + gap), margin + foot, column, tall, 0, 0, 0, 0) for number in range(layout.columns)
        ]
        self.column = column
        self.document = BaseDocTemplate(str(target), pagesize=layout.size, title=self.title, author=ORGANISATION, invariant=1)
        self.document.addPageTemplates(PageTemplate("page", frames, onPage=self._head, onPageEnd=self._foot))
        self.document.build(list(self._flowables(elements)))
        assert not self.notes, f"{self.title}: {len(self.notes)} footnotes have no room"

    def drawn(self) -> list[tuple[str, int]]:
        """The pieces of all units in their order."""
        for record in self.records:
            assert "".join(letters for letters, _ in record.pieces) == record.letters, record
        return [piece for record in self.records for piece in record.pieces]

    def _flowables(self, elements: Sequence[Element]) -> Iterator[Flowable]:
        number, noted, last = 0, None, -APART
        for place, element in enumerate(elements):
            if element.units[0] is noted:
                continue
            if element.kind == "table":
                yield from (self._table(element), Spacer(1, 8))
                continue
            if element.kind == "heading":
                yield CondPageBreak(5 * self.layout.points)
            after = elements[place + 1] if self.layout.notes and place + 1 < len(elements) else None
            if after is None or place - last < APART or not _is_note(after, element):
                yield self._piece(element.units[0], self._style(element))
                continue
            number, noted, last = number + 1, after.units[0], place
            yield self._piece(element.units[0], self._style(element), f"<super>{number}</super>")
            yield _Mark(self, self._note(number, noted))

    def _note(self, number: int, unit: Unit) -> tuple[int, _Piece]:
        style = ParagraphStyle("note", fontName=self.layout.font, fontSize=8, leading=9.5)
        return number, self._piece(unit, style, before=f"<super>{number}</super> ")

    def _piece(self, unit: Unit, style: ParagraphStyle, mark: str = "", before: str = "") -> _Piece:
        markup = _hyphenated(unit.markup) if self.layout.hyphenated else unit.markup
        piece = _Piece(before + markup + mark, style)
        piece.record = _Record(key(unit.plain), len(key(re.sub(r"<[^<>]*>", "", before))), [])
        self.records.append(piece.record)
        return piece

    def _style(self, element: Element) -> ParagraphStyle:
        layout, points = self.layout, self.layout.points
        if element.kind == "heading":
            size = points + max(1, 6 - 2 * element.level)
            bold = {"Helvetica": "Helvetica-Bold", "Times-Roman": "Times-Bold"}[layout.font]
            return ParagraphStyle("heading", fontName=bold, fontSize=size, leading=size * 1.2, spaceBefore=8, spaceAfter=4)
        aligned = TA_JUSTIFY if layout.justified else TA_LEFT
        inset = 14 if element.kind == "item" else 0
        return ParagraphStyle(
            "text", fontName=layout.font, fontSize=points, leading=points * 1.25, spaceAfter=6, alignment=aligned,
            leftIndent=inset, embeddedHyphenation=1 if layout.hyphenated else 0,
        )  # fmt: skip

    def _table(self, element: Element) -> LongTable:
        points = self.layout.points * 0.88
        style = ParagraphStyle(
            "cell",
            fontName=self.layout.font,
            fontSize=points,
            leading=points * 1.2,
            embeddedHyphenation=1 if self.layout.hyphenated else 0,
        )
        rows = [[self._piece(unit, style) for unit in row] for row in element.rows]
        columns = list(zip(*([unit.plain for unit in row] for row in element.rows), strict=True))
        least = [
            8 + max(stringWidth(word, self.layout.font, points) for text in column for word in text.split())
            for column in columns
        ]
        wide = [min(160, 8 + max(stringWidth(text, self.layout.font, points) for text in column)) for column in columns]
        more = [max(0, preferred - needed) for preferred, needed in zip(wide, least, strict=True)]
        free = max(0, self.column - sum(least))
        widths = [needed + free * share / (sum(more) or 1) for needed, share in zip(least, more, strict=True)]
        lines = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)] if self.layout.ruled else []
        ways = [
            *lines,
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LEFTPADDING", (0, 0), (-1, -1), 3),
            ("RIGHTPADDING", (0, 0), (-1, -1), 3),
        ]
        return LongTable(rows, colWidths=widths, repeatRows=1, style=ways, hAlign="LEFT")

    def _head(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        if not self.layout.head:
            return
        (width, height), margin = self.layout.size, self.layout.margin
        canvas.setFont(self.layout.font, 7.5)
        canvas.drawString(margin, height - margin * 0.6, self.title[: int(width / 8)])
        canvas.drawRightString(width - margin, margin * 0.5, f"Page {document.page}")
        canvas.drawString(margin, margin * 0.5, ORGANISATION)

    def _foot(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        """Draw the footnotes of a page; those without room are drawn at the foot of the next one."""
        left, bottom = self.layout.margin, self.layout.margin
        top = bottom + 114
        if self.notes:
            canvas.line(left, top, left + 100, top)
        while self.notes:
            piece = self.notes[0][1]
            _, tall = piece.wrap(self.column, top)
            if top - tall - 3 < bottom:
                break
            top -= tall + 3
            piece.drawOn(canvas, left, top)
            self.notes.pop(0)


class _Mark(Flowable):  # type: ignore[misc]  # reportlab has no types
    """Nothing; when it is drawn, its footnote belongs to the page."""

    def __init__(self, printer: _Printer, note: tuple[int, _Piece]) -> None:
        super().__init__()
        self.printer, self.note = printer, note

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return 0, 0

    def draw(self) -> None:
        self.printer.notes.append(self.note)


def _is_note(element: Element, above: Element) -> bool:
    """Whether a short paragraph below another one is printed as its footnote."""
    return element.kind == above.kind == "text" and len(element.units[0].plain) <= NOTE


def _hyphenated(markup: str) -> str:
    """Soft hyphens between the syllables of long words, not in tags and entities."""

    def word(match: re.Match[str]) -> str:
        if len(match[0]) < LONG or match[0][0] in "<&":
            return match[0]
        pieces = SYLLABLE.sub(SHY, match[0][2:-3])
        return match[0][:2] + pieces + match[0][-3:]

    return re.sub(r"<[^<>]*>|&#?\w+;|[^\W\d_]+", word, markup)
