"""Cutting at a hierarchy of separators."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.chunkers.recursive import RecursiveChunker
from rag.core.types import Document


def chunks(text: str, *parameters: Any) -> list[str]:
    return [text[span.start : span.end] for span in RecursiveChunker(*parameters).chunk(Document("d", text))]


def test_weaker_separators_cut_only_what_is_too_long() -> None:
    text = "Short one.\n\nA longer paragraph. It has two sentences."
    assert chunks(text, 25) == ["Short one.", "A longer paragraph.", "It has two sentences."]
    assert chunks(text, 12) == ["Short one.", "A longer", "paragraph.", "It has two", "sentences."]


def test_characters_are_cut_last() -> None:
    assert chunks("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert chunks("abcdefghij", 4, 1) == ["abcd", "defg", "ghij"]
    assert chunks("to abcdefghij", 4, 0, ["\n", " "]) == ["to", "abcdefghij"]


def test_overlap_never_pushes_a_chunk_over_its_size() -> None:
    assert chunks("aa bb cccccc dd", 8, 7) == ["aa bb", "cccccc", "dd"]


def test_a_line_feed_in_a_separator_stands_for_both_line_ends() -> None:
    assert chunks("aa\r\n\r\nbb\r\ncc cc", 11) == ["aa", "bb\r\ncc cc"]


def test_a_separator_that_begins_with_white_space_opens_the_next_piece() -> None:
    assert chunks("intro\n## One\ntext\n## Two\ntext", 12, 0, ["\n## "]) == ["intro", "## One\ntext", "## Two\ntext"]


@given(
    st.lists(st.sampled_from(["a", "bc. ", "\n", "\n\n", "\r\n", " ", "\t", "word"]), max_size=60).map("".join),
    st.integers(1, 12),
    st.integers(0, 11),
)
@settings(max_examples=80)
def test_no_chunk_is_longer_than_size_or_has_margins(text: str, size: int, overlap: int) -> None:
    for chunk in chunks(text, size, min(overlap, size - 1)):
        assert len(chunk) <= size
        assert chunk == chunk.strip()


@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=40), st.integers(8, 20), st.integers(0, 7))
def test_neighbours_share_at_most_the_overlap(words: list[str], size: int, overlap: int) -> None:
    spans = RecursiveChunker(size, overlap).chunk(Document("d", " ".join(words)))
    for before, after in pairwise(spans):
        assert before.end - after.start <= overlap
