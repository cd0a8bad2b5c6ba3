"""What a conversation found is used again as measured: in a session, in a sweep, within what may be read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_set import write_golden

from rag.core.rankings import Rankings
from rag.core.roles.looking import Reused
from rag.core.types import Example, Query, Turn, Vectors
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.conversation.live_history import answers, lived, retold
from rag.pipeline.conversation.session import Session
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.locked_files import limited
from rag.pipeline.search.retrieval_memory import found, merged, ranked

GIVEN = ("dataset=native", "dataset.path=golden", "embedder=hashing", "chunker.size=60", "k=3", "check=none", "reuse=similar")
TALK = ["When does the ferry to Holm leave?", "To Holm, when does the ferry leave?", "What does a bus ticket cost?"]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("talks")
    write_golden(folder / "golden")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield open_config(config_of([*GIVEN, "reuse.full=0.8", "selector=neighbours"]))


class Halves:
    def reuse(self, question: str, vector: Vectors, earlier: Sequence[str], vectors: Vectors) -> Reused:
        return Reused(0.5, 0, "always")


def talked(pipeline: Pipeline) -> Session:
    session = Session(pipeline)
    for question in TALK:
        session.ask(question)
    return session


def test_a_session_searches_once_for_a_question_that_is_asked_again(pipeline: Pipeline) -> None:
    calls: list[int] = []

    class Counting:
        def __init__(self, inner: object) -> None:
            self.inner = inner

        def search(self, texts: Sequence[str], *rest: object) -> Rankings:
            calls.append(len(texts))
            return self.inner.search(texts, *rest)  # type: ignore[attr-defined, no-any-return]

    (name, searcher), *_ = pipeline.searchers.items()
    session = talked(replace(pipeline, searchers={**pipeline.searchers, name: Counting(searcher)}))
    assert calls == [1, 1]
    first, second, third = session.exchanges
    assert second.trace.look is not None
    (step,) = second.trace.look.steps
    assert (step.act, step.given, second.trace.indexes) == ("reuse", TALK[0], {})
    assert second.answer.contexts == first.answer.contexts
    assert third.trace.look is None
    assert [one.question for one in session.found] == [TALK[0], TALK[2]], "what was reused is not compared with later questions"
    session.reset()
    assert session.ask(TALK[1]).trace.look is None


def test_a_live_conversation_is_measured_as_a_session_answers_it(pipeline: Pipeline) -> None:
    session = talked(pipeline)
    history = tuple(turn for text in TALK[:-1] for turn in (Turn("user", text), Turn("assistant", "gold")))
    examples = [Example(Query("d", TALK[-1], history)), Example(Query("c", TALK[1], history[:2]))]
    for last, example, past in zip((3, 2), examples, lived(examples, partial(answers, pipeline)), strict=True):
        exchange = session.exchanges[last - 1]
        assert (past.history, past.earlier) == (exchange.answer.query.history, exchange.answer.query.earlier)
        trace = pipeline.trace(replace(example.query, history=past.history, earlier=past.earlier))
        assert trace.selected.row(0) == exchange.trace.selected.row(0)
        assert trace.look == exchange.trace.look
    told = retold(pipeline, examples)
    assert [past.history for past in told] == [history, history[:2]]
    assert [[one.question for one in past.earlier] for past in told] == [[TALK[0]], [TALK[0]]]


def test_what_was_found_is_ranked_again_exactly_and_only_where_it_may_be_read(pipeline: Pipeline) -> None:
    trace = pipeline.trace(Query("q", TALK[0]))
    head = trace.selected.first(pipeline.k)
    again = ranked(kept := found("q", trace.selected, pipeline.k, pipeline.corpus), pipeline.corpus, None)
    assert again is not None
    assert again.placed(0) == head.placed(0)
    assert ranked(kept, limited(pipeline, (), ["ferry.md"]).corpus, limited(pipeline, (), ["ferry.md"]).allowed) is None
    without = limited(pipeline, (), ["ferry.md"]).trace(Query("q", TALK[1], earlier=(kept,)))
    assert without.look is None


def test_half_reuse_is_a_step_of_the_trace(pipeline: Pipeline) -> None:
    halves = replace(pipeline, reuse=Halves())
    session = Session(halves)
    session.ask(TALK[0])
    second = session.ask(TALK[2])
    assert [step.act for step in second.trace.look.steps] == ["merge"]  # type: ignore[union-attr]
    fresh = pipeline.trace(Query("q", TALK[2]))
    assert second.trace.selected.first(2).row(0)[0] == fresh.selected.row(0)[0]


ROW = st.lists(st.integers(0, 30), unique=True, max_size=12)


@given(ROW, ROW, st.integers(1, 8))
def test_merging_keeps_the_fresh_half_first_and_no_chunk_twice(fresh: list[int], earlier: list[int], k: int) -> None:
    rows = [Rankings.pack([[(place, 1.0 - rank / 100) for rank, place in enumerate(row)]]) for row in (fresh, earlier)]
    both = merged(rows[0], rows[1], k)
    places = [place for place, _ in both.row(0)]
    half = fresh[: (k + 1) // 2]
    kept = [place for place in earlier if place not in half]
    assert places == [*half, *kept, *(place for place in fresh if place not in {*half, *kept})]
    scores = [score for _, score in both.row(0)]
    assert scores == sorted(scores, reverse=True)
    assert both.ranks is not None
    assert both.ranks[0].tolist() == list(range(1, len(places) + 1))
    assert np.isfinite(both.scores).all()
