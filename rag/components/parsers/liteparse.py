"""PDF files by LiteParse: headings, lists and tables with their cells; text that it leaves out of its blocks is added."""

from typing import Any, ClassVar

from rag.core.types import Box, Parsed
from rag.documents.pages import lost_text, pdfium_pages
from rag.documents.pages.layout import Layout
from rag.documents.pages.lines import Line, Page, clean
from rag.documents.pages.marginalia import marginalia
from rag.documents.pages.markdown_text import Cell, MarkdownText
from rag.documents.pages.pdf_files import HEADER, password, properties, scanned

BATCH = 250
"""Pages that LiteParse reads at once: headings are found by the fonts of a batch, and memory grows with it."""
SETTINGS: dict[str, Any] = {
    "ocr_enabled": False,
    "quiet": True,
    "num_workers": 1,
    "extract_blocks": True,
    "image_mode": "off",
    "extract_links": False,
    "keep_headers_footers": True,
    "preserve_very_small_text": True,
}
TORN, MIXED = 0.15, 0.5
"""Shares of the letters of a page in torn lines, or of a table in mixed cells: from these a page is compared with PDFium's."""
ASIDE, PROSE, FILLED = 0.85, 0.3, 0.28
"""A page in two columns: shares of its letters aside of its middle, and in lines of at least this share of its width."""
REORDERED = 0.08
"""Share of the words of a page in another order than PDFium's from which the blocks of the page are not used."""
LINES = ("heading", "paragraph", "list_item")
"""Kinds of LiteParse's blocks that may be a header or footer."""


class LiteparseParser:
    """Reads PDF files by LiteParse, and the document information by PDFium. Nothing is recognised by OCR.

    `most_pages` is the longest file that is read.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pdf",)
    in_process: ClassVar[bool] = False

    def __init__(self, most_pages: int = 1000) -> None:
        self._most_pages = most_pages

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text with blocks; DataError for a file that is damaged, encrypted or too long."""
        with pdfium_pages.opened(data, self._most_pages, name) as file:
            from liteparse import LiteParse

            # LiteParse converts what is no PDF by other programs: the bytes begin with the header.
            parser, text, images = LiteParse(**SETTINGS, password=password()), MarkdownText(), []
            pages = [
                _Blocks(page) for batch in parser.parse_batches(data[data.find(HEADER) :], BATCH) for page in batch.result.pages
            ]
            for page in pages:
                page.replace_if_torn(file)
            outer = marginalia([page.outlines for page in pages])
            layout = Layout([page.outlines for page in pages if page.is_torn])
            for page in pages:
                number = page.outlines.number
                if page.is_torn:
                    layout.write(text, page.outlines, outer[number])
                else:
                    page.write(text, outer[number])
                images += [number] if not page.outlines.lines and file.has_image(number) else []
            return text.parsed(properties(file.stated()), len(pages), scanned(images))


class _Blocks:
    """The blocks of one page; text that they lack is a Line among them. `outlines` has a line for each, to find marginalia."""

    def __init__(self, page: Any) -> None:
        self._blocks: list[Any] = [block for block in page.blocks if _texts(block)]
        self._texts = texts = [lost_text.letters("".join(_texts(block))) for block in self._blocks]
        self.is_torn = not texts or _has_columns(page) or self._is_doubtful(page)
        lines = [Line(block.text if block.kind in LINES else "", *_points(block.bbox), 1) for block in self._blocks]
        for piece in lost_text.pieces(page.text, page.height, texts):
            end = len(lines) if piece.top > 0 else 0
            place = next((index for index, line in enumerate(lines) if line.top >= piece.top), end)
            self._blocks.insert(place, piece)
            lines.insert(place, piece)
        self.outlines = Page(page.page_num, page.width, page.height, lines)

    def _is_doubtful(self, page: Any) -> bool:
        """True if the blocks separate the words of a line, or cells of a table mix words of several places."""
        if lost_text.torn(page.text.split("\n"), self._texts) > TORN:
            return True
        content = " ".join(item.text for item in page.text_items)
        return any(lost_text.mixed(_texts(table), content) > MIXED for table in self._blocks if table.kind == "table")

    def replace_if_torn(self, file: pdfium_pages.PdfiumFile) -> None:
        """Take the lines of PDFium if the blocks have its words in another order, or lack a table that aligned words make."""
        is_aligned = not any(block.kind == "table" for block in self._blocks if not isinstance(block, Line))
        if self.is_torn or is_aligned:
            page = file.page(self.outlines.number)
            is_torn = self.is_torn and lost_text.reordered([line.text for line in page.lines], self._texts) > REORDERED
            self.is_torn = is_torn or (is_aligned and any(line.table for line in page.lines))
            self.outlines = page if self.is_torn else self.outlines

    def write(self, text: MarkdownText, outer: set[int]) -> None:
        """Append the blocks; those whose indexes are in `outer` are marginalia."""
        page = self.outlines
        for index, (block, line) in enumerate(zip(self._blocks, page.lines, strict=True)):
            box = () if isinstance(block, Line) else page.box([line])
            if isinstance(block, Line) or index in outer:
                text.add("marginalia" if index in outer else "text", clean(line.text), page.number, box)
            elif block.kind == "table":
                text.add_table([[self._cell(cell) for cell in row] for row in _rows(block)], page.number, box)
            else:
                text.add(*_kind_and_text(block), page.number, box)

    def _cell(self, cell: Any) -> Cell:
        return Cell(clean(cell.text), self.outlines.share(*_points(cell.bbox)) if cell.bbox else ())


def _has_columns(page: Any) -> bool:
    """True for a page with lines that fill one half of it, and hardly any across its middle."""
    middle, total = page.width / 2, sum(len(item.text) for item in page.text_items)
    halves = [item for item in page.text_items if item.x >= middle or item.x + item.width <= middle]
    filling = sum(len(item.text) for item in halves if item.width >= FILLED * page.width)
    return sum(len(item.text) for item in halves) > ASIDE * total and filling > PROSE * total


def _kind_and_text(block: Any) -> tuple[str, str]:
    content = clean(block.text or "")
    if block.kind == "heading":
        return "heading", "#" * min(max(block.level or 1, 1), 6) + " " + content
    if block.kind == "list_item":
        return "list", f"{block.marker if block.ordered and block.marker else '-'} {content}"
    if block.kind == "code":
        return "code", "\n".join(["```" + (block.lang or ""), *map(clean, block.lines), "```"])
    return "text", content or "\n".join(clean(line).strip() for line in block.lines or ())


def _texts(block: Any) -> list[str]:
    """All text of a block."""
    cells = (cell.text for row in _rows(block) for cell in row)
    return [text for text in (block.text, *(block.lines or ()), *cells) if text]


def _rows(block: Any) -> list[list[Any]]:
    """The cells of a table, its head first; no rows for another block."""
    return [*([block.header] if block.header else ()), *(block.rows or ())]


def _points(box: Any) -> Box:
    """Left, top, right and bottom of a rectangle; the top left corner for none."""
    return (box.x, box.y, box.x + box.width, box.y + box.height) if box else (0.0, 0.0, 0.0, 0.0)
