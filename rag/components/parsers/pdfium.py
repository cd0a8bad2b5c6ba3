"""PDF files by PDFium: all text in reading order, with headings, lists, tables, footnotes and marginalia by font and place."""

from typing import TYPE_CHECKING, ClassVar

from rag.core.types import Parsed

if TYPE_CHECKING:
    from rag.documents.pages.lines import Page
    from rag.documents.pages.pdfium_pages import PdfiumFile


class PdfiumParser:
    """Reads PDF files by pypdfium2; tables are found by the places of their words.

    `most_pages` is the longest file that is read. Not for several threads: PDFium has one state for a process.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pdf",)
    in_process: ClassVar[bool] = False

    def __init__(self, most_pages: int = 2000) -> None:
        self._most_pages = most_pages

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text with blocks; DataError for a file that is damaged, encrypted or too long."""
        from rag.documents.pages.layout import laid_out  # plans build the parser and read no file
        from rag.documents.pages.pdf_files import properties
        from rag.documents.pages.pdfium_pages import opened

        with opened(data, self._most_pages, name) as file:
            pages = list(file.pages())
            images = [page.number for page in pages if not page.lines and file.has_image(page.number)]
            notes = self._recognise(file, pages, images)
            return laid_out(pages).parsed(properties(file.stated()), len(pages), notes)

    def _recognise(self, file: "PdfiumFile", pages: "list[Page]", images: list[int]) -> tuple[str, ...]:
        """Notes about the pages `images`, which have no text."""
        from rag.documents.pages.pdf_files import scanned

        return scanned(images)
