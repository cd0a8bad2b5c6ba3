"""PDF files by PDFium, and scanned pages by OCR: the extra `ocr`."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from rag.components.parsers.pdfium import PdfiumParser
from rag.core.errors import MissingExtraError
from rag.documents.pages.columns import in_reading_order
from rag.documents.pages.lines import Line, Page, clean, in_rows
from rag.documents.pages.pdf_files import scanned
from rag.documents.pages.pdfium_pages import PdfiumFile


class PdfiumOcrParser(PdfiumParser):
    """Reads PDF files as PdfiumParser, and recognises the text of pages that are scanned images, by RapidOCR on the CPU.

    `most_scanned` is the number of pages that are recognised in a file, the others are noted: a full page takes about five
    seconds of CPU. `resolution` is that of the image of a page, in pixels per inch: memory grows with its square. A scanned
    page without the extra is a MissingExtraError.
    """

    def __init__(self, most_pages: int = 2000, most_scanned: int = 4, resolution: int = 110) -> None:
        super().__init__(most_pages)
        self._most_scanned, self._resolution = most_scanned, resolution

    def _recognise(self, file: PdfiumFile, pages: list[Page], images: list[int]) -> tuple[str, ...]:
        """Put the lines of scanned pages into `pages`; notes about what was read and what was not."""
        for number in images[: self._most_scanned]:
            self._read(file.image(number, self._resolution), pages[number - 1])
        read = f"{min(len(images), self._most_scanned)} of {len(images)} scanned pages were read by OCR"
        return (read, *scanned(images[self._most_scanned :])) if images else ()

    @cached_property
    def _engine(self) -> Callable[[Any], Any]:
        """An image → `boxes` (corners x, y in pixels), `txts` and `scores` of its lines. Its models are in its package."""
        try:
            from rapidocr import RapidOCR
        except ImportError as error:
            raise MissingExtraError("loader.parsers.pdf", "rapidocr", "ocr") from error
        threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
        engine: Callable[[Any], Any] = RapidOCR(params={"Global.log_level": "error"} | threads)
        return engine

    def _read(self, image: Any, page: Page) -> None:
        found, lines = self._engine(image), []
        if found.boxes is None or not found.txts:
            return
        across, down = page.width / image.shape[1], page.height / image.shape[0]
        for corners, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
            xs, ys = [float(x) * across for x, _ in corners], [float(y) * down for _, y in corners]
            size = max(ys) - min(ys)
            lines.append(Line(clean(text), min(xs), min(ys), max(xs), max(ys), size, score=round(float(score), 3)))
        page.lines = in_rows(in_reading_order(lines, page.width))
