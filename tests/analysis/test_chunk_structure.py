"""Headings and rows of tables that chunks part, and what an index reads besides a chunk."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.analysis.chunk_structure import BARE, HEADING, RAGGED, SeenChunk, Structure, extra
from rag.core.corpus import Corpus
from rag.core.types import Document, Span

TEXT = "# Leave\n\nDays off.\n\n## Table\n\n| Years | Days |\n|---|---|\n| 0–4 | 25 |\n| 5–9 | |\n\nAfter it.\n\n## End\n"


def seen(start: str, end: str, read: str = "{}") -> SeenChunk:
    """The chunk from the words `start` to behind the words `end`, of which an index reads `read` around its characters."""
    span = Span("a.md", TEXT.index(start), TEXT.index(end) + len(end))
    corpus = Corpus.of([Document("a.md", TEXT)], [span])
    return Structure.of(TEXT).seen(replace(corpus, indexed=(read.format(corpus.text(0)),)), 0, ["given"])


@pytest.mark.parametrize(
    ("start", "end", "read", "flags", "rows"),
    [
        ("# Leave", "off.", "{}", [], []),
        ("# Leave", "## Table\n\n", "{}", [HEADING], []),
        ("# Leave", "## Ta", "{}", [HEADING], []),
        ("After", "## End\n", "{}", [], []),
        ("| Years", "| |\n", "{}", [], ["| 0–4", "| 5–9"]),
        ("| 0–4", "| |\n", "{}", [BARE], []),
        ("| 0–4", "| |\n", "Years | Days\n{}", [], ["| 0–4", "| 5–9"]),
        ("| 0–4", "| |\n", "Leave > Years\n{}", [BARE], ["| 5–9"]),
        ("| 0–4", "| |\n", "Years: 0–4, Days: 25", [], ["| 0–4", "| 5–9"]),
        ("| Years", "| 0–4", "{}", [], []),
        ("|---", "## End", "{}", [BARE], []),
    ],
)
def test_what_a_chunk_parts(start: str, end: str, read: str, flags: list[str], rows: list[str]) -> None:
    found = seen(start, end, read)
    assert (list(found.flags), list(found.rows)) == (["given", *flags], [TEXT.index(row) for row in rows])


@pytest.mark.parametrize(("row", "flags"), [("| a | b |", []), ("| a |", [RAGGED]), ("| a | b | c |", [RAGGED])])
def test_rows_with_other_numbers_of_cells(row: str, flags: list[str]) -> None:
    text = f"| x | y |\n|---|---|\n{row}\n"
    corpus = Corpus.of([Document("a.md", text)], [Span("a.md", 0, len(text))])
    assert list(Structure.of(text).seen(corpus, 0).flags) == flags


def test_rows_below_an_empty_header_miss_no_name() -> None:
    assert [len(Structure.of(f"{head}\n|---|---|\n| a | b |\n").rows) for head in ("| | |", "| x | |")] == [0, 1]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 8))
def test_cuts_anywhere_against_the_lines_of_the_text(sizes: list[int], rows: int) -> None:
    lines = [
        "## One",
        "",
        "| Key | Value |",
        "|---|---|",
        *(f"| k{row} | v{row} |" for row in range(rows)),
        "",
        "## Two",
        "",
        "Text.",
    ]
    text = "\n".join(lines)
    edges = sorted({0, len(text), *(sum(sizes[:at]) % len(text) for at in range(len(sizes)))})
    spans = [Span("a.md", start, end) for start, end in pairwise(edges)]
    corpus = Corpus.of([Document("a.md", text)], spans)
    chunks = [Structure.of(text).seen(corpus, position) for position in range(len(corpus))]
    for chunk in chunks:
        piece = text[chunk.start : chunk.end]
        last = text[: chunk.start + len(piece.rstrip())].rpartition("\n")[2]
        assert (HEADING in chunk.flags) == (last[:1] == "#" and bool(piece.strip()))
        inside = [line for line in lines[4 : 4 + rows] if line in piece] if "| Key | Value |" in piece else []
        assert [text[at:].partition("\n")[0] for at in chunk.rows] == inside


@pytest.mark.parametrize(
    ("quote", "read", "besides"),
    [
        ("a b", "a b", ()),
        ("a b", "Title\na b", ("Title", "")),
        ("a b", "Title\na b\nnote", ("Title", "note")),
        ("a b", "a: b", ("a: b",)),
    ],
)
def test_what_an_index_reads_besides(quote: str, read: str, besides: tuple[str, ...]) -> None:
    assert extra(quote, read) == besides
