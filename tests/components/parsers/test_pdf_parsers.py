"""PDF parsers on pages whose lines are known: order, kinds, boxes, tables, properties, refusals."""

import io
import logging
from contextlib import suppress

import numpy as np
import pytest
from support.choices import build
from support.drawn_pdfs import Drawn, drawn, prose, scan
from support.sample_files import pdf

from rag.core.errors import DataError
from rag.core.types import Block, Parsed
from rag.documents.pages.pdf_files import UNLOCKS

PARSERS = ("pdfium", "pypdf")
Kinds = list[tuple[str, str]]


def parsed(choice: str, data: bytes, **changes: object) -> Parsed:
    content: Parsed = build("parser", choice, **changes).parse(data, "a.pdf")
    return content


def kinds(content: Parsed, *but: str) -> Kinds:
    return [(block.kind, content.text[block.start : block.end]) for block in content.blocks if block.kind not in but]


def test_blocks_of_a_page_with_their_kinds_and_boxes() -> None:
    content = parsed("pdfium", pdf())
    first = kinds(content, "cell")[:8]
    assert [kind for kind, _ in first] == ["marginalia", "heading", "text", "list", "list", "list", "table", "marginalia"]
    assert first[0][1] == "Staff handbook"
    assert first[1][1] == "# Leave"
    assert [text for kind, text in first if kind == "list"] == [f"- item {number} of the list" for number in (1, 2, 3)]
    assert first[-2:] == [("table", "| band | days |\n| --- | --- |\n| A | 26 |\n| B | 28 |"), ("marginalia", "Page 1")]
    assert content.text.startswith("Staff handbook\n\n# Leave\n\nStaff may carry")
    assert content.pages == 2


@pytest.mark.parametrize("choice", PARSERS)
def test_properties_are_typed_and_the_day_is_iso(choice: str) -> None:
    assert parsed(choice, pdf()).metadata == {"title": "Staff handbook", "author": "A. Ames", "date": "2000-01-01"}


@pytest.mark.parametrize("corner", [(0, 0), (35, 90)])
@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_boxes_hold_the_ink_of_the_page_as_it_is_shown(turned: int, corner: tuple[int, int]) -> None:
    """Two columns and a note far below, upright, sideways and upside down, whole and cut off by a crop box."""
    import pypdfium2

    lines = [*prose(40, 200, 4, 100, 8), (40, 300, "A note of its own.", 7), *prose(320, 200, 4, 200, 8), (2, 400, "cut")]
    data, file = drawn([lines], turned=turned), io.BytesIO()
    with pypdfium2.PdfDocument(data) as document:
        page = document[0]
        left, bottom, right, top = page.get_mediabox()
        page.set_cropbox(left + corner[0], bottom + 20, right - 15, top - corner[1])
        ink = page.render(scale=2, may_draw_forms=False).to_numpy()[:, :, 0] < 128
        document.save(file)
    content, covered, (height, width) = parsed("pdfium", file.getvalue()), np.zeros_like(ink), ink.shape
    blocks = [block for block in content.blocks if block.boxes]
    assert len(blocks) >= 4 - bool(corner[0])
    for block in blocks:
        ((left, top, right, bottom),) = block.boxes
        place = np.s_[round(top * height) : round(bottom * height), round(left * width) : round(right * width)]
        assert not covered[place].any(), "boxes do not overlap"
        covered[place] = True
        rows, columns = np.nonzero(ink[place])
        slack = [rows.min(), columns.min(), ink[place].shape[0] - rows.max(), ink[place].shape[1] - columns.max()]
        assert max(slack) <= 12, "half of a line at most"
    assert not (ink & ~covered).any()


def two_columns(by_row: bool) -> bytes:
    title: list[Drawn] = [(150, 60, "One title across both columns of the page", 16)]
    left, right = prose(40, 100, 20, 100, 8), prose(320, 100, 20, 200, 8)
    pairs = [line for pair in zip(left, right, strict=True) for line in pair]
    return drawn([title + (pairs if by_row else left + right)])


