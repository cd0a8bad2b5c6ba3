"""Windows of characters."""

from rag.components.chunkers.fixed import FixedChunker
from rag.core.types import Document


def cuts(chunker: FixedChunker, text: str) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in chunker.chunk(Document("d", text))]


def test_windows_step_by_size_less_overlap() -> None:
    assert cuts(FixedChunker(4), "abcdefghij") == [(0, 4), (4, 8), (8, 10)]
    assert cuts(FixedChunker(4, 1), "abcdefghij") == [(0, 4), (3, 7), (6, 10)]
    assert cuts(FixedChunker(4, 1), "abcdefghijk") == [(0, 4), (3, 7), (6, 10), (9, 11)]


def test_no_window_inside_the_one_before() -> None:
    assert cuts(FixedChunker(800, 400), "x" * 1000) == [(0, 800), (400, 1000)]


def test_white_space_stays_at_edges_and_is_left_out_alone() -> None:
    assert cuts(FixedChunker(2), " a    b ") == [(0, 2), (6, 8)]
