"""Rows of tables with the names of their columns, and what `titled` repeats of a table."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growing_texts import calls, growth

from rag.components.passages.row import RowText
from rag.components.passages.titled import TitledText
from rag.core.corpus import Corpus
from rag.core.text.footnotes import definitions
from rag.core.text.layout import parts
from rag.core.text.tables import tables
from rag.core.types import Document, Span

TEXT = """# Pay

## Bands

Table 2. Bands of 2025.

| Band | Entry | Top |
| --- | --- | --- |
| A | 20 | 25 |
| B \\| C | | 30 |

See the note.[^n] It is short.[^gone]

## Notes

[^n]: Before tax.
[^m]: After tax.
"""
CAPTION = "Pay > Bands > Table 2. Bands of 2025."


def read(writer: RowText | TitledText, start: int, end: int) -> str:
    (text,) = writer.texts(Corpus.of([Document("pay.md", TEXT)], [Span("pay.md", start, end)]))
    return text


def at(words: str) -> int:
    return TEXT.index(words)


def test_a_whole_table_between_other_text() -> None:
    assert read(RowText(), at("Table 2"), at("[^n]")) == (
        "Pay > Bands\nTable 2. Bands of 2025.\n\nBand | Entry | Top\nBand: A | Entry: 20 | Top: 25\nBand: B | C | Top: 30\n\n"
        "See the note."
    )


def test_a_cut_row_has_the_parts_in_the_chunk() -> None:
    assert read(RowText(), at("0 | 25"), at("| B \\") + 3) == f"{CAPTION}\nEntry: 0 | Top: 25\nBand: B"


def test_titled_repeats_caption_and_header_of_a_cut_table() -> None:
    header = "| Band | Entry | Top |"
    assert read(TitledText(), at("| A"), at("| B \\") - 1) == f"{CAPTION}\n{header}\n| A | 20 | 25 |"
    assert read(TitledText(), at("Entry"), at("| A") - 1) == f"{CAPTION}\n{header}\nEntry | Top |\n| --- | --- | --- |"
    assert header not in read(TitledText(), at("| Band"), at("| B \\") - 1).replace(header, "", 1)


def test_a_footnote_is_read_with_its_referrer() -> None:
    assert read(TitledText(), at("See"), at("## Notes") - 2).endswith("It is short.[^gone]\n[^n]: Before tax.")
    assert read(RowText(), at("See"), len(TEXT) - 1).count("Before tax.") == 1


@given(st.integers(1, 60), st.integers(0, 30))
@settings(max_examples=80)
def test_every_row_is_read_with_its_header(size: int, overlap: int) -> None:
    document = Document("pay.md", TEXT)
    cuts = [Span("pay.md", at, min(at + size + overlap, len(TEXT))) for at in range(0, len(TEXT), size)]
    corpus = Corpus.of([document], cuts)
    (table,) = tables(TEXT)
    for writer in (RowText(), TitledText()):
        for span, text in zip(corpus.texts, writer.texts(corpus), strict=True):
            assert set(re.findall(r"\w+", span)) <= set(re.findall(r"\w+", text))
    for start, text in zip(corpus.start.tolist(), TitledText().texts(corpus), strict=True):
        if table.head[0].start < start < table.part.end:
            assert "| Band | Entry | Top |" in text
    for start, end, text in zip(corpus.start.tolist(), corpus.end.tolist(), RowText().texts(corpus), strict=True):
        held = [row for row in table.rows if start <= row.start and row.end <= end]
        assert all(f"Band: {row.cells[0]}" in text and f"Top: {row.cells[2]}" in text for row in held)


def test_what_is_read_of_a_wide_header_is_bounded() -> None:
    wide = f"| {'name ' * 2000}| b |\n|--|--|\n" + "| 1 | 2 |\n" * 2000
    corpus = Corpus.of([Document("d", wide)], [Span("d", at, at + 10) for at in range(0, len(wide) - 10, 10)])
    for writer in (RowText(), TitledText()):
        assert max(map(len, writer.texts(corpus))) < 3000


def written(text: str) -> None:
    """Write the passages of a text that has a table at its begin, in chunks of 200 characters."""
    for cached in (parts, tables, definitions):
        cached.cache_clear()
    document = Document("d", "# T\n\nTable 1. Rows.\n\n| a | b |\n|--|--|\n" + text)
    corpus = Corpus.of([document], [Span("d", at, min(at + 200, len(text))) for at in range(0, len(text), 200)])
    for writer in (TitledText(), RowText()):
        writer.texts(corpus)


STRUCTURED = (
    *("| a | b |\n|--|--|\n| 1 | 2 |\n\nTable 1. T\n\n", "| 1 | 2 |\n", "|1|\n||||\n", "a [^1] b\n\n[^1]: c\n\n"),
    "# A ",
)


@pytest.mark.parametrize("piece", STRUCTURED)
def test_four_times_the_text_takes_four_times_the_calls(piece: str) -> None:
    assert growth(written, piece, 16_000, calls) < 4.5
