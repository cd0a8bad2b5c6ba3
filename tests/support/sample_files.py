"""Small files of every format that a parser reads, built by tests."""

import io
from collections.abc import Callable

PARAGRAPH = (
    "Staff may carry over five days of leave. A manager agrees in writing before the end of March, and the days are "
    "taken before the end of June."
)
"""A paragraph that every sample holds."""


def markdown() -> bytes:
    """A heading, a paragraph with Windows line ends, and a table."""
    return f"# Leave\r\n\r\n{PARAGRAPH}\r\n\r\n| band | days |\r\n| --- | --- |\r\n| A | 26 |\r\n".encode()


def plain_text() -> bytes:
    """A paragraph after a byte order mark."""
    return f"\ufeff{PARAGRAPH}\r\n".encode()


def pdf() -> bytes:
    """Two pages with a header, a heading, a list, a ruled table and page numbers; created without a date."""
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

    def frame(canvas: Canvas, page: SimpleDocTemplate) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(72, 800, "Staff handbook")
        canvas.drawCentredString(300, 30, f"Page {page.page}")

    styles, data = getSampleStyleSheet(), io.BytesIO()
    grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    story = [
        Paragraph("Leave", styles["Heading1"]),
        Paragraph(PARAGRAPH, styles["Normal"]),
        *(Paragraph(f"\u2022 item {number} of the list", styles["Normal"]) for number in (1, 2, 3)),
        Table([["band", "days"], ["A", "26"], ["B", "28"]], style=grid),
        PageBreak(),
        Paragraph("Sick leave", styles["Heading1"]),
        Paragraph("Call by nine. " * 20, styles["Normal"]),
    ]
    document = SimpleDocTemplate(data, title="Staff handbook", author="A. Ames", invariant=1)
    document.build(story, onFirstPage=frame, onLaterPages=frame)
    return data.getvalue()


SAMPLES: dict[str, Callable[[], bytes]] = {"md": markdown, "txt": plain_text, "pdf": pdf}
"""Suffix → function that writes a file of that format with PARAGRAPH in it."""
