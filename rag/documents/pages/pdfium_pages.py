"""The lines of the pages of a PDF file, by PDFium."""

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rag.documents.pages.lines import Line, Page, clean
from rag.documents.pages.pdf_files import check_pages

STRETCH = re.compile(r"[^\r\n\ufffe\x02]*[^\s\ufffe\x02][^\r\n\ufffe\x02]*[\ufffe\x02]?")
WORD = re.compile(r"\S+")
BOLD = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
WIDE = 0.72
"""Width of a character against the height of its font from which a line has gaps, as the rows of tables do."""
DRAWN = (3, 13, 20)
"""Annotations whose text a page shows: FreeText, Stamp, Widget."""


@contextmanager
def opened(data: bytes, most_pages: int, name: str) -> Iterator["PdfiumFile"]:
    """An open file; DataError if it has more pages than `most_pages`."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    try:
        check_pages(len(document), most_pages, name)
        yield PdfiumFile(document)
    finally:
        document.close()


class PdfiumFile:
    """An open PDF file."""

    def __init__(self, document: Any) -> None:
        self.document = document

    def stated(self) -> dict[str, str]:
        """The document information."""
        return dict(self.document.get_metadata_dict())

    def pages(self) -> Iterator[Page]:
        """Every page with its lines, in the order of the file."""
        for index in range(len(self.document)):
            page = self._flat(index)
            text_page = page.get_textpage()
            try:
                width, height = page.get_size()
                yield Page(index + 1, width, height, TextPage(page, text_page).lines())
            finally:
                text_page.close()
                page.close()

    def has_image(self, number: int) -> bool:
        """True if a page (from 1) holds an image, at any depth."""
        import pypdfium2.raw as raw

        page = self.document[number - 1]
        try:
            return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=5))
        finally:
            page.close()

    def _flat(self, index: int) -> Any:
        """A page; the values of form fields and other text that annotations show become part of it, in memory."""
        import pypdfium2.raw as raw

        page = self.document[index]
        for number in range(raw.FPDFPage_GetAnnotCount(page)):
            annotation = raw.FPDFPage_GetAnnot(page, number)
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            raw.FPDFPage_CloseAnnot(annotation)
            if kind in DRAWN:
                raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
                page.close()
                return self.document[index]
        return page


class TextPage:
    """The characters of one page. `lines` asks for the boxes of few of them: a box takes as long as ten characters of text."""

    def __init__(self, page: Any, text_page: Any) -> None:
        import pypdfium2.raw as raw

        self._raw, self._handle = raw, text_page.raw
        self._left, self._bottom, self._right, self._top = page.get_bbox()
        self._rotation = page.get_rotation()
        self._count = raw.FPDFText_CountChars(text_page)
        self._box, self._name, self._flags = raw.FS_RECTF(), ctypes.create_string_buffer(128), ctypes.c_int()

    def lines(self) -> list[Line]:
        """The lines in the order of the file; a line with wide gaps is several."""
        text = self._text()
        self._is_direct = len(text) == self._count
        found = []
        for stretch in STRETCH.finditer(text):
            content = stretch[0].rstrip()
            start = stretch.start() + len(content) - len(content.lstrip())
            found += self._pieces(text, start, stretch.start() + len(content))
        return found

    def _text(self) -> str:
        buffer = (ctypes.c_ushort * (self._count + 1))()
        units = self._raw.FPDFText_GetText(self._handle, 0, self._count, buffer)
        return bytes(buffer)[: max(units - 1, 0) * 2].decode("utf-16-le", "replace")

    def _pieces(self, text: str, start: int, end: int) -> Iterator[Line]:
        """The line of the characters [start, end), or its words joined to pieces where it has gaps or leaves its height."""
        first, last = self._place(start), self._place(end - 1)
        size = self._size(first)
        if self._is_even(first, last, size, end - start):
            yield self._line(text, start, end, first, last, size)
            return
        begin = before = None
        for word in WORD.finditer(text, start, end):
            left, right = self._place(word.start()), self._place(word.end() - 1)
            if begin is None or before is None:
                begin = (word.start(), left)
            elif left[0] - before[1][2] > size or left[0] < before[1][0] - size or not left[1] < _middle(before[1]) < left[3]:
                yield self._line(text, begin[0], before[0], begin[1], before[1], size)
                begin = (word.start(), left)
            before = (word.end(), right)
        if begin and before:
            yield self._line(text, begin[0], before[0], begin[1], before[1], size)

    def _is_even(self, first: "Place", last: "Place", size: float, length: int) -> bool:
        if not first[1] < _middle(last) < first[3]:
            return self._is_upright(first, last)
        return first[0] <= last[0] and last[2] - first[0] <= length * size * WIDE

    def _is_upright(self, first: "Place", last: "Place") -> bool:
        """True for text that runs up or down the page."""
        return abs(first[0] - last[0]) < first[2] - first[0]

    def _line(self, text: str, start: int, end: int, first: "Place", last: "Place", size: float) -> Line:
        content = text[start:end]
        if content[-1] in "\ufffe\x02":
            content = content[:-1] + "-"
        left, top = min(first[0], last[0]), min(first[1], last[1])
        right, bottom = max(first[2], last[2]), max(first[3], last[3])
        return Line(clean(content), left, top, right, bottom, size, self._is_bold(start))

    def _size(self, place: "Place") -> float:
        return place[3] - place[1]

    def _is_bold(self, index: int) -> bool:
        length = self._raw.FPDFText_GetFontInfo(self._handle, self._char(index), self._name, 128, ctypes.byref(self._flags))
        return length > 0 and bool(BOLD.search(self._name.raw[:length]))

    def _char(self, index: int) -> int:
        if self._is_direct:
            return index
        return max(0, self._raw.FPDFText_GetCharIndexFromTextIndex(self._handle, index))

    def _place(self, index: int) -> "Place":
        """Left, top, right and bottom of a character in points from the top left of the page as it is shown."""
        box = self._box
        self._raw.FPDFText_GetLooseCharBox(self._handle, self._char(index), box)
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if self._rotation == 0:
            return left - self._left, self._top - top, right - self._left, self._top - bottom
        if self._rotation == 90:
            return bottom - self._bottom, left - self._left, top - self._bottom, right - self._left
        if self._rotation == 180:
            return self._right - right, bottom - self._bottom, self._right - left, top - self._bottom
        return self._top - top, self._right - right, self._top - bottom, self._right - left


Place = tuple[float, float, float, float]


def _middle(place: Place) -> float:
    return (place[1] + place[3]) / 2
