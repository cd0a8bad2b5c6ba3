"""The lines of the pages of a PDF file, by PDFium."""

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from rag.documents.pages.aligned_tables import with_tables
from rag.documents.pages.columns import in_reading_order
from rag.documents.pages.lines import Line, Page, clean, in_rows, with_initials
from rag.documents.pages.pdf_files import check_pages, password, reading

STRETCH = re.compile(r"[^\r\n\ufffe\x02]*[^\s\ufffe\x02][^\r\n\ufffe\x02]*[\ufffe\x02]?")
WORD = re.compile(r"\S+")
LEFTWARDS = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
"""Letters of scripts that run from right to left."""
BOLD = re.compile(rb"bold|black|heavy|demi", re.IGNORECASE)
LONG = 100
"""Characters from which a line is no heading: whether its font is bold is not asked."""
DRAWN = (3, 13, 20)
"""Annotations whose text a page shows: FreeText, Stamp, Widget."""

Place = tuple[float, float, float, float]
Stretch = tuple[int, int, Place, Place]
"""Start and end of a line in the text of its page, and the places of its first and last character."""


@contextmanager
def opened(data: bytes, most_pages: int, name: str) -> Iterator["PdfiumFile"]:
    """An open file; DataError if it is damaged, encrypted, or has more pages than `most_pages`."""
    with reading(data, name):
        import pypdfium2

        with pypdfium2.PdfDocument(data, password()) as document:
            check_pages(len(document), most_pages, name)
            yield PdfiumFile(document)


class PdfiumFile:
    """An open PDF file."""

    def __init__(self, document: Any) -> None:
        self.document = document

    def stated(self) -> dict[str, str]:
        """The document information."""
        return dict(self.document.get_metadata_dict())

    def pages(self) -> Iterator[Page]:
        """Every page."""
        return map(self.page, range(1, len(self.document) + 1))

    def page(self, number: int) -> Page:
        """A page (from 1) with its lines in reading order; pieces of a row are one line, and a table is one, too."""
        with closing(self._flat(number - 1)) as page, closing(page.get_textpage()) as text_page:
            pieces, (width, height) = with_initials(TextPage(page, text_page).lines()), page.get_size()
            cells = [replace(piece) for piece in pieces if piece.is_level]
            return Page(number, width, height, with_tables(in_rows(in_reading_order(pieces, width)), cells))

    def has_image(self, number: int) -> bool:
        """True if a page (from 1) holds an image, at any depth."""
        import pypdfium2.raw as raw

        with closing(self.document[number - 1]) as page:
            return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=5))

    def image(self, number: int, resolution: int) -> Any:
        """A page (from 1) as an array of shape (height, width, 3), blue before red; at most 2,000 pixels high or wide."""
        with closing(self.document[number - 1]) as page:
            scale = min(resolution / 72, 2000 / max(*page.get_size(), 1))
            return page.render(scale=scale, rev_byteorder=False).to_numpy()[:, :, :3].copy()

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
    """The characters of one page. It asks for few boxes: the box of a character takes as long as the text of ten lines."""

    def __init__(self, page: Any, text_page: Any) -> None:
        import pypdfium2.raw as raw

        self._raw, self._handle, self._count = raw, text_page.raw, raw.FPDFText_CountChars(text_page)
        self._turned = _turn(page.get_rotation(), page.get_bbox())
        self._box, self._name, self._flags = raw.FS_RECTF(), ctypes.create_string_buffer(128), ctypes.c_int()
        self._text = self._read()
        self._is_direct = len(self._text) == self._count

    def lines(self) -> list[Line]:
        """The lines in the order of the file, a line for each of their pieces between wide gaps."""
        found: list[Line] = []
        for stretch in STRETCH.finditer(self._text):
            content = stretch[0]
            end = stretch.start() + len(content.rstrip())
            start = stretch.end() - len(content.lstrip())
            first, last = self._place(start), self._place(end - 1)
            is_turned = abs(first[0] - last[0]) < first[2] - first[0] and not first[1] < _middle(last) < first[3]
            if LEFTWARDS.search(self._text, start, end):  # Its first and its last character may stand between the others.
                found.append(self._line(start, end, *map(self._place, range(start, end))))
            elif is_turned:
                found.append(self._line(start, end, first, last))
            else:
                found += self._pieces(start, end)
        return found

    def _read(self) -> str:
        buffer = (ctypes.c_ushort * (self._count + 1))()
        units = self._raw.FPDFText_GetText(self._handle, 0, self._count, buffer)
        return bytes(buffer)[: max(units - 1, 0) * 2].decode("utf-16-le", "replace")

    def _pieces(self, start: int, end: int) -> list[Line]:
        """The words of a line, joined where they are close and at one height."""
        found: list[Stretch] = []
        for word in WORD.finditer(self._text, start, end):
            left, right = self._place(word.start()), self._place(word.end() - 1)
            size, last = left[3] - left[1], found[-1] if found else None
            if last and -size < left[0] - last[3][2] < size and left[1] < _middle(last[3]) < left[3]:
                found[-1] = (last[0], word.end(), last[2], right)
            else:
                found.append((word.start(), word.end(), left, right))
        return [self._line(*stretch) for stretch in found]

    def _line(self, start: int, end: int, *places: Place) -> Line:
        """The line around some of its characters, the first of which has the size of its font."""
        content = self._text[start:end]
        if content[-1] in "\ufffe\x02":
            content = content[:-1] + "-"
        lefts, tops, rights, bottoms = zip(*places, strict=True)
        is_bold = len(content) < LONG and self._is_bold(start)
        return Line(clean(content), min(lefts), min(tops), max(rights), max(bottoms), places[0][3] - places[0][1], is_bold)

    def _is_bold(self, index: int) -> bool:
        self._raw.FPDFText_GetFontInfo(self._handle, self._char(index), self._name, len(self._name), self._flags)
        return bool(BOLD.search(self._name.value))

    def _char(self, index: int) -> int:
        if self._is_direct:
            return index
        return max(0, int(self._raw.FPDFText_GetCharIndexFromTextIndex(self._handle, index)))

    def _place(self, index: int) -> Place:
        """Left, top, right and bottom of a character in points from the top left of the page as it is shown."""
        box = self._box
        self._raw.FPDFText_GetLooseCharBox(self._handle, index if self._is_direct else self._char(index), box)
        return self._turned(box.left, box.bottom, box.right, box.top)


def _turn(rotation: int, page: Place) -> Callable[[float, float, float, float], Place]:
    """A function from left, bottom, right and top in a file to a Place on the page as it is shown."""
    page_left, page_bottom, page_right, page_top = page
    return {
        0: lambda left, bottom, right, top: (left - page_left, page_top - top, right - page_left, page_top - bottom),
        90: lambda left, bottom, right, top: (bottom - page_bottom, left - page_left, top - page_bottom, right - page_left),
        180: lambda left, bottom, right, top: (page_right - right, bottom - page_bottom, page_right - left, top - page_bottom),
        270: lambda left, bottom, right, top: (page_top - top, page_right - right, page_top - bottom, page_right - left),
    }[rotation]


def _middle(place: Place) -> float:
    return (place[1] + place[3]) / 2