@pytest.mark.parametrize("by_row", [False, True])
def test_two_columns_are_read_one_after_the_other(by_row: bool) -> None:
    content = parsed("pdfium", two_columns(by_row))
    places = [content.text.index(line[2].split()[0]) for line in [*prose(0, 0, 20, 100), *prose(0, 0, 20, 200)]]
    assert places == sorted(places)
    assert content.text.index("One title") < places[0]


def test_the_rows_of_a_table_are_not_taken_for_columns() -> None:
    rows = [(left, 100 + 14 * row, f"{name} {row}") for row in range(20) for left, name in ((40, "item"), (400, "value"))]
    lines = parsed("pdfium", drawn([rows])).text.split("\n")
    assert [lines[0], *lines[2:]] == [f"| item {row} | value {row} |" for row in range(20)]


def test_aligned_words_are_a_table_and_neither_prose_nor_formulas_nor_a_caption() -> None:
    names = [(200, 300, "Share of"), (300, 300, "Sites in 2024"), (200, 311, "staff"), (300, 311, "and 2025")]
    rows = {323: "North|12|3", 335: "South and the islands||41", 347: "of the lake||", 359: "West|9 %|5", 371: "Source:||"}
    cells = [(top, *cell) for top, row in rows.items() for cell in zip((40, 210, 310), row.split("|"), strict=True)]
    body = [(left, top, text) for top, left, text in cells if text]
    formulas = [(left, 500 + top, "x") for top in range(0, 64, 8) for left in (40, 200, 300)]
    page = [*prose(40, 100, 12, 0), (40, 288, "Table 7:"), (110, 288, "a caption " * 6), *names, *body, *formulas]
    beside = [(left, top, "one of two columns of prose") for left in (40, 320) for top in range(100, 300, 14)]
    tables = [text for kind, text in kinds(parsed("pdfium", drawn([page, beside]))) if kind == "table"]
    assert tables == [
        "|  | Share of staff | Sites in 2024 and 2025 |\n| --- | --- | --- |\n| North | 12 | 3 |\n"
        "| South and the islands of the lake |  | 41 |\n| West | 9 % | 5 |"
    ]


def test_a_drop_cap_begins_the_first_line_beside_it() -> None:
    lines = [(66, 100, "he ferry to Holm leaves at seven in spring"), (66, 112, "and at nine in winter, when the strait is")]
    beside = [(40, 98, "T", 28), *lines, (40, 124, "open. Dogs travel free of charge on the boat.")]
    assert parsed("pdfium", drawn([beside])).text.startswith("The ferry to Holm leaves at seven in spring and at nine")
    marks = [(40, 98, "T", 28), (300, 100, "he stands far from the letter, so both stay"), (300, 112, "as they are")]
    assert "The stands" not in parsed("pdfium", drawn([marks])).text


@pytest.mark.parametrize("choice", PARSERS)
def test_headers_and_footers_are_marginalia_and_stay_in_the_text(choice: str) -> None:
    pages = [
        [(40, 20, f"River report, part {page}"), *prose(40, 100, 6, 10 * page), (290, 770, str(page + 4))] for page in range(5)
    ]
    content = parsed(choice, drawn(pages))
    found = [text for kind, text in kinds(content) if kind == "marginalia"]
    assert found == [text for page in range(5) for text in (f"River report, part {page}", str(page + 4))]


@pytest.mark.parametrize("choice", PARSERS)
def test_the_first_line_of_two_different_pages_is_no_header(choice: str) -> None:
    pages = [[(40, 60, text), *prose(40, 100, 6, 10 * page)] for page, text in enumerate(("Spring", "Autumn"))]
    assert "marginalia" not in [kind for kind, _ in kinds(parsed(choice, drawn(pages)))]


def test_small_notes_at_the_end_of_a_page_are_footnotes() -> None:
    page: list[Drawn] = [
        *prose(40, 100, 20, 0),
        (40, 700, "1 See the yearbook of rivers.", 7),
        (40, 710, "2 Ibid., page 4.", 7),
    ]
    assert kinds(parsed("pdfium", drawn([page])))[-1][0] == "footnote"
    assert "footnote" not in [kind for kind, _ in kinds(parsed("pdfium", drawn([page[:20]])))]


