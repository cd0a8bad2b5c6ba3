"""Contents of tables, records, notebooks, e-mails, slides and reStructuredText, in closed form."""

import io
import json
from copy import deepcopy
from datetime import date, datetime, time
from email.message import EmailMessage
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from pptx import Presentation
from pptx.oxml import parse_xml
from pptx.util import Inches
from support.choices import build
from support.sample_files import SAMPLES, archive, parts_of, xlsx

from rag.components.parsers.xlsx import shown
from rag.core.errors import DataError
from rag.core.types import Parsed


def parse(choice: str, data: bytes | str, name: str = "") -> Parsed:
    parsed: Parsed = build("parser", choice).parse(data.encode() if isinstance(data, str) else data, name or f"a.{choice}")
    return parsed


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_separators_and_encodings(codec: str, separator: str) -> None:
    rows = [["name", "pay", "note"], ["Zoë", "1", "a"], ["Ann", "2", "b"]]
    content = parse("csv", "\r\n".join(separator.join(row) for row in rows).encode(codec))
    assert content.text == "| name | pay | note |\n| --- | --- | --- |\n| Zoë | 1 | a |\n| Ann | 2 | b |"
    assert content.notes == (("read as cp1252: the bytes are not UTF-8",) if codec == "cp1252" else ())


def test_values_of_spreadsheets() -> None:
    values = [3.0, 2.5, True, "x", date(2026, 1, 5), datetime(2026, 1, 5, 9, 30), time(9, 30), 1e20]
    expected = ["3", "2.5", "TRUE", "x", "2026-01-05", "2026-01-05T09:30:00", "09:30:00", "1e+20"]
    assert [shown(value) for value in values] == expected


def test_a_sheet_with_a_cell_far_away_is_refused_before_it_is_read() -> None:
    parts, name = parts_of(xlsx()), "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b'r="C2"', b'r="XFD1048576"')
    with pytest.raises(DataError, match="has 17,179,869,184 places for cells"):
        parse("xlsx", archive(parts))


@pytest.mark.parametrize(("choice", "part"), [("docx", "word/document.xml"), ("pptx", "ppt/slides/slide1.xml")])
@pytest.mark.parametrize("mode", ["", ' TargetMode="Internal"'])
def test_a_missing_part_loses_no_other_text(choice: str, part: str, mode: str) -> None:
    parts = parts_of(SAMPLES[choice]())
    folder, _, file = part.rpartition("/")
    links, kind = f"{folder}/_rels/{file}.rels", "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    link = f'<Relationship Id="rId99" Type="{kind}" Target="media/gone &amp; lost.png"{mode}/></Relationships>'
    lacking = parse(choice, archive({**parts, links: parts[links].replace(b"</Relationships>", link.encode())}))
    whole = parse(choice, archive(parts))
    assert (lacking.text, lacking.blocks, lacking.metadata) == (whole.text, whole.blocks, whole.metadata)
    assert lacking.notes == (f"parts that the file lacks: {folder}/media/gone & lost.png", *whole.notes)


def test_an_email_of_many_parts_is_read_in_time_and_its_note_is_short() -> None:
    head = "From: a@example.org\nSubject: s\nContent-Type: multipart/mixed; boundary=b\n\n"
    part, began = "--b\nContent-Type: text/html\n\n<p>words</p>\n", process_time()
    content = parse("eml", head + 30_000 * part + "--b--\n")
    assert process_time() - began < 8, "15 s and more with each header parsed each time"
    assert content.text.endswith("\n\nwords")
    assert content.notes == (f"attachments not opened: {'text/html, ' * 27}te…",)


RECORDS = {
    "meta": {"from": {"city": "Bath"}},
    "items": [{"name": "One", "text": "# A\n\nB"}, {"id": 7, "tags": ["x", 1, None]}],
}
SHOWN = "- meta.from.city: Bath\n\n## One\n\n\\# A\n\nB\n\n## items[1]\n\n- id: 7\n- tags: x, 1"


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.csv", 'a,b\n"line\nfeed",|\n,x', "| a | b |\n| --- | --- |\n| line feed | \\| |\n|  | x |"),
        ("a.json", json.dumps(RECORDS), SHOWN),
        ("a.json", r'{"a": "x\ud800\u0000y", "b": NaN}', "- a: xy\n- b: NaN"),
        ("a.jsonl", '{"a": 1}\n{"a": true}', "## [0]\n\n- a: 1\n\n## [1]\n\n- a: true"),
        ("a.yaml", "from: 2026-01-05\n---\n- {name: One, n: 1}", "- from: 2026-01-05\n\n## One\n\n- n: 1"),
    ],
)
def test_tables_and_records_in_closed_form(name: str, data: str, text: str) -> None:
    assert parse(name[2:].replace("jsonl", "json"), data, name).text == text


