"""PDF files by PDFium, and scanned pages by OCR: the extra `ocr`."""

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from rag.components.parsers.pdfium import parsed
from rag.core.records import Parsed
from rag.documents.pages import pdfium_pages, scans
from rag.documents.pages.lines import Page
from rag.documents.pages.pdf_files import reading


class PdfiumOcrParser:
    """Reads PDF files as PdfiumParser, and recognises the text of pages that are scanned images, by RapidOCR on the CPU.

    `most_scanned` is the number of pages that are recognised in a file, the others are noted: a full page takes about five
    seconds of CPU. `resolution` is that of the image of a page, in pixels per inch: memory grows with its square.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pdf",)
    in_process: ClassVar[bool] = False

    def __init__(self, most_pages: int = 2000, most_scanned: int = 4, resolution: int = 110) -> None:
        self._most_pages, self._most_scanned, self._resolution = most_pages, most_scanned, resolution

    @cached_property
    def _engine(self) -> scans.Engine:
        return scans.load_engine()

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text with blocks; DataError as PdfiumParser, MissingExtraError for a scanned page without the extra."""
        with reading(data, name), pdfium_pages.opened(data, self._most_pages, name) as file:
            pages = list(file.pages())
            images = [page.number for page in pages if not page.lines and file.has_image(page.number)]
            for number in images[: self._most_scanned]:
                pages[number - 1] = self._recognised(file, pages[number - 1])
            content = parsed(file, pages, images[self._most_scanned :])
            if not images:
                return content
            read = f"{min(len(images), self._most_scanned)} of {len(images)} scanned pages were read by OCR"
            return replace(content, notes=(read, *content.notes))

    def _recognised(self, file: pdfium_pages.PdfiumFile, page: Page) -> Page:
        return scans.recognised(self._engine, file.image(page.number, self._resolution), page)