def test_words_divided_at_line_ends() -> None:
    filler = "weeds of the rivers that were clear in spring"
    lines = (f"{filler} and infor-", "mation on the", f"long-term plan {filler} a long-", "term plan")
    page: list[Drawn] = [(40, 100 + 12 * number, line) for number, line in enumerate(lines)]
    for choice in ("pdfium", "pypdf"):
        text = parsed(choice, drawn([page])).text
        assert "information on the" in text
        assert "a long-term plan" in text


def test_lines_that_look_like_markdown_are_text() -> None:
    content = parsed("pdfium", drawn([[(40, 100, "# of rivers"), (40, 300, "``` a fence")]]))
    assert content.text == "\\# of rivers\n\n\\``` a fence"


def table_cells(content: Parsed) -> list[tuple[str, Block]]:
    return [(content.text[block.start : block.end], block) for block in content.blocks if block.kind == "cell"]


def test_cells_of_a_table_have_their_boxes() -> None:
    content = parsed("pdfium", pdf())
    cells = table_cells(content)
    assert [text for text, _ in cells] == ["band", "days", "A", "26", "B", "28"]
    (a, twenty_six), (header, _) = (cells[2][1].boxes[0], cells[3][1].boxes[0]), (cells[0][1].boxes[0], None)
    assert header[0] == pytest.approx(a[0], abs=0.001)
    assert a[2] < twenty_six[0]
    assert header[3] < a[1]


@pytest.mark.parametrize("choice", PARSERS)
def test_refusals_in_one_line(choice: str) -> None:
    small = drawn([[(40, 100, "one")], [(40, 100, "two")]])
    for data, what in (
        (drawn([[(40, 100, "secret")]], password="key"), "is encrypted, and needs a password"),
        (b"PK\x03\x04", "is not a PDF: it has no header %PDF-"),
        (b"", "is empty"),
    ):
        with pytest.raises(DataError) as raised:
            parsed(choice, data)
        assert raised.value.what == what
    with pytest.raises(DataError, match="has 2 pages, more than 1"):
        parsed(choice, small, most_pages=1)
    assert parsed(choice, small, most_pages=2).pages == 2


@pytest.mark.parametrize("choice", PARSERS)
def test_a_password_opens_an_encrypted_file(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = drawn([[(40, 100, "The ferry is blue.")]], password="key")
    monkeypatch.setenv(UNLOCKS, "another")
    with pytest.raises(DataError, match="is encrypted, and does not open with the password that was given"):
        parsed(choice, locked)
    monkeypatch.setenv(UNLOCKS, "key")
    assert "The ferry is blue." in parsed(choice, locked).text


@pytest.mark.parametrize("choice", PARSERS)
def test_pages_that_are_images_are_noted(choice: str) -> None:
    content = parsed(choice, scan(drawn([[(40, 100, "one")], [(40, 100, "two")]])))
    assert content.text == ""
    assert content.notes == ("pages 1-2 are scanned images: no text; install assay-rag[ocr] and choose the parser pdfium_ocr",)
    assert parsed(choice, drawn([[]])).notes == ()


def test_values_of_form_fields_are_text() -> None:
    from reportlab.pdfgen.canvas import Canvas

    data = io.BytesIO()
    canvas = Canvas(data, invariant=1)
    canvas.drawString(72, 700, "Name of the river")
    canvas.acroForm.textfield(name="river", value="Silver Brook", x=72, y=660, width=200, height=20)
    canvas.save()
    assert "Silver Brook" in parsed("pdfium", data.getvalue()).text


def test_pypdf_leaves_its_logger_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    level = logging.getLogger("pypdf").level
    for data in (pdf(), pdf()[:900]):
        with suppress(DataError):
            parsed("pypdf", data)
    assert logging.getLogger("pypdf").level == level
    assert capsys.readouterr().err == ""
