"""Every item is computed once, by the first process that needs it, and a stored value equals a computed one."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.embedders.minilm import MiniLmEmbedder
from rag.core.errors import ConfigError
from rag.core.roles import Embedder, fingerprint
from rag.core.types import Vectors
from rag.execution.store.cached_vectors import BLOCK, StoredEmbedder, StoredReranker, item_id
from rag.execution.store.store import Store


class CountingEmbedder:
    """Vectors that depend on their own text only; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        return np.array([[len(text), sum(map(ord, text)), 0.1] for text in texts], np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return -self.embed_documents(texts)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    def fingerprint(self) -> str:
        return "counting@1"


class CountingReranker:
    """Scores with all the digits of a float64; remembers what it was asked."""

    pairwise: ClassVar[bool] = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        assert [len(texts) for texts in passages] == [len(values) for values in scores]
        self.asked += [(query, text) for query, texts in zip(queries, passages, strict=True) for text in texts]
        return [
            [1 / (3 + len(query) + sum(map(ord, text))) for text in texts]
            for query, texts in zip(queries, passages, strict=True)
        ]


def embedding(store: Store) -> tuple[StoredEmbedder, CountingEmbedder]:
    inner = CountingEmbedder()
    return StoredEmbedder(inner, store, "one"), inner


# Names of items

TEXTS = st.lists(st.text(st.characters() | st.just("\ud800"), max_size=5), max_size=4)


@given(TEXTS, TEXTS)
def test_no_two_sequences_of_texts_share_a_name(one: list[str], other: list[str]) -> None:
    assert (item_id(*one) == item_id(*other)) == (one == other)
    assert len(item_id(*one)) == 16
    assert item_id("?") != item_id("\ud800")


# Embedders


def test_it_is_an_embedder_and_can_what_its_embedder_can(store: Store) -> None:
    @runtime_checkable
    class Tokenizer(Protocol):
        def token_offsets(self, text: str) -> Sequence[tuple[int, int]]: ...

    stored, _ = embedding(store)
    assert isinstance(stored, Embedder)
    assert isinstance(stored, Tokenizer)
    assert "token_offsets" in vars(stored), "a Protocol of Python 3.12 sees attributes only"
    assert stored.token_offsets("abc") == [(0, 3)]
    assert fingerprint(stored) == "counting@1"
    assert not hasattr(stored, "embed_tokens")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=5))
def test_stored_vectors_are_the_raw_ones(batches: list[list[str]]) -> None:
    store = Store("memory://items-property")
    store.files.store.clear()
    inner = CountingEmbedder()
    for batch in batches:
        for method in ("embed_documents", "embed_queries"):
            found = getattr(StoredEmbedder(inner, store, "one"), method)(batch)
            assert found.dtype == np.float32
            assert len(found) == len(batch)
            if batch:
                np.testing.assert_array_equal(found, getattr(CountingEmbedder(), method)(batch))
    asked = Counter(text for texts in inner.asked for text in texts)
    # Once as a document and once as a query.
    assert set(asked.values()) <= {2}
    assert set(asked) == {text for batch in batches for text in batch}


def test_a_reading_for_token_vectors_stores_the_vectors_of_the_texts_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Twenty-five days of leave.", "", "Twenty-five days of leave."]
    embedder = MiniLmEmbedder(threads=1)
    tokens = StoredEmbedder(embedder, store, "minilm").token_vectors(texts)
    assert all(np.array_equal(*pair) for pair in zip(tokens, embedder.embed_tokens(texts), strict=True))
    vectors = embedder.embed_documents(texts)
    monkeypatch.setattr(MiniLmEmbedder, "embed_documents", lambda self, texts: pytest.fail("embedded again"))
    assert np.array_equal(StoredEmbedder(embedder, store, "minilm").embed_documents(texts), vectors)


def test_queries_and_documents_do_not_share_vectors_nor_do_models(store: Store) -> None:
    stored, inner = embedding(store)
    assert (stored.embed_documents(["a"]) == -stored.embed_queries(["a"])).all()
    other = CountingEmbedder()
    StoredEmbedder(other, store, "two").embed_documents(["a"])
    assert len(inner.asked) == 2
    assert len(other.asked) == 1