@pytest.mark.parametrize(
    ("choice", "text", "what"),
    [
        ("json", "[" * 100_000, "nested too deeply"),
        ("json", '{"a":' * 60 + "1" + "}" * 60, "nested more than 50 levels"),
        ("json", json.dumps(list(range(300_000))), "more than 200,000 values"),
        ("yaml", "[" * 100_000, "nested more than 50 levels"),
        ("yaml", "&a [*a]", "nested more than 50 levels"),
        (
            "yaml",
            "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 20)),
            "more than 200,000",
        ),
        ("yaml", "!!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("csv", "a,b\n" + "1,2\n" * 300_000, "500,002 cells and more"),
        ("rst", "".join(" " * n + "- a\n\n" for n in range(0, 600, 2)), "nested too deeply"),
        (
            "eml",
            "From: a\n" + "".join(f'Content-Type: multipart/mixed; boundary="{n}"\n\n--{n}\n' for n in range(3000)),
            "deeply",
        ),
        ("eml", "no headers at all", "is not an e-mail"),
        ("notebook", "[]", "is not a notebook"),
        ("json", "{} {}", "is not readable as JSON"),
        ("csv", "%PDF-1.7", "is not CSV but a PDF file"),
        ("docx", "%PDF-1.7", "is not a Word document but a PDF file"),
        ("pptx", "\ufffd", "is not a presentation, or damaged"),
    ],
)
def test_refusals_are_one_clear_line(choice: str, text: str, what: str) -> None:
    with pytest.raises(DataError, match=what) as refused:
        parse(choice, text)
    assert "\n" not in refused.value.what


def test_notebooks_show_code_and_texts_of_outputs() -> None:
    outputs: list[dict[str, Any]] = [
        {"output_type": "execute_result", "data": {"text/plain": "42", "text/html": "<b>42</b>"}},
        {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["\u001b[31m"]},
        {"output_type": "stream", "text": "x" * 20_001},
        {"output_type": "display_data", "data": {"image/png": "AAAA"}},
    ]
    cells = [{"cell_type": "code", "source": ["a = '''\n", "```\n", "'''"], "outputs": outputs}]
    content = parse("notebook", json.dumps({"cells": cells, "metadata": {}}))
    assert (
        content.text == f"````\na = '''\n```\n'''\n````\n\n```\n42\n```\n\n```\nKeyError: 'a'\n```\n\n```\n{'x' * 20_000}\n```"
    )
    assert content.notes == ("1 outputs cut to 20,000 characters",)


def test_an_email_of_html_only() -> None:
    message = EmailMessage()
    message["Subject"], message["From"] = "=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "a@example.org"
    message.set_content("<h1>Hello</h1><p>World<img src='http://example.org/a.png'>", subtype="html")
    content = parse("eml", message.as_bytes())
    assert content.text == "# Grüße\n\nFrom: a@example.org\n\n# Hello\n\nWorld"
    assert content.metadata == {"title": "Grüße", "author": "a@example.org"}


def test_slides_are_pages_with_lists_and_notes() -> None:
    deck, data = Presentation(), io.BytesIO()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text_frame.text = "Plan"
    frame = slide.placeholders[1].text_frame
    frame.text = "first"
    frame.add_paragraph().text, frame.paragraphs[1].level = "inner", 1
    second = deck.slides.add_slide(deck.slide_layouts[6])
    box = second.shapes.add_textbox(0, 0, Inches(4), Inches(1))
    box.text_frame.text = "In a box."
    second.notes_slide.notes_text_frame.text = "Say it."
    tree = second.shapes._spTree
    office = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    tree.append(
        parse_xml(f'<mc:AlternateContent xmlns:mc="{office}"><mc:Choice Requires="a14"/><mc:Fallback/></mc:AlternateContent>')
    )
    for form in tree[-1]:
        form.append(deepcopy(box._element))
    tree.remove(box._element)
    tree.append(parse_xml('<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"/>'))
    deck.save(data)
    content = parse("pptx", data.getvalue())
    assert content.notes == ("charts and diagrams left out: 1",)
    assert content.text == "# Plan\n\n- first\n    - inner\n\nIn a box.\n\nSay it."
    assert [(block.kind, block.page) for block in content.blocks] == [("heading", 1), ("list", 1), ("text", 2), ("footnote", 2)]
    assert content.pages == 2


def test_rst_reads_no_file_and_keeps_what_sphinx_adds(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    files = [f".. include:: {secret}", f".. csv-table:: x\n   :file: {secret}", f".. raw:: html\n   :file: {secret}"]
    text = ".. versionadded:: 2.0\n\n   New *thing*, see :ref:`the part <part>` and :class:`~a.B`."
    content = parse("rst", "\n\n".join(["Title\n=====", *files, text, "Sub\n---\n\n.. code:: python\n\n   x = 1"]))
    assert content.text == "# Title\n\n2.0\n\nNew thing, see the part and a.B.\n\n## Sub\n\n```\nx = 1\n```"
