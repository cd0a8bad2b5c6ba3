"""PDF files drawn text by text, so that the place of every line is known."""

import io
from collections.abc import Sequence

Drawn = tuple[float, float, str] | tuple[float, float, str, float] | tuple[float, float, str, float, str]
"""Left and top in points from the top left of the page, text, size (10), font (Helvetica)."""
HEIGHT, WIDTH = 800, 600
WORDS = [
    "the", "panel", "met", "in", "spring", "and", "found", "that",
    "most", "rivers", "had", "been", "clear", "for", "years",
]  # fmt: skip


def drawn(pages: Sequence[Sequence[Drawn]], password: str = "", turned: int = 0) -> bytes:
    """A PDF of 600 by 800 points; `password` encrypts it, `turned` is the rotation of its pages, whose height is 600 for 90."""
    from reportlab.pdfgen.canvas import Canvas

    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(WIDTH, HEIGHT), invariant=1, encrypt=password or None)
    canvas.setTitle("Rivers")
    canvas.setAuthor("R. Weed")
    for page in pages:
        canvas.setPageRotation(turned)
        for left, top, text, *look in page:
            size, font = (*look, *(10, "Helvetica")[len(look) :])
            canvas.setFont(font, size)
            canvas.drawString(left, (WIDTH if turned % 180 else HEIGHT) - top - size, text)
        canvas.showPage()
    canvas.save()
    return data.getvalue()


def prose(left: float, top: float, lines: int, first: int, words: int = 9) -> list[Drawn]:
    """Lines of a paragraph that differ in their first word."""
    return [(left, top + 12 * number, " ".join([f"{_word(first + number)}", *WORDS[:words]])) for number in range(lines)]


def _word(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) * 2 for digit in f"{number:03}")


def scan(pdf: bytes) -> bytes:
    """The pages of a PDF as images without text."""
    import pypdfium2
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(WIDTH, HEIGHT), invariant=1)
    document = pypdfium2.PdfDocument(pdf)
    for page in document:
        canvas.drawImage(ImageReader(page.render(scale=2).to_pil()), 0, 0, WIDTH, HEIGHT)
        canvas.showPage()
    canvas.save()
    document.close()
    return data.getvalue()
