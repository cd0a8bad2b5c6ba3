"""Chunks with limits in tokens."""

import re
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.chunkers.token import TokenChunker
from rag.core.types import Document, Span


class ByteTokens:
    """Several tokens for one character, as byte-level tokenizers have them, and one that begins with the blank before it."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        found = []
        for match in re.finditer(r" ?[a-z]+|\S", text):
            found += [match.span()] * (1 if match[0].isascii() else len(match[0].encode()))
        return found


class CountedTokens:
    """Words, and how often they were asked for."""

    def __init__(self) -> None:
        self.calls = 0

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        self.calls += 1
        return [match.span() for match in re.finditer(r"\S+", text)]


def chunks(text: str, embedder: Any, *parameters: int) -> list[str]:
    return [text[span.start : span.end] for span in TokenChunker(embedder, *parameters).chunk(Document("d", text))]


def touching(embedder: Any, text: str, span: Span) -> int:
    return sum(start < span.end and end > span.start for start, end in embedder.token_offsets(text))


def test_paragraphs_are_packed_up_to_target() -> None:
    assert chunks("a b\n\nc d\n\ne f\n\ng", CountedTokens(), 5, 6) == ["a b\n\nc d", "e f\n\ng"]


def test_lines_are_stronger_than_sentences() -> None:
    assert chunks("Ann bit. Cal dug.\nEve fed. Gus hid.\nIda jogs.", CountedTokens(), 7, 7) == [
        "Ann bit. Cal dug.",
        "Eve fed. Gus hid.\nIda jogs.",
    ]


def test_the_rest_of_a_long_sentence_is_packed_with_the_next_text() -> None:
    assert chunks("a b c d\n\ne", CountedTokens(), 3, 3) == ["a b c", "d\n\ne"]


def test_a_heading_stays_with_its_text() -> None:
    text = "One two.\n\n# Title\n\nCal dug. Eve fed. Gus hid."
    assert chunks(text, CountedTokens(), 6, 6) == ["One two.", "# Title\n\nCal dug. Eve fed.", "Gus hid."]


def test_overlap_is_whole_sentences() -> None:
    text = "Ann bit. Cal dug. Eve fed. Gus hid."
    assert chunks(text, CountedTokens(), 4, 4, 2) == ["Ann bit. Cal dug.", "Cal dug. Eve fed.", "Eve fed. Gus hid."]
    assert chunks(text, CountedTokens(), 4, 4, 1) == ["Ann bit. Cal dug.", "Eve fed. Gus hid."]


def test_a_document_is_tokenised_once() -> None:
    embedder = CountedTokens()
    TokenChunker(embedder, 3, 4, 1).chunk(Document("d", "Some words. And more of them, many more.\n\n" * 50))
    assert embedder.calls == 1


def test_a_character_is_never_cut() -> None:
    assert chunks("👩🏽", ByteTokens(), 1, 2) == ["👩", "🏽"]


TEXT = ("word ", "word", "End. ", "End!\n", "\n\n", "one two three four five ")
PARTS = st.sampled_from([*TEXT, "# Head\n", "- item\n", "é ", "😀 ", "\x00", "|a|\n"])


@given(st.lists(PARTS, max_size=50).map("".join), st.integers(1, 12), st.integers(0, 6), st.integers(0, 11))
@settings(max_examples=100)
def test_no_chunk_exceeds_max(text: str, target: int, more: int, overlap: int) -> None:
    for embedder, least in ((CountedTokens(), 1), (ByteTokens(), 4)):
        limit = max(target + more, least)
        chunker = TokenChunker(embedder, target, limit, min(overlap, target - 1))
        spans = chunker.chunk(Document("d", text))
        assert all(touching(embedder, text, span) <= limit for span in spans)
        covered = {at for span in spans for at in range(span.start, span.end)}
        assert all(at in covered or character.isspace() for at, character in enumerate(text))


@given(st.lists(PARTS, max_size=50).map("".join), st.integers(2, 12), st.integers(0, 11))
@settings(max_examples=60)
def test_neighbours_share_at_most_the_overlap(text: str, target: int, overlap: int) -> None:
    overlap = min(overlap, target - 1)
    embedder = CountedTokens()
    spans = TokenChunker(embedder, target, target + 2, overlap).chunk(Document("d", text))
    for before, after in pairwise(spans):
        if after.start < before.end:
            assert touching(embedder, text, Span("d", after.start, before.end)) <= overlap
