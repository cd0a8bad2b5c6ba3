"""The windows of a text, the mean of their vectors, and MiniLM on long texts."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag.components.embedders.minilm import MiniLmEmbedder
from rag.components.embedders.windows import WindowsEmbedder
from rag.config.build import Components
from rag.core.errors import ConfigError
from rag.core.types import Vectors

TARGET = "rag.components.embedders.windows.WindowsEmbedder"


class Counting:
    """Tokens are runs of at most three letters, or single signs; a vector counts a and b in the first five of them."""

    def window(self) -> int:
        return 5

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"[^\W_]{1,3}|[^\w\s]", text)]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        read = [text[: self.token_offsets(text)[4][1]] if len(self.token_offsets(text)) > 4 else text for text in texts]
        return np.array([[text.count("a"), text.count("b"), 0.5] for text in read], np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return -self.embed_documents(texts)


def held(text: str, tokens: int | None = None) -> list[tuple[str, int]]:
    embedder = WindowsEmbedder(Counting(), tokens)
    return list(embedder._windows(text, embedder._limit()))


def test_the_vector_is_the_mean_of_unit_vectors_by_their_tokens() -> None:
    text = "a a a a a b b"
    assert held(text) == [("a a a a a ", 5), ("b b", 2)]
    first, second = np.array([5, 0, 0.5]) / np.sqrt(25.25), np.array([0, 2, 0.5]) / np.sqrt(4.25)
    mean = 5 * first + 2 * second
    found = WindowsEmbedder(Counting())
    np.testing.assert_allclose(found.embed_documents([text])[0], mean / np.linalg.norm(mean), rtol=1e-6)
    np.testing.assert_array_equal(found.embed_queries([text]), -found.embed_documents([text]))


def test_a_text_of_one_window_keeps_its_vector_to_the_last_bit() -> None:
    texts = ["", "a", "a b a b a", " ..a"]
    np.testing.assert_array_equal(WindowsEmbedder(Counting()).embed_documents(texts), Counting().embed_documents(texts))
    assert WindowsEmbedder(Counting()).embed_documents([]).shape == (0,)


def test_windows_begin_before_words() -> None:
    assert held("aaa aaa aaabbbaaabbb a") == [("aaa aaa ", 2), ("aaabbbaaabbb a", 5)]
    assert held("a, b, a, b, a") == [("a, b, ", 4), ("a, b, a", 5)]


def test_a_word_longer_than_a_window_is_cut_between_tokens() -> None:
    assert held("a" * 40) == [("a" * 15, 5), ("a" * 15, 5), ("a" * 10, 4)]


@settings(max_examples=120, deadline=None)
@example("a" * 400, 1)
@example("\u0301" * 30, 2)
@given(st.text("ab ., \n\u0301é漢", max_size=120), st.integers(1, 5))
def test_windows_are_the_text_and_none_is_too_long(text: str, tokens: int) -> None:
    found = held(text, tokens)
    assert "".join(part for part, _ in found) == text
    assert all(count == len(Counting().token_offsets(part)) <= tokens for part, count in found)


@settings(max_examples=40, deadline=None)
@example("가각힣" * 30)
@example("unaffable" * 40)
@given(st.text(max_size=200))
def test_windows_of_real_tokens_are_the_text(text: str) -> None:
    embedder = WindowsEmbedder(MiniLmEmbedder(), 7)
    found = list(embedder._windows(text, 7))
    assert "".join(part for part, _ in found) == text
    assert all(count <= 7 for _, count in found)


def test_windows_wider_than_the_model_reads_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"embedder\.tokens: 6 are more than the 5 that the model reads"):
        WindowsEmbedder(Counting(), 6).embed_documents(["a"])


def test_an_embedder_without_a_window_is_refused() -> None:
    node = {"_target_": TARGET, "embedder": {"_target_": "rag.components.chunkers.whole.WholeChunker"}}
    with pytest.raises(ConfigError, match=r"embedder\.embedder: (?s:.*) WindowedEmbedder"):
        Components().role("embedder", node)
