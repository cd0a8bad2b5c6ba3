"""Chunks as a table: order, quoting, headings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.core.corpus import Corpus
from rag.core.headings import Section, holds
from rag.core.types import Chunk, Document, Span

LAW = settings(max_examples=40, deadline=None)  # a busy machine is no failure

GUIDE = """Before any heading.
# Leave ##
Twenty-five days.
## Sick leave
Tell us.
### Long \t
A note.
## Parents
Weeks.
# Pay
#no heading
####### none either
"""


def spot(text: str) -> Span:
    return Span("guide", GUIDE.index(text), GUIDE.index(text) + len(text))


def sections(*texts: str) -> list[str]:
    corpus = Corpus.of([Document("guide", GUIDE)], [spot(text) for text in texts])
    return [chunk.section_at(chunk.span.start) for chunk in corpus.chunks(range(len(corpus)))]


def test_rows_are_in_reading_order() -> None:
    documents = [Document("b", "0123456789"), Document("a", "äöü"), Document("c", "no span")]
    spans = [Span("b", 4, 6), Span("b", 0, 9), Span("a", 1, 3), Span("b", 0, 2), Span("b", 4, 6)]
    corpus = Corpus.of(documents, spans)
    assert [document.doc_id for document in corpus.documents] == ["a", "b", "c"]
    assert len(corpus) == 4
    assert (corpus.doc.tolist(), corpus.start.tolist(), corpus.end.tolist()) == ([0, 1, 1, 1], [1, 0, 0, 4], [3, 2, 9, 6])
    assert corpus.texts == ("öü", "01", "012345678", "45")
    assert corpus.text(3) == "45"

    other = Corpus.of(documents[::-1], spans[::-1] * 2)
    assert (other.documents, other.texts, other.doc.tolist()) == (corpus.documents, corpus.texts, corpus.doc.tolist())


def test_no_spans_no_documents_and_a_span_of_an_unknown_document() -> None:
    assert len(Corpus.of([], [])) == 0
    corpus = Corpus.of([Document("a", "x")], [])
    assert (len(corpus), corpus.texts, len(corpus.documents)) == (0, (), 1)
    with pytest.raises(KeyError):
        Corpus.of([Document("a", "x")], [Span("b", 0, 1)])


def test_chunks_are_records_in_the_order_asked_for() -> None:
    corpus = Corpus.of([Document("guide", GUIDE)], [spot("Tell us."), spot("Weeks.")])
    second, first = corpus.chunks([1, 0])
    parents = Section(GUIDE.index("## Parents"), GUIDE.index("\nWeeks."), "Leave > Parents", 2)
    assert second == Chunk(spot("Weeks."), "Weeks.", (parents,))
    assert first.chunk_id == f"guide:{spot('Tell us.').start}-{spot('Tell us.').end}"
    assert corpus.chunks([]) == ()


def test_a_section_is_the_path_of_headings_above_the_first_character() -> None:
    sick = "Leave > Sick leave"
    assert sections("Before", "Twenty-five", "Tell", "Weeks") == ["", "Leave", sick, "Leave > Parents"]
    assert sections("## Sick leave", " Sick leave", "A note") == [sick, sick, f"{sick} > Long"]
    assert sections("#no heading", "####### none") == ["Pay", "Pay"]


def test_a_chunk_knows_the_section_of_each_of_its_characters() -> None:
    text = "five days.\n## Sick leave\nTell us.\n### Long \t\nA note."
    (chunk,) = Corpus.of([Document("guide", GUIDE)], [spot(text)]).chunks([0])
    expected = {
        "days": "Leave",
        "## Sick": "Leave > Sick leave",
        "us.": "Leave > Sick leave",
        "note": "Leave > Sick leave > Long",
    }
    assert {words: chunk.section_at(GUIDE.index(words)) for words in expected} == expected
    headings = [GUIDE[place] for place in range(chunk.span.start, chunk.span.end) if holds(chunk.sections, place)]
    assert "".join(headings) == "## Sick leave### Long \t"


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("five days.\n## Sick leave\nTell us.\n### Long", "Leave > Sick leave"),
        ("Twenty-five days.\n## Sick", "Leave"),
        ("Weeks.\n# Pay\n#no heading\n", "Pay"),
        ("# Long \t\nA note.\n## Parents\nWeeks.", "Leave"),  # Each of the two sections has half of it.
        (GUIDE, "Leave"),
    ],
)
def test_the_section_of_a_chunk_is_that_of_more_than_half_of_it(text: str, section: str) -> None:
    assert Corpus.of([Document("guide", GUIDE)], [spot(text)]).chunk(0).section == section


def test_reach_leaves_headings_without_text_out() -> None:
    cut = ["five days.\n## Sick leave\n", "\n## Sick leave\nTell us.", "## Sick leave", "us.\n### Long \t\nA"]
    corpus = Corpus.of([Document("guide", GUIDE)], sorted(spot(text) for text in cut))
    assert {corpus.text(position): corpus.reach(position) for position in range(4)} == dict(
        zip(cut, [(1, 1), (2, 2), (2, 2), (2, 3)], strict=True)
    )


@LAW
@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8))
def test_every_chunk_quotes_its_span(text: str, cuts: list[tuple[int, int]]) -> None:
    spans = {Span("d", min(cut), max(cut)) for cut in cuts if max(cut) <= len(text)}
    corpus = Corpus.of([Document("d", text)], spans)
    chunks = corpus.chunks(range(len(corpus)))
    assert [chunk.span for chunk in chunks] == sorted(spans)
    assert all(chunk.text == text[chunk.span.start : chunk.span.end] for chunk in chunks)
    assert tuple(chunk.text for chunk in chunks) == corpus.texts


def test_an_outline_holds_every_character_once_under_its_headings() -> None:
    texts = {"guide": GUIDE, "plain": "no heading", "z": "# All\nof it", "empty": ""}
    corpus = Corpus.of([Document(*item) for item in texts.items()], [spot("Weeks.")])
    for row, document in enumerate(corpus.documents):
        parts = corpus.outlines[row]
        assert "".join(document.text[start:end] for start, end, _ in parts) == document.text
        assert all(start < end for start, end, _ in parts)
    titles = [title for _, _, title in corpus.outlines[corpus.place("guide") or 0]]
    assert titles[:3] == ["", "Leave", "Leave > Sick leave"]
    assert [title for _, _, title in corpus.outlines[corpus.place("z") or 0]] == ["All"]


def test_a_document_is_found_by_its_name() -> None:
    corpus = Corpus.of([Document(name, "x") for name in ("b", "a", "c/d")], [])
    assert [corpus.place(name) for name in ("a", "b", "c/d", "", "aa", "d")] == [0, 1, 2, None, None, None]


def test_clipped_chunks_keep_their_headings() -> None:
    corpus = Corpus.of([Document("guide", GUIDE)], [spot("Twenty-five days.\n## Sick leave\n"), spot("Weeks.")])
    narrower = corpus.clipped(corpus.start + 2, corpus.end - 1)
    assert [narrower.text(position) for position in (0, 1)] == ["enty-five days.\n## Sick leave", "eks"]
    assert narrower.chunk(1).section == corpus.chunk(1).section == "Leave > Parents"
    assert narrower.sections is corpus.sections
    assert narrower.outlines is corpus.outlines
    assert corpus.text(1) == "Weeks."
