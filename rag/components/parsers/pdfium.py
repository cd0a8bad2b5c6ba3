"""PDF files by PDFium: all text in reading order, with headings, lists, footnotes and marginalia by font and place."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.records import Parsed
from rag.documents.pages import pdfium_pages
from rag.documents.pages.layout import laid_out
from rag.documents.pages.lines import Page
from rag.documents.pages.pdf_files import properties, reading, scanned


class PdfiumParser:
    """Reads PDF files by pypdfium2; a table is lines of text, one for each row.

    `most_pages` is the longest file that is read. Not for several threads: PDFium has one state for a process.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pdf",)
    in_process: ClassVar[bool] = False

    def __init__(self, most_pages: int = 2000) -> None:
        self._most_pages = most_pages

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text with blocks; DataError for a file that is damaged, encrypted or too long."""
        with reading(data, name), pdfium_pages.opened(data, self._most_pages, name) as file:
            pages = list(file.pages())
            images = [page.number for page in pages if not page.lines and file.has_image(page.number)]
            return parsed(file, pages, images)


def parsed(file: pdfium_pages.PdfiumFile, pages: Sequence[Page], images: Sequence[int]) -> Parsed:
    """The content of a file; `images` are pages without text. The first heading is the title if the file states none."""
    text = laid_out(pages)
    title = next((text.text[block.start : block.end].lstrip("# ") for block in text.blocks if block.kind == "heading"), "")
    metadata = ({"title": title} if title else {}) | properties(file.stated())
    return Parsed(text.text, tuple(text.blocks), metadata, len(pages), scanned(images))
