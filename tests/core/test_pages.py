"""Pages and rectangles of places in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paged_documents import POLICY, document

from rag.core.corpus import Corpus
from rag.core.pages import boxes_of, label, pages_of
from rag.core.types import Block, Span

SEEN = document("policy.pdf", POLICY)


def place(words: str) -> tuple[int, int]:
    start = SEEN.text.index(words)
    return start, start + len(words)


@pytest.mark.parametrize(
    ("words", "pages"),
    [
        ("Everybody gets", (1, 1)),
        ("5–9 | 27", (1, 1)),
        ("carried over", (2, 2)),
        ("page one\n\n## Carrying", (1, 2)),
        ("-- 3 --", (3, 3)),
    ],
)
def test_the_pages_of_words(words: str, pages: tuple[int, int]) -> None:
    assert pages_of(SEEN.blocks, *place(words)) == pages


def test_a_gap_is_on_the_page_before_it_and_plain_text_on_none() -> None:
    gap = place("page one")[1]
    assert pages_of(SEEN.blocks, gap, gap + 2) == (1, 1)
    assert pages_of((), 0, 9) is None
    assert pages_of((Block("text", 0, 9),), 0, 9) is None


def test_cells_stand_for_their_table() -> None:
    cells = [(block.kind, SEEN.text[block.start : block.end]) for block, _ in boxes_of(SEEN.blocks, *place("5–9 | 27"))]
    assert cells == [("cell", "5–9"), ("cell", "27")]
    dashes = [block.kind for block, _ in boxes_of(SEEN.blocks, *place("|---|---|"))]
    assert dashes == ["table"]
    both = [block.kind for block, _ in boxes_of(SEEN.blocks, *place("Sundays.\n\n| Years"))]
    assert both == ["text", "cell"]


def test_labels() -> None:
    assert [label(pages) for pages in (None, (3, 3), (3, 5))] == ["", "p. 3", "pp. 3–5"]


@given(st.tuples(st.integers(0, len(SEEN.text) - 1), st.integers(1, 60), st.integers(0, 60), st.integers(1, 60)))
def test_the_blocks_of_a_chunk_give_the_pages_and_boxes_of_its_words(cut: tuple[int, int, int, int]) -> None:
    start, size, inner, words = cut
    end = min(len(SEEN.text), start + size)
    chunk = Corpus.of([SEEN], [Span(SEEN.doc_id, start, end)]).chunk(0)
    first = min(start + inner, end - 1)
    last = min(first + words, end)
    assert pages_of(chunk.blocks, first, last) == pages_of(SEEN.blocks, first, last)
    kept = {block for block, _ in boxes_of(SEEN.blocks, first, last)}
    assert {block for block, _ in boxes_of(chunk.blocks, first, last)} >= {block for block in kept if block.kind != "table"}
