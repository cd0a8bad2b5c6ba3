"""Word documents: what a reader sees, with its place, and nothing else."""

import io

import pytest
from docx import Document
from docx.enum.text import WD_BREAK
from support.sample_files import archive, docx, parts_of

from rag.components.parsers.docx import DocxParser
from rag.core.types import Parsed

SCHEMA = "http://schemas.openxmlformats.org"
NAMES = " ".join(
    f'xmlns:{name}="{space}"'
    for name, space in {
        "w": f"{SCHEMA}/wordprocessingml/2006/main",
        "m": f"{SCHEMA}/officeDocument/2006/math",
        "mc": f"{SCHEMA}/markup-compatibility/2006",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "wp": f"{SCHEMA}/drawingml/2006/wordprocessingDrawing",
    }.items()
)


def body(xml: str, strict: bool = False) -> Parsed:
    """A document with this body, in the styles and numberings of python-docx's template."""
    parts = parts_of(docx())
    parts["word/document.xml"] = f"<w:document {NAMES}><w:body>{xml}</w:body></w:document>".encode()
    if strict:
        parts = {
            name: part.replace(
                SCHEMA.encode() + b"/wordprocessingml/2006", b"http://purl.oclc.org/ooxml/wordprocessingml"
            ).replace(SCHEMA.encode() + b"/officeDocument/2006", b"http://purl.oclc.org/ooxml/officeDocument")
            for name, part in parts.items()
        }
    return DocxParser().parse(archive(parts), "a.docx")


def run(text: str, properties: str = "") -> str:
    return f"<w:r>{properties and f'<w:rPr>{properties}</w:rPr>'}<w:t xml:space='preserve'>{text}</w:t></w:r>"


def paragraph(content: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def kinds(content: Parsed) -> list[tuple[str, str, int]]:
    return [(block.kind, content.text[block.start : block.end], block.page) for block in content.blocks]


PAGE = "<w:r><w:lastRenderedPageBreak/></w:r>"


def test_tracked_insertions_are_text_and_deletions_comments_and_hidden_texts_are_not() -> None:
    changes = f"<w:ins>{run('new ')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>{run('secret', '<w:vanish/>')}"
    content = body(paragraph(run("The ") + changes + run("rule.") + '<w:r><w:commentReference w:id="1"/></w:r>'))
    assert content.text == "The new rule."
    assert content.notes == ("hidden texts left out: 1", "tracked deletions left out: 1")


def test_a_paragraph_over_a_page_break_is_two_blocks_of_one_text() -> None:
    content = body(paragraph(run("One two ") + PAGE + run("three.")) + paragraph(PAGE + run("Four.")))
    assert content.text == "One two three.\n\nFour."
    assert kinds(content) == [("text", "One two", 1), ("text", "three.", 2), ("text", "Four.", 3)]
    assert content.pages == 3


def test_a_table_over_a_page_break_is_two_blocks_of_one_table() -> None:
    def cell(content: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(content)}</w:tc>"

    rows = [
        cell(run("a|b"), '<w:gridSpan w:val="2"/>') + cell(run("c"), '<w:vMerge w:val="restart"/>'),
        cell(PAGE + run("d")) + cell(run("e")) + cell("", "<w:vMerge/>"),
    ]
    content = body(f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>")
    head = "| a\\|b |  | c |\n| --- | --- | --- |"
    assert content.text == f"{head}\n| d | e |  |"
    assert kinds(content) == [("table", head, 1), ("table", "| d | e |  |", 2)]


def test_text_boxes_once_check_boxes_and_formulas() -> None:
    box = f"<w:txbxContent>{paragraph(run('In a box.'))}</w:txbxContent>"
    choice = (
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    check = '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent/></w:sdt>'
    letters = [f"<m:r><m:t>{letter}</m:t></m:r>" for letter in "ab"]
    formula = f"<m:oMath><m:f><m:num>{letters[0]}</m:num><m:den>{letters[1]}</m:den></m:f></m:oMath>"
    content = body(paragraph(check + run(" done") + formula + choice))
    assert content.text == "[x] done $\\frac{a}{b}$\n\nIn a box."


def test_footnotes_follow_their_paragraph_and_headers_are_marginalia() -> None:
    document, data = Document(), io.BytesIO()
    document.add_heading("Report", 0)
    document.add_heading("Part", 1)
    document.add_paragraph("First.").add_run().add_break(WD_BREAK.PAGE)
    document.add_paragraph("# not a heading")
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.save(data)
    parts = parts_of(data.getvalue())
    note = f'<w:footnotes {NAMES}><w:footnote w:id="2">{paragraph(run("A note."))}</w:footnote></w:footnotes>'
    link = (
        f'<Relationship Id="n" Type="{SCHEMA}/officeDocument/2006/relationships/footnotes" Target="notes.xml"/></Relationships>'
    )
    parts["word/notes.xml"] = note.encode()
    links = parts["word/_rels/document.xml.rels"]
    parts["word/_rels/document.xml.rels"] = links.replace(b"</Relationships>", link.encode())
    parts["word/document.xml"] = parts["word/document.xml"].replace(
        b"First.</w:t>", b'First.</w:t></w:r><w:r><w:footnoteReference w:id="2"/>'
    )
    content = DocxParser().parse(archive(parts), "a.docx")
    assert content.text == "# Report\n\n## Part\n\nFirst.\n\nA note.\n\n\\# not a heading\n\nConfidential"
    assert [block.kind for block in content.blocks] == ["heading", "heading", "text", "footnote", "text", "marginalia"]
    assert content.pages == 0


def test_numbers_of_lists_are_counted_as_word_counts_them() -> None:
    document, data = Document(), io.BytesIO()
    for style in ("List Number", "List Number", "List Bullet", "List Number"):
        document.add_paragraph("item", style=style)
    document.save(data)
    content = DocxParser().parse(data.getvalue(), "a.docx")
    assert content.text == "1. item\n2. item\n- item\n3. item"


@pytest.mark.parametrize("strict", [False, True])
def test_both_forms_of_office_open_xml_are_read(strict: bool) -> None:
    assert body(paragraph(run("Some text"), '<w:pStyle w:val="Heading2"/>'), strict).text == "## Some text"
