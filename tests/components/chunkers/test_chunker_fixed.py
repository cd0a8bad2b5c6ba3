"""Windows of characters, a few sentences at a time, documents as they are."""

from rag.components.chunkers.fixed import FixedChunker
from rag.components.chunkers.sentence import SentenceChunker
from rag.components.chunkers.whole import WholeChunker
from rag.core.roles import Chunker
from rag.core.types import Document


def cuts(chunker: Chunker, text: str) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in chunker.chunk(Document("d", text))]


def test_windows_step_by_size_less_overlap() -> None:
    assert cuts(FixedChunker(4), "abcdefghij") == [(0, 4), (4, 8), (8, 10)]
    assert cuts(FixedChunker(4, 1), "abcdefghij") == [(0, 4), (3, 7), (6, 10)]
    assert cuts(FixedChunker(4, 1), "abcdefghijk") == [(0, 4), (3, 7), (6, 10), (9, 11)]
    assert cuts(FixedChunker(800, 400), "x" * 1000) == [(0, 800), (400, 1000)]
    assert cuts(FixedChunker(2), " a    b ") == [(0, 2), (6, 8)], "white space stays at edges and is left out alone"


def test_sentences_are_taken_in_groups_that_overlap_by_a_smaller_step() -> None:
    text = "# Title\n\nOne is here. Two is here.\nThree is here. Four is here."
    assert cuts(SentenceChunker(2, 2), text) == [(0, 21), (22, 49), (50, 63)]
    assert cuts(SentenceChunker(3, 2), text) == [(0, 34), (22, 63)], "until one reaches the end"
    assert len(cuts(SentenceChunker(1, 1), text)) == 5
    assert cuts(WholeChunker(), "\n one. two ") == [(0, 11)]
