"""Waiting questions are searched for in batches; each gets its own result, or its own error."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from support.small_set import write_golden

from rag.components.embedders.hashing import HashingEmbedder
from rag.components.queries.none import AsTyped
from rag.core.errors import UserError
from rag.core.rankings import Rankings
from rag.core.roles import Fusion
from rag.core.types import Query, Sought, Vectors
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.search_filter import Scope
from rag.serve.batching import Batcher, SearchResult

SOON = 30.0
GIVEN = ("dataset=native", "dataset.path=golden", "embedder=hashing", "chunker.size=60", "k=3", "generator=none")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("batches")
    write_golden(folder / "golden")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield open_config(config_of(GIVEN))


class Gate:
    """A rewriter that records every batch, and waits in the first one until it is open."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.open = threading.Event(), threading.Event()

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        self.batches.append([query.text for query in queries])
        if len(self.batches) == 1:
            self.begun.set()
            assert self.open.wait(SOON)
        if any(query.text == "broken" for query in queries):
            raise ZeroDivisionError("broken")
        return AsTyped().rewrite(queries)


def queries_of(*texts: str) -> list[Query]:
    return [Query(f"q{number}", text) for number, text in enumerate(texts)]


def gated(pipeline: Pipeline, ask: Callable[[Batcher, Gate], Any], most: int = 32) -> Gate:
    """Run `ask` with a batcher whose first batch waits at the gate."""
    gate = Gate()
    batcher = Batcher(replace(pipeline, queries=gate), most)
    try:
        asyncio.run(asyncio.wait_for(ask(batcher, gate), SOON))
    finally:
        gate.open.set()
        batcher.close()
    return gate


async def begun(batcher: Batcher, gate: Gate) -> "asyncio.Future[SearchResult]":
    """The result of a first question, whose search has begun and waits at the gate."""
    first = asyncio.ensure_future(batcher.search_with_steps(Query("first", "first")))
    await asyncio.to_thread(gate.begun.wait, SOON)
    return first


async def outcomes_of(batcher: Batcher, gate: Gate, queries: Sequence[Query], scopes: Sequence[Scope] = ()) -> list[Any]:
    """Outcomes of questions that all wait while the first one is searched for."""
    first = await begun(batcher, gate)
    restricted = [*scopes, *[Scope()] * (len(queries) - len(scopes))]
    rest = [asyncio.ensure_future(batcher.search_with_steps(*pair)) for pair in zip(queries, restricted, strict=True)]
    await asyncio.sleep(0)
    assert batcher.waiting == len(queries)
    gate.open.set()
    await first
    return await asyncio.gather(*rest, return_exceptions=True)


