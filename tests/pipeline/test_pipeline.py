"""One question through the opened pipeline gives what the stages stored for it; every step checks what it is given."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example as with_example
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag.components.indexes.vectors import required_vectors
from rag.config.experiment import ad_hoc
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.types import Document, Hit, Query, Sought, Span
from rag.execution.graph.stage_inputs import answers_of, corpus_of, rankings_of
from rag.execution.store.cached_vectors import whole_rows
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import open_config
from rag.pipeline.search import steps

GIVEN = ("dataset=native", "dataset.path=../golden", "embedder=hashing", "latency=0", "chunker.size=60", "k=3")
OVERLAP = '''
class OverlapReranker:
    """Shares of the words of a question that stand in a passage."""

    pairwise = True

    def score(self, queries, passages, scores):
        return [[self._share(query, text) for text in texts] for query, texts in zip(queries, passages, strict=True)]

    def _share(self, query, text):
        words = query.lower().split()
        return sum(word in text.lower() for word in words) / len(words)
'''


@pytest.fixture
def plugin(here: Path, conf: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`reranker=overlap`, which scores pairs and so has its scores stored."""
    conf("reranker/overlap.yaml", "_target_: overlap_plugin.rerankers.OverlapReranker\n")
    (here / "overlap_plugin").mkdir()
    (here / "overlap_plugin" / "__init__.py").touch()
    (here / "overlap_plugin" / "rerankers.py").write_text(OVERLAP, "utf-8")
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("overlap_plugin",))
    yield
    for name in ("overlap_plugin", "overlap_plugin.rerankers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "overrides",
    [
        ["index=[bm25,faiss_hnsw]", "reranker=overlap", "rerank_depth=3", "selector=score_floor"],
        ["check=[citations,grounded,numbers,quotes]", "check.grounded.theta=0.99", "check.grounded.on_failure=regenerate"],
        ["guard=[scan,spotlight,output]", "generator.sentences=5", "generator.share=0"],
    ],
    ids=" ".join,
)
def test_one_question_is_answered_as_it_was_measured(here: Path, golden: Path, plugin: None, overrides: list[str]) -> None:
    ready = sweep.prepare(ad_hoc([*GIVEN, *overrides]))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    assert [row.error for row in done.board.rows] == [""]
    (trial,) = ready.plan.trials
    opened = open_config(trial.trial.config)
    narrows = any(override.startswith("guard=[scan") for override in overrides)

    def stored(key: str) -> Any:
        entry = ready.store.read(ready.plan.stages[key].entry)
        assert entry is not None
        return entry

    ranking = rankings_of(stored(trial.ends.ranking)).first(opened.k)
    corpus = corpus_of(stored(trial.ends.corpus), trial.golden)
    queries = [example.query for example in trial.golden.examples]
    kept = answers_of(stored(trial.ends.check or ""), corpus, queries)
    contexts = 0
    for number, example in enumerate(trial.golden.examples):
        answer = opened.answer(example.query)
        found = tuple(Hit(corpus.chunk(position), score) for position, score in ranking.row(number))
        assert replace(answer, sought=None) == kept[number]
        assert narrows or answer.contexts == found
        contexts += len(answer.contexts)
    assert contexts > 0
    assert any(answer and answer.reply.text for answer in kept)


# Several texts for one question


def test_the_texts_of_one_question_are_fused_by_reciprocal_rank() -> None:
    found = Rankings.pack([[(3, 9.0), (5, 8.0)], [(5, 2.0), (7, 1.0)], [(1, 4.0), (2, 3.0)]])
    sought = [Sought("both?", ("one?", "other?")), Sought("alone?", ("alone?",))]
    rows = steps.gathered(found, sought, 10)
    assert [position for position, _ in rows.row(0)] == [5, 3, 7]
    assert [score for _, score in rows.row(0)] == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62], abs=1e-6)
    assert rows.row(1) == [(1, 4.0), (2, 3.0)]


def test_a_question_without_a_text_is_refused() -> None:
    class Silent:
        def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
            return [Sought(query.text, ()) for query in queries]

    with pytest.raises(ConfigError, match="no text"):
        steps.rewrite(Silent(), [Query("q", "?")])


# Reranking

TEXT = Document("d", "abcdefgh")


def letters() -> Corpus:
    return Corpus.of([TEXT], [Span("d", start, start + 1) for start in range(8)])


class Given:
    """A reranker that gives what it was told to."""

    pairwise: ClassVar[bool] = False

    def __init__(self, *values: Sequence[float]) -> None:
        self.values = values
        self.asked: list[tuple[Any, ...]] = []

    def score(self, queries: Any, passages: Any, scores: Any) -> list[list[float]]:
        self.asked.append((queries, passages, scores))
        return [list(values) for values in self.values]


def reranked(
    rows: Sequence[Sequence[tuple[int, float]]], depth: int, *values: Sequence[float]
) -> tuple[Any, list[tuple[Any, ...]]]:
    reranker = Given(*values)
    found = steps.rerank(reranker, ["?"] * len(rows), Rankings.pack(rows), letters(), depth)
    return [found.row(question) for question in range(len(rows))], reranker.asked