def test_work_is_stored_block_by_block_and_goes_on_after_a_failure(store: Store) -> None:
    texts = [f"text {number}" for number in range(2 * BLOCK + 10)]

    class FailsInThirdBlock(CountingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            if len(self.asked) == 2:
                raise RuntimeError("killed")
            return super().embed_documents(texts)

    failing = FailsInThirdBlock()
    with pytest.raises(RuntimeError, match="killed"):
        StoredEmbedder(failing, store, "one").embed_documents(texts)
    assert [len(block) for block in failing.asked] == [BLOCK, BLOCK]
    stored, inner = embedding(store)
    vectors = stored.embed_documents(texts)
    assert inner.asked == [texts[2 * BLOCK :]]
    np.testing.assert_array_equal(vectors, CountingEmbedder().embed_documents(texts))


def test_a_damaged_segment_is_computed_again_and_nothing_else_is(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    stored, _ = embedding(store)
    stored.embed_documents(["a", "b"])
    (first,) = store.keys("vectors")
    stored.embed_documents(["c"])
    path = Path(store.path(first))
    data = bytearray(path.read_bytes())
    data[-300] ^= 1
    path.write_bytes(data)
    again, inner = embedding(store)
    vectors = again.embed_documents(["c", "b", "a"])
    assert sorted(inner.asked[0]) == ["a", "b"]
    assert len(inner.asked) == 1
    assert "damaged" in caplog.text
    np.testing.assert_array_equal(vectors, CountingEmbedder().embed_documents(["c", "b", "a"]))
    third, other = embedding(store)
    third.embed_documents(["a", "b", "c"])
    assert other.asked == []


def test_what_another_process_adds_meanwhile_is_found(store: Store) -> None:
    one, first = embedding(store)
    two, second = embedding(store)
    one.embed_documents(["a"])
    two.embed_documents(["a", "b"])
    one.embed_documents(["b", "a"])
    assert (first.asked, second.asked) == ([["a"]], [["b"]])


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((3, 3), np.float32),
        np.zeros(2, np.float32),
        np.array([[0, 0], [np.nan, 1]], np.float32),
        np.array([[0, np.inf], [0, 0]], np.float32),
    ],
)
def test_vectors_that_are_none_are_refused_and_not_stored(store: Store, wrong: Vectors) -> None:
    class Wrong(CountingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            return wrong

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            return wrong

    stored = StoredEmbedder(Wrong(), store, "one")
    for method in (stored.embed_documents, stored.embed_queries):
        with pytest.raises(ConfigError, match="embedder: gave"):
            method(["a", "b"])
    assert store.keys("vectors") == []
    fresh, inner = embedding(store)
    fresh.embed_documents(["a", "b"])
    assert inner.asked == [["a", "b"]]


def test_float64_vectors_are_rounded_alike_when_they_are_new_and_when_they_are_read(store: Store) -> None:
    class Precise(CountingEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            return np.array([[1 / (3 + len(text))] for text in texts])

    new = StoredEmbedder(Precise(), store, "one").embed_documents(["a", "bb"])
    read = StoredEmbedder(Precise(), store, "one").embed_documents(["a", "bb"])
    assert new.dtype == read.dtype == np.float32
    np.testing.assert_array_equal(new, read)


# Rerankers


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=2), st.lists(st.text(max_size=2), max_size=4)), max_size=5))
def test_stored_scores_are_the_raw_ones_to_the_last_bit(rows: list[tuple[str, list[str]]]) -> None:
    store = Store("memory://items-pairs")
    store.files.store.clear()
    inner = CountingReranker()
    arguments = [query for query, _ in rows], [texts for _, texts in rows], [[0.0] * len(texts) for _, texts in rows]
    expected = CountingReranker().score(*arguments)
    assert StoredReranker(inner, store, "one").score(*arguments) == expected
    again = CountingReranker()
    assert StoredReranker(again, store, "one").score(*arguments) == expected
    assert again.asked == []
    assert len(inner.asked) == len(set(inner.asked)) == len({(query, text) for query, texts in rows for text in texts})


@pytest.mark.parametrize("wrong", [[[1.0]], [[1.0, 2.0], [3.0]], [[]], [], [[1.0, np.nan]], [[np.inf, 1.0]]])
def test_scores_that_are_none_are_refused_and_not_stored(store: Store, wrong: list[list[float]]) -> None:
    class Wrong(CountingReranker):
        def score(self, *_: object) -> list[list[float]]:
            return wrong

    with pytest.raises(ConfigError, match="reranker: gave"):
        StoredReranker(Wrong(), store, "one").score(["q"], [["x", "y"]], [[0.0, 0.0]])
    assert store.keys("pairs") == []
