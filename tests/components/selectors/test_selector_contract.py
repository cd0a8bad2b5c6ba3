"""The laws of selectors, for every choice in conf/selector."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import build, choices

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import Selector
from rag.core.types import Document, Span
from rag.testing import check_selector
from rag.testing.laws import lawful, same

CHOICES = choices("selector", but=("none", "nli_gate", "relevance_gate"))  # Gates read questions: test_selector_gate.
TEXTS = ["# A\none two\n# B\nthree four\nfive six\n## C\nseven", "no heading here at all", "# A\nx\n# A\ny"]


@pytest.fixture(scope="module", params=CHOICES)
def selector(request: pytest.FixtureRequest) -> Selector:
    selector: Selector = build("selector", request.param)
    return selector


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
@settings(max_examples=60)
def test_drawn_rankings(selector: Selector, case: tuple[Rankings, Corpus]) -> None:
    rankings, corpus = case
    before = rankings.positions.copy(), rankings.scores.copy()
    selected = selector.select(rankings, corpus)
    if selected.ranks is None:
        lawful(
            selected,
            len(rankings),
            rankings.positions.shape[1],
            [{p for p, _ in rankings.row(q)} for q in range(len(rankings))],
        )
    for question in range(len(rankings)):
        given_hits, hits = rankings.row(question), selected.row(question)
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True), "best first"
        ranks = [rank for rank, _ in selected.placed(question).values()]
        assert ranks == sorted(ranks)
        assert len({position for position, _ in hits}) == len(hits), "nothing twice"
        assert all(0 <= position < len(corpus) for position, _ in hits)
        if getattr(selector, "widens", False):
            assert {position for position, _ in given_hits} <= {position for position, _ in hits}, "no hit is lost"
            placed = selected.placed(question)
            for rank, (position, _) in enumerate(given_hits, 1):
                assert placed[position][0] <= rank, "a hit keeps its rank, or has a better one"
        elif getattr(selector, "reorders", False):
            assert selected.ranks is None, "a rank is a column"
            assert {position for position, _ in given_hits} == {position for position, _ in hits}, "a new order keeps all hits"
        else:
            assert selected.ranks is None, "a rank is a column"
            assert set(hits) <= set(given_hits), "nothing is added, no score changes"
    assert np.array_equal(rankings.positions, before[0]), "inputs are not changed"
    assert np.array_equal(rankings.scores, before[1])
    assert same(selector.select(rankings, corpus), selected)


def test_laws_and_rankings_without_hits(selector: Selector) -> None:
    check_selector(selector)
    for rows in ([], [[]], [[], []]):
        selected = selector.select(Rankings.pack(rows), corpus_of(TEXTS, 8))
        assert selected.positions.shape == (len(rows), 0)
    assert selector.select(Rankings.pack([[]]), Corpus.of([], [])).row(0) == []


@pytest.mark.parametrize("selector", [choice for choice in CHOICES if choice != "mmr"], indirect=True)
@given(case=cases(), k=st.integers(1, 6))
@settings(max_examples=40)
def test_a_cut_takes_k_hits_and_no_more(selector: Selector, case: tuple[Rankings, Corpus], k: int) -> None:
    """The contexts of the first k hits do not depend on the later hits."""
    rankings, corpus = case
    cut, early = selector.select(rankings, corpus).first(k), selector.select(rankings.first(k), corpus)
    assert [cut.placed(row) for row in range(len(cut))] == [early.placed(row) for row in range(len(early))]
