"""PDF files by pypdf, in Python alone: the text of every page, without places on it."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from rag.core.types import Parsed
from rag.documents.pages.layout import RunningText, laid_out
from rag.documents.pages.lines import Line, Page, clean
from rag.documents.pages.pdf_files import check_pages, password, properties, reading, scanned


class PypdfParser:
    """Reads PDF files by pypdf. A page is one block of lines, with its headers and footers as blocks of their own.

    `most_pages` is the longest file that is read: pypdf takes about ten times as long for a page as PDFium.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("pdf",)
    in_process: ClassVar[bool] = False

    def __init__(self, most_pages: int = 500) -> None:
        self._most_pages = most_pages

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text with a block for each page; DataError for a file that is damaged, encrypted or too long."""
        with reading(data, name), _quiet():
            import pypdf

            file = pypdf.PdfReader(io.BytesIO(data))
            if file.is_encrypted:
                file.decrypt(password() or "")
            check_pages(len(file.pages), self._most_pages, name)
            pages, images = [], []
            for number, page in enumerate(file.pages, 1):
                lines = [clean(line).strip() for line in page.extract_text().split("\n")]
                # Places in the order of the page, and the number of characters as width.
                placed = [Line(text, 0, at, len(text), at + 1, 1) for at, text in enumerate(filter(None, lines))]
                pages.append(Page(number, 0, 0, placed))
                images += [number] if not pages[-1].lines and len(page.images) else []
            stated = {str(key).lstrip("/"): str(value) for key, value in (file.metadata or {}).items()}
            return laid_out(pages, RunningText).parsed(properties(stated), len(pages), scanned(images))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep remarks of pypdf about a file from the terminal: what matters is an error or a note."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
