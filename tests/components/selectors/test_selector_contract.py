"""The laws of selectors, for every choice in conf/selector."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.core.corpus import Corpus
from rag.core.rankings import NOTHING, Rankings
from rag.core.records import Document, Span
from rag.core.roles import Selector

CONF = Path(__file__).parents[3] / "conf" / "selector"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "none")
TEXTS = ["# A\none two\n# B\nthree four\nfive six\n## C\nseven", "no heading here at all", "# A\nx\n# A\ny"]


@pytest.fixture(scope="module", params=CHOICES)
def selector(request: pytest.FixtureRequest) -> Selector:
    node = yaml.safe_load((CONF / f"{request.param}.yaml").read_text(encoding="utf-8"))[request.param]
    module, _, name = node.pop("_target_").rpartition(".")
    built = getattr(importlib.import_module(module), name)(**node)
    assert isinstance(built, Selector)
    return built


def corpus_of(texts: list[str], size: int) -> Corpus:
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    cuts = [Span(d.doc_id, at, min(at + size, len(d.text))) for d in documents for at in range(0, len(d.text), size)]
    return Corpus.of(documents, cuts)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Rankings, Corpus]:
    corpus = corpus_of(TEXTS, draw(st.integers(3, 12)))
    score = st.sampled_from([-1.5, 0.0, 0.25, 0.5, 1.0, 3.0])
    hits = st.dictionaries(st.integers(0, len(corpus) - 1), score, max_size=8)
    rows = draw(st.lists(hits, max_size=4))
    ordered = [sorted(row.items(), key=lambda hit: (-hit[1], hit[0])) for row in rows]
    return Rankings.pack(ordered), corpus


@given(case=cases())
@settings(max_examples=100)
def test_laws(selector: Selector, case: tuple[Rankings, Corpus]) -> None:
    rankings, corpus = case
    before = rankings.positions.copy(), rankings.scores.copy()
    selected = selector.select(rankings, corpus)
    assert len(selected) == len(rankings), "one row per question"
    assert selected.positions.dtype == np.int32
    assert selected.scores.dtype == np.float64
    assert selected.positions.shape == selected.scores.shape
    for question in range(len(rankings)):
        given_hits, hits = rankings.row(question), selected.row(question)
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True), "best first"
        ranks = [rank for rank, _ in selected.placed(question).values()]
        assert ranks == sorted(ranks)
        assert len({position for position, _ in hits}) == len(hits), "nothing twice"
        assert all(0 <= position < len(corpus) for position, _ in hits)
        rest = selected.positions[question, len(hits) :], selected.scores[question, len(hits) :]
        assert (rest[0] == NOTHING).all()
        assert np.isneginf(rest[1]).all()
        if getattr(selector, "widens", False):
            assert {position for position, _ in given_hits} <= {position for position, _ in hits}, "no hit is lost"
            placed = selected.placed(question)
            for rank, (position, _) in enumerate(given_hits, 1):
                assert placed[position][0] <= rank, "a hit stands at its rank, or with a better one"
        else:
            assert selected.ranks is None, "a rank is a column"
            assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0])), "the law of order"
            assert set(hits) <= set(given_hits), "nothing is added, no score changes"
    assert np.array_equal(rankings.positions, before[0]), "what came in stays as it was"
    assert np.array_equal(rankings.scores, before[1])
    again = selector.select(rankings, corpus)
    assert np.array_equal(again.positions, selected.positions)
    assert np.array_equal(again.scores, selected.scores)


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
def test_nothing_found_stays_nothing(selector: Selector, rows: list[list[tuple[int, float]]]) -> None:
    selected = selector.select(Rankings.pack(rows), corpus_of(TEXTS, 8))
    assert selected.positions.shape == (len(rows), 0)


def test_an_empty_corpus_is_no_error(selector: Selector) -> None:
    assert selector.select(Rankings.pack([[]]), Corpus.of([], [])).row(0) == []


def test_none_is_no_selector() -> None:
    assert yaml.safe_load((CONF / "none.yaml").read_text(encoding="utf-8")) == {}


@given(case=cases(), k=st.integers(1, 6))
@settings(max_examples=60)
def test_a_cut_takes_k_hits_and_no_more(selector: Selector, case: tuple[Rankings, Corpus], k: int) -> None:
    """What is read of the first k hits does not depend on the hits behind them."""
    rankings, corpus = case
    cut, early = selector.select(rankings, corpus).first(k), selector.select(rankings.first(k), corpus)
    assert [cut.placed(row) for row in range(len(cut))] == [early.placed(row) for row in range(len(early))]
