"""Cutting where neighbouring sentences differ most."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.chunkers import semantic
from rag.components.chunkers.semantic import SemanticChunker
from rag.core.types import Document, Vectors


class Topics:
    """A direction for each first letter of the words of a text, and a count of calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(len(texts))
        return np.array([[1 + sum(w[0] == c for w in t.split()) for c in "AB"] for t in texts], np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


def chunks(text: str, **values: Any) -> list[str]:
    chunker = SemanticChunker(Topics(), **{"window": 0, "percentile": 80.0, "least": 1, "size": 1000} | values)
    return [text[span.start : span.end] for span in chunker.chunk(Document("d", text))]


TURN = "Axx. Axx. Axx. Bxx. Bxx. Bxx."


def test_a_chunk_ends_where_the_topic_changes() -> None:
    assert chunks(TURN) == ["Axx. Axx. Axx.", "Bxx. Bxx. Bxx."]
    assert chunks("Axx. Axx. Axx.") == ["Axx. Axx. Axx."], "no distance is above the percentile"


def test_a_heading_belongs_to_the_sentence_below() -> None:
    assert chunks("Axx. Axx. Axx.\n\n# Bxx\n\nBxx. Bxx.") == ["Axx. Axx. Axx.", "# Bxx\n\nBxx. Bxx."]


def test_at_the_greatest_length_the_greatest_distance_decides() -> None:
    assert chunks("Axx. Axx. Abx. Bxx. Axx. Axx.", percentile=100.0, size=19) == ["Axx. Axx. Abx.", "Bxx. Axx. Axx."]
    assert chunks("x" * 25, size=10) == ["x" * 10, "x" * 10, "x" * 5]


def test_windows_are_embedded_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Axx. Bxx. " * 20
    whole = chunks(text, window=1)
    monkeypatch.setattr(semantic, "BATCH", 7)
    assert chunks(text, window=1) == whole
    embedder = Topics()
    SemanticChunker(embedder).chunk(Document("d", text))
    assert max(embedder.calls) == 7
    assert sum(embedder.calls) == 40 + len(embedder.calls) - 1


@given(st.text("AB. \n#", max_size=200), st.integers(1, 20), st.integers(0, 20), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_lengths_are_bounded(text: str, least: int, more: int, window: int) -> None:
    size = least + more
    spans = SemanticChunker(Topics(), window, 80.0, least, size).chunk(Document("d", text))
    assert all(span.end - span.start <= size for span in spans)
    for before, after in pairwise(spans):
        assert before.end - before.start >= least or after.end - before.start > size