def test_waiting_questions_are_searched_for_together_in_their_order(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        await outcomes_of(batcher, gate, queries_of(*"abcde"))

    assert gated(pipeline, ask, most=3).batches == [["first"], ["a", "b", "c"], ["d", "e"]]


def test_each_question_gets_the_result_of_a_search_alone(pipeline: Pipeline) -> None:
    queries = queries_of("When does the ferry leave?", "What does a bus ticket cost?", "Do dogs pay?", "zzz") * 5

    async def ask(batcher: Batcher, gate: Gate) -> None:
        for query, found in zip(queries, await outcomes_of(batcher, gate, queries), strict=True):
            alone = pipeline.trace(query)
            assert found.trace.selected.row(0) == alone.selected.row(0)
            assert found.trace.sought == alone.sought
            assert found.pipeline is batcher.pipeline
            assert found.seconds["queue"] > 0
            assert {"rewrite", "embed", "search", "fuse", "rerank", "select"} < set(found.seconds)

    gated(pipeline, ask)


def test_a_question_with_a_scope_is_searched_for_alone_in_its_turn(pipeline: Pipeline) -> None:
    scopes = [Scope(), Scope(documents=("bus.md",)), Scope(), Scope()]

    async def ask(batcher: Batcher, gate: Gate) -> None:
        for scope, found in zip(scopes, await outcomes_of(batcher, gate, queries_of(*["the ferry"] * 4), scopes), strict=True):
            names = {hit.chunk.span.doc_id for hit in found.pipeline.contexts(found.trace)}
            assert (names == {"bus.md"}) == (not scope.everything)

    assert [len(batch) for batch in gated(pipeline, ask).batches] == [1, 1, 1, 2]


def test_a_question_fails_alone(pipeline: Pipeline) -> None:
    nowhere = Scope(documents=("nowhere.md",))

    async def ask(batcher: Batcher, gate: Gate) -> None:
        outcomes = await outcomes_of(batcher, gate, queries_of("wrong", "good", "broken", "other"), [nowhere])
        assert isinstance(outcomes[0], UserError)
        assert [type(outcome) for outcome in outcomes[1:]] == [SearchResult, ZeroDivisionError, SearchResult]
        assert isinstance(await batcher.search_with_steps(Query("q", "afterwards")), SearchResult)

    gated(pipeline, ask)


def test_a_cancelled_question_is_not_searched_for(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        first = await begun(batcher, gate)
        gone, left = (asyncio.ensure_future(batcher.search_with_steps(query)) for query in queries_of("gone", "left"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        first.cancel()  # while it is being searched for
        gate.open.set()
        assert isinstance(await left, SearchResult)

    assert gated(pipeline, ask).batches == [["first"], ["left"]]


def test_closing_answers_waiting_questions_and_accepts_no_more(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        first = await begun(batcher, gate)
        second = asyncio.ensure_future(batcher.search_with_steps(Query("second", "second")))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        gate.open.set()
        await closing
        assert isinstance(await first, SearchResult)
        assert isinstance(await second, SearchResult)
        with pytest.raises(RuntimeError, match="closed"):
            await batcher.search_with_steps(Query("late", "late"))
        batcher.close()

    gated(pipeline, ask)


class Embedding:
    """An embedder that, if it is parallel, waits until two threads call it; it records its threads."""

    def __init__(self, parallel: bool) -> None:
        self.parallel = parallel
        self.both, self.threads = threading.Barrier(2 if parallel else 1), set[int]()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.threads.add(threading.get_ident())
        self.both.wait(SOON)
        return HashingEmbedder().embed_queries(texts)

    embed_queries = embed_documents


class Alone:
    """A fusion that fails if two threads call it at once."""

    def __init__(self, fusion: Fusion) -> None:
        self.fusion, self.inside = fusion, threading.Lock()

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        assert self.inside.acquire(blocking=False), "two threads fuse at once"
        time.sleep(0.01)
        self.inside.release()
        return self.fusion.fuse(rankings, depth)


@pytest.mark.parametrize("parallel", [False, True])
def test_two_threads_call_a_parallel_embedder_and_one_any_other(pipeline: Pipeline, parallel: bool) -> None:
    embedder, queries = Embedding(parallel), queries_of("the ferry", "the bus", "dogs", "a ticket")
    batcher = Batcher(replace(pipeline, embedder=embedder, fusion=Alone(pipeline.fusion)), most=1)

    async def ask() -> list[SearchResult]:
        return await asyncio.gather(*map(batcher.search_with_steps, queries))

    found = asyncio.run(asyncio.wait_for(ask(), SOON))
    batcher.close()
    assert not any(thread.is_alive() for thread in batcher._threads)
    assert len(embedder.threads) == 1 + parallel
    assert [one.trace.selected.row(0) for one in found] == [pipeline.trace(query).selected.row(0) for query in queries]


def test_a_second_batch_begins_only_when_it_is_as_large_as_the_first(pipeline: Pipeline) -> None:
    batcher, taken = Batcher(pipeline), list[int]()
    batcher.close()
    batcher._closed, batcher._sizes = False, [2]  # as if a batch of two were searched for
    second = threading.Thread(target=lambda: taken.append(len(batcher._next())), daemon=True)
    second.start()
    for seconds, expected in ((0.1, []), (SOON, [2])):
        with batcher._changed:
            batcher._queue.append(Mock(**{"future.cancelled.return_value": False}))
            batcher._changed.notify()
        second.join(seconds)
        assert taken == expected


def test_a_closed_event_loop_breaks_nothing(pipeline: Pipeline) -> None:
    gate = Gate()
    batcher = Batcher(replace(pipeline, queries=gate))

    async def leave() -> None:
        asyncio.ensure_future(batcher.search_with_steps(Query("first", "first")))  # noqa: RUF006
        await asyncio.to_thread(gate.begun.wait, SOON)

    asyncio.run(leave())
    gate.open.set()
    assert isinstance(asyncio.run(batcher.search_with_steps(Query("next", "next"))), SearchResult)
    batcher.close()
