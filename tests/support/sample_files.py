"""Small files of every format that a parser reads, built by tests."""

import io
import json
import re
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

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


def pdf(*more: str) -> bytes:
    """Two pages with a header, a heading, a list, a ruled table and page numbers, and `more` paragraphs; without a date."""
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
        *(Paragraph(text, styles["Normal"]) for text in more),
    ]
    document = SimpleDocTemplate(data, title="Staff handbook", author="A. Ames", invariant=1)
    document.build(story, onFirstPage=frame, onLaterPages=frame)
    return data.getvalue()


def docx(*more: str) -> bytes:
    """A heading, a paragraph, a numbered list and a table, and `more` paragraphs."""
    from docx import Document

    document, data = Document(), io.BytesIO()
    document.core_properties.title, document.core_properties.author = "Staff handbook", "A. Ames"
    document.add_heading("Leave", 1)
    for text in (PARAGRAPH, *more):
        document.add_paragraph(text)
    for number in (1, 2):
        document.add_paragraph(f"item {number} of the list", style="List Number")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("band", "days", "A", "26"), strict=True):
        cell.text = text
    document.save(data)
    return archive(parts_of(data.getvalue()))


def pptx() -> bytes:
    """A slide with a title, a text, a table and notes."""
    from pptx import Presentation
    from pptx.util import Cm

    deck, data = Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text_frame.text = "Leave"
    slide.placeholders[1].text_frame.text = PARAGRAPH
    table = slide.shapes.add_table(2, 2, Cm(2), Cm(10), Cm(8), Cm(3)).table
    for number, text in enumerate(("band", "days", "A", "26")):
        table.cell(number // 2, number % 2).text_frame.text = text
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    deck.save(data)
    return archive(parts_of(data.getvalue()))


OFFICE = "http://schemas.openxmlformats.org"


def xlsx() -> bytes:
    """A workbook with a sheet of two rows, written part by part: no library of the project writes one."""
    main, relations = f"{OFFICE}/spreadsheetml/2006/main", f"{OFFICE}/package/2006/relationships"
    link = f"{OFFICE}/officeDocument/2006/relationships"
    rows = (("policy", "days", "from"), (PARAGRAPH, 26, True))
    cells = [
        "".join(_xlsx_cell(f"{'ABC'[place]}{number}", value) for place, value in enumerate(row))
        for number, row in enumerate(rows, 1)
    ]
    sheet = "".join(f'<row r="{number}">{row}</row>' for number, row in enumerate(cells, 1))
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}">'
        f'<Relationship Id="a" Type="{link}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}">'
        f'<Relationship Id="a" Type="{link}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{link}"><sheets>'
        '<sheet name="Leave" sheetId="1" r:id="a"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    return archive(parts)


def _xlsx_cell(place: str, value: object) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}" t="{"b" if isinstance(value, bool) else "n"}"><v>{int(value)}</v></c>'


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive with these files, of the same bytes every time."""
    data = io.BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return data.getvalue()


def parts_of(data: bytes) -> dict[str, bytes]:
    """The files in a ZIP archive by name: what `archive` takes."""
    with ZipFile(io.BytesIO(data)) as source:
        return {name: source.read(name) for name in source.namelist()}


def csv() -> bytes:
    """A table with quoted cells."""
    return f'policy,days\r\n"{PARAGRAPH}",26\r\n"a ""b"" | c",1\r\n'.encode()


def html() -> bytes:
    """A page without menus: all of it is content."""
    table = "<table><tr><th>band</th><th>days</th></tr><tr><td>A</td><td>26</td></tr></table>"
    return f"<html><head><title>Leave</title></head><body><h1>Leave</h1><p>{PARAGRAPH}</p>{table}</body></html>".encode()


def rst() -> bytes:
    """A heading, a paragraph, a list and a table."""
    table = "====  ====\nband  days\n====  ====\nA     26\n====  ====\n"
    return f"Leave\n=====\n\n{PARAGRAPH}\n\n- item 1\n- item 2\n\n{table}".encode()


def json_records() -> bytes:
    """A record with a title, a text and other values."""
    return json.dumps({"title": "Leave", "text": PARAGRAPH, "days": 26, "for": {"bands": ["A", "B"], "part": None}}).encode()


def json_lines() -> bytes:
    """Two records."""
    return f'{{"title": "Leave", "text": "{PARAGRAPH}"}}\n{{"title": "Pay", "day": 25}}\n'.encode()


def yaml() -> bytes:
    """The same values as `json_records`, with a date."""
    return f"title: Leave\ntext: {PARAGRAPH}\nfrom: 2026-01-01\nfor: {{bands: [A, B]}}\n".encode()


def notebook() -> bytes:
    """A cell of Markdown and one of code with its output."""
    output = {"output_type": "stream", "name": "stdout", "text": ["26\n"]}
    cells = [
        {"cell_type": "markdown", "source": ["# Leave\n", "\n", PARAGRAPH]},
        {"cell_type": "code", "source": "print(26)", "outputs": [output]},
    ]
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}).encode()


def email() -> bytes:
    """A message with an attachment."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "A. Ames <ames@example.org>", "staff@example.org", "Leave"
    message["Date"] = "Mon, 05 Jan 2026 09:30:00 +0100"
    message.set_content(PARAGRAPH)
    message.add_attachment(b"\0", maintype="application", subtype="octet-stream", filename="plan.bin")
    return re.sub(rb"={15}\d+==", b"=" * 15 + b"1==", message.as_bytes())


SAMPLES: dict[str, Callable[[], bytes]] = {
    **dict.fromkeys(("html", "htm"), html),
    **dict.fromkeys(("xlsx", "xlsm"), xlsx),
    **dict.fromkeys(("csv", "tsv"), csv),
    **dict.fromkeys(("yml", "yaml"), yaml),
    **dict.fromkeys(("py", "toml", "ini", "js", "ts", "java", "go", "rs", "sql", "sh", "xml", "log", "txt"), plain_text),
    "docx": docx,
    "eml": email,
    "ipynb": notebook,
    "json": json_records,
    "jsonl": json_lines,
    "md": markdown,
    "pdf": pdf,
    "pptx": pptx,
    "rst": rst,
}
"""Suffix → function that writes a file of that format with PARAGRAPH in it."""
