"""A few sentences at a time."""

from rag.components.chunkers.sentence import SentenceChunker
from rag.core.types import Document

FIVE = "# Title\n\nOne is here. Two is here.\nThree is here. Four is here."


def chunks(text: str, count: int, step: int) -> list[str]:
    return [text[span.start : span.end] for span in SentenceChunker(count, step).chunk(Document("d", text))]


def test_sentences_are_taken_in_groups() -> None:
    assert chunks(FIVE, 2, 2) == ["# Title\n\nOne is here.", "Two is here.\nThree is here.", "Four is here."]


def test_a_smaller_step_lets_chunks_overlap_until_one_reaches_the_end() -> None:
    assert chunks(FIVE, 3, 2) == ["# Title\n\nOne is here. Two is here.", "Two is here.\nThree is here. Four is here."]
    assert len(chunks(FIVE, 1, 1)) == 5