def test_the_head_is_ordered_anew_and_the_tail_follows_one_below() -> None:
    rows, asked = reranked([[(4, 0.9), (2, 0.8), (0, 0.7), (1, 0.6), (3, 0.25)]], 2, [1.0, 3.0])
    # The tail starts at min(1, 3) - 1 = 0 and keeps its distances 0.7 - 0.6 and 0.7 - 0.25.
    assert rows == [[(2, 3.0), (4, 1.0), (0, 0.0), (1, -0.1), (3, -0.45)]]
    assert asked == [(["?"], [["e", "c"]], [[0.9, 0.8]])]


def test_rows_end_where_they_end() -> None:
    rows, asked = reranked([[(1, 5.0), (0, 4.0), (2, 3.0)], [], [(7, 1.0)]], 2, [-2.0, -2.0], [], [0.5])
    assert rows == [[(0, -2.0), (1, -2.0), (2, -3.0)], [], [(7, 0.5)]]
    assert asked[0][1] == [["b", "a"], [], ["h"]]


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=8, unique=True),
    st.integers(1, 8),
    st.lists(st.floats(-50, 50, allow_nan=False), min_size=8, max_size=8),
)
@with_example([10**6, 2, 1], 1, [2.5e-6] * 8)  # shifted by half a digit, 2 and 1 would meet
def test_the_tail_keeps_its_order_and_stays_below(millionths: list[int], depth: int, values: list[float]) -> None:
    row = list(zip(range(len(millionths)), [number / 10**6 for number in sorted(millionths, reverse=True)], strict=True))
    # From the last position to the first, so that a tie would turn two of them around.
    row = [(len(row) - 1 - position, score) for position, score in row]
    (found,), _ = reranked([row], depth, values[: min(depth, len(row))])
    head, tail = row[:depth], row[depth:]
    assert {position for position, _ in found[: len(head)]} == {position for position, _ in head}
    assert [position for position, _ in found[len(head) :]] == [position for position, _ in tail]
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, 3.0], [1.0, math.nan], [math.inf, 1.0]])
def test_a_reranker_gives_one_finite_score_per_passage(values: list[float]) -> None:
    with pytest.raises(ConfigError, match="reranker: gave other than one finite score"):
        reranked([[(1, 5.0), (0, 4.0), (2, 1.0)]], 2, values)


# Spans and vectors


class Cut:
    """A chunker that gives what it was told to."""

    def __init__(self, *spans: Span) -> None:
        self.spans = spans

    def chunk(self, document: Document) -> list[Span]:
        return list(self.spans)


@pytest.mark.parametrize("span", [Span("d", -1, 2), Span("d", 2, 2), Span("d", 3, 2), Span("d", 0, 9), Span("other", 0, 2)])
def test_spans_lie_in_their_document(span: Span) -> None:
    with pytest.raises(ConfigError, match=r"chunker: gave Span\(.*for document 'd' of 8 characters"):
        steps.chunk(Cut(Span("d", 0, 8), span), [TEXT])


def test_a_corpus_has_a_chunk() -> None:
    with pytest.raises(ConfigError, match="made no chunk of 1 documents"):
        steps.chunk(Cut(), [TEXT])
    assert len(steps.chunk(Cut(Span("d", 0, 8)), [TEXT])) == 1


class Vectors:
    """An embedder that gives what it was told to."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.vectors

    embed_queries = embed_documents


@pytest.mark.parametrize("embed", [steps.embed_documents, steps.embed_queries])
@pytest.mark.parametrize(
    ("vectors", "printed"),
    [
        (np.ones((1, 3)), r"gave shape \(1, 3\) for 2 texts"),
        (np.ones(2), r"gave shape \(2,\) for 2 texts"),
        (np.array([[1.0, np.nan], [1.0, 1.0]]), "gave NaN or infinity"),
        (np.array([[1.0, 1.0], [-np.inf, 1.0]]), "gave NaN or infinity"),
    ],
)
def test_vectors_are_one_finite_row_per_text(embed: Callable[..., Any], vectors: NDArray[np.float32], printed: str) -> None:
    with pytest.raises(ConfigError, match=f"embedder: {printed}"):
        embed(Vectors(vectors.astype(np.float32)), ["a", "b"])


def test_rows_to_store_and_vectors_to_search_with_are_checked() -> None:
    rows = (np.ones((1, 4)), r"shape \(1, 4\) for 2 texts"), (np.array([[1.0], [np.nan]]), "NaN or infinity for text 2 of 2")
    for wrong, printed in rows:
        with pytest.raises(ConfigError, match=printed):
            whole_rows("embedder", wrong, 2)
    with pytest.raises(ConfigError, match="3 dimensions for questions, and gave 4 for passages"):
        required_vectors(np.ones((1, 3), np.float32), 4)


@pytest.mark.parametrize("embed", [steps.embed_documents, steps.embed_queries])
def test_vectors_have_length_one_or_none(embed: Callable[..., Any]) -> None:
    unit = embed(Vectors(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)), ["a", "b"])
    assert unit.dtype == np.float32
    assert unit.tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, 0.0]]
