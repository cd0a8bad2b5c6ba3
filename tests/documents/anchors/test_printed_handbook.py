"""The pages that the printing of the handbook claims are those that a PDF reader finds."""

import json
from pathlib import Path

import pypdfium2
import pytest
from support.print_layouts import LAYOUTS, key, print_pdf
from support.printed_handbook import HANDBOOK, elements, print_handbook

from rag.components.ingest.rules import FirstMatchRules
from rag.components.loaders.folder import FolderLoader
from rag.components.noise.standard import StandardNoiseFilter
from rag.components.parsers.pdfium import PdfiumParser
from rag.components.redactors.none import NoRedactor
from rag.core.pages import page_at
from rag.documents.anchors.parsed_anchors import Quoted, resolve

SOME = ("admin/contacts.md", "safety/boat-work.md", "leave/annual-leave.md", "pay/expenses-field.md", "leave/special-leave.txt")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_letter_is_on_its_page(tmp_path: Path, layout: str) -> None:
    pages = 0
    for name in SOME:
        source = (HANDBOOK / "documents" / name).read_text("utf-8")
        drawn = print_pdf(elements(source, name), tmp_path / "x.pdf", LAYOUTS[layout])
        texts = [key(page.get_textpage().get_text_bounded()) for page in pypdfium2.PdfDocument(tmp_path / "x.pdf")]
        assert "".join(letters for letters, _ in drawn) == key(source)
        assert [letters for letters, page in drawn if letters not in texts[page - 1]] == []
        assert {page for _, page in drawn} == set(range(1, len(texts) + 1))
        pages += len(texts)
    assert pages >= (10 if layout in ("slides", "pocket") else len(SOME))


def test_questions_name_the_printed_files_and_their_pages(tmp_path: Path) -> None:
    printed = print_handbook(tmp_path, "pocket", SOME, hints=True)
    assert printed.pages >= 10
    assert {quote.first for quote in printed.quotes} >= {1, 2}
    rows = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text("utf-8").splitlines()]
    gold = [place for row in rows for group in row["evidence"] for place in group["any"]]
    assert [(place["doc"], place["quote"], place["page"]) for place in gold] == [
        (quote.doc_id, quote.quote, quote.first) for quote in printed.quotes
    ]
    assert all((tmp_path / "documents" / place["doc"]).is_file() for place in gold)


@pytest.mark.parametrize("suffix", ["docx", "html"])
def test_formats_without_pages(tmp_path: Path, suffix: str) -> None:
    printed = print_handbook(tmp_path, suffix, SOME)
    assert {(quote.doc_id.rpartition(".")[2], quote.first, quote.last) for quote in printed.quotes} == {(suffix, 0, 0)}
    assert len(list((tmp_path / "documents").rglob(f"*.{suffix}"))) == len(SOME)
    if suffix == "html":
        page = (tmp_path / "documents" / "safety" / "boat-work.html").read_text("utf-8")
        assert (page.count("<tr>"), page.count("<th>"), page.count("<li>")) == (6, 6, 6 + 5)


@pytest.mark.parametrize("layout", ["pocket", "footnotes"])
def test_quotes_and_pages_survive_a_parser_and_the_noise_filter(tmp_path: Path, layout: str) -> None:
    printed = print_handbook(tmp_path, layout, SOME)
    parts = (NoRedactor(), FirstMatchRules("All files.", []), StandardNoiseFilter())
    loader = FolderLoader(str(tmp_path / "documents"), {"pdf": PdfiumParser(most_pages=50)}, *parts, workers=1)
    documents = {document.doc_id: document for document in loader.load()}
    assert {dropped.rule for texts in loader.dropped.values() for dropped in texts} >= {"kind: marginalia"}
    assert not any("Ostrey Valley Hydrometric Trust\n" in document.text for document in documents.values())
    for quote in printed.quotes:
        found = resolve(documents[quote.doc_id], Quoted(quote.quote), "")
        assert found.spans, quote
        assert page_at(documents[quote.doc_id].blocks, found.spans[0].start) == quote.first
