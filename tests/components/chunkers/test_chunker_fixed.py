"""Windows of characters."""

import pytest

from rag.components.chunkers.fixed import FixedChunker, windows
from rag.core.types import Document, Span


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


def test_default_is_800_characters() -> None:
    assert FixedChunker().chunk(Document("x", "y" * 801)) == [Span("x", 0, 800), Span("x", 800, 801)]


@pytest.mark.parametrize(("length", "size", "step"), [(0, 3, 1), (1, 3, 3), (3, 3, 3), (7, 3, 2), (8, 3, 2)])
def test_windows_reach_the_end_once(length: int, size: int, step: int) -> None:
    found = list(windows(length, size, step))
    assert [end for _, end in found].count(length) == (length > 0)
    assert [start for start, _ in found] == list(range(0, len(found) * step, step))
