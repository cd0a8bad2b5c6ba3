"""Quotes that hold text which the loader dropped as noise."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.drawn_pdfs import drawn, prose

from rag.components.ingest.rules import FirstMatchRules
from rag.components.loaders.folder import FolderLoader
from rag.components.noise.standard import StandardNoiseFilter
from rag.components.parsers.pdfium import PdfiumParser
from rag.components.redactors.none import NoRedactor
from rag.core.pages import page_at
from rag.core.types import Anchor, Block, Document
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.quote_anchors import Documents, place_of
from rag.documents.clean.noise import cut, with_noise, without_dropped

HEADER, FOOTER = "Annual report of the Holm ferry", "Page 7 of 93"
BODY = "Total revenue was 5,794 in 2019, and the fleet had eleven ships in service at the end of that year."
MORE = "In 2018 revenue was 4,225, and the fleet had ten ships in service."


def report() -> Document:
    """A page with a header, two paragraphs and a footer between them."""
    text, blocks = "", []
    for kind, part in (("marginalia", HEADER), ("text", BODY), ("marginalia", FOOTER), ("text", MORE)):
        blocks.append(Block(kind, len(text), len(text) + len(part), 1))
        text += f"{part}\n\n"
    return Document("report.pdf", text, blocks=tuple(blocks))


def found(quote: str) -> Anchor:
    page = report()
    document, dropped = cut(page, [(block.start, block.end, "header") for block in page.blocks if block.kind == "marginalia"])
    place = place_of("report.pdf", Quoted(quote), "q1", Documents([document], {}, {"report.pdf": dropped}))
    assert isinstance(place, Anchor)
    assert with_noise(document, dropped).text == page.text
    assert "".join(document.text[span.start : span.end] for span in place.spans).find(HEADER) < 0
    return place


def test_a_quote_with_the_header_of_its_page_is_in_pieces() -> None:
    place = found(f"{HEADER}\n{BODY} {FOOTER} {MORE}")
    assert (place.fate, len(place.spans)) == ("pieced", 2)
    assert sum(span.end - span.start for span in place.spans) >= len(BODY + MORE)


def test_a_quote_of_a_header_alone_is_lost_by_noise_and_one_with_another_number_by_the_parser() -> None:
    assert (found(HEADER).fate, found(HEADER).rule, found(BODY).fate) == ("noise", "header", "exact")
    assert found(f"{HEADER}\n{BODY} {FOOTER} {MORE}".replace("5,794", "5,974")).fate == "parser"


def test_quotes_and_pages_survive_a_parser_and_the_noise_filter(tmp_path: Path) -> None:
    lines = [prose(40, 100, 30, 100 * page) for page in range(4)]
    edges = [[(40, 30, HEADER), (40, 780, f"Page {page} of 4")] for page in range(1, 5)]
    pages = [[head, *body, foot] for body, (head, foot) in zip(lines, edges, strict=True)]
    (tmp_path / "report.pdf").write_bytes(drawn(pages))
    parts = (NoRedactor(), FirstMatchRules("All files.", []), StandardNoiseFilter())
    loader = FolderLoader(str(tmp_path), {"pdf": PdfiumParser(most_pages=50)}, *parts, workers=1)
    (document,) = loader.load()
    assert HEADER not in document.text
    assert "Page 2" not in document.text
    for page, body in enumerate(lines, 1):
        place = place_of("report.pdf", Quoted(" ".join(line[2] for line in body[4:9])), "q", Documents([document], {}, {}))
        assert isinstance(place, Anchor)
        assert {page_at(document.blocks, span.start) for span in place.spans} == {page}


@given(st.lists(st.tuples(st.text("ab \n", max_size=6), st.booleans()), max_size=8), st.data())
def test_places_with_noise_and_without_it_are_the_same_characters(parts: list[tuple[str, bool]], data: st.DataObject) -> None:
    text, noise = "", []
    for part, is_noise in parts:
        if is_noise and part:
            noise.append((len(text), len(text) + len(part), "rule"))
        text += part
    document, dropped = cut(Document("d", text), noise)
    assert with_noise(document, dropped).text == text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    kept, _ = without_dropped(start, end, dropped)
    whole, _ = without_dropped(0, len(text), dropped)
    assert sum(high - low for low, high in whole) == len(document.text)
    shown = "".join(document.text[low:high] for low, high in kept)
    gone = [at for low, high, _ in noise for at in range(low, high)]
    assert len(shown) <= sum(at not in gone for at in range(start, end))
    assert shown.replace(" ", "").replace("\n", "") == "".join(
        text[at] for at in range(start, end) if at not in gone and not text[at].isspace()
    )
