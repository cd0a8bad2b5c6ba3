"""Titles and headings above a chunk."""

from rag.components.passages.titled import TitledText
from rag.core.corpus import Corpus
from rag.core.types import Document, Span

TEXT = "# Leave\n\nAll staff.\n\n## Days\n\n26 days.\n"


def written(document: Document, *spans: tuple[int, int]) -> list[str]:
    corpus = Corpus.of([document], [Span(document.doc_id, *span) for span in spans])
    return list(TitledText().texts(corpus))


def test_the_headings_over_most_of_a_chunk() -> None:
    days = TEXT.index("26")
    assert written(Document("leave.md", TEXT), (0, days - 9), (days, len(TEXT) - 1)) == [
        f"Leave\n{TEXT[: days - 9]}",
        "Leave > Days\n26 days.",
    ]


def test_a_title_in_the_metadata_comes_first() -> None:
    document = Document("leave.md", TEXT, {"title": "Handbook"})
    assert written(document, (TEXT.index("26"), len(TEXT) - 1)) == ["Handbook > Leave > Days\n26 days."]


def test_a_file_name_is_no_title() -> None:
    assert written(Document("notes/may.txt", "all lower case"), (0, 14)) == ["all lower case"]
