"""Questions that wait are searched for together; each gets its own answer, or its own error."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support.small_set import write_golden

from rag.components.embedders.hashing import HashingEmbedder
from rag.components.queries.none import AsTyped
from rag.core.errors import UserError
from rag.core.rankings import Rankings
from rag.core.records import Query, Sought, Vectors
from rag.core.roles import Fusion
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search_filter import Scope
from rag.serve.batching import Batcher, Found

SOON = 60.0
GIVEN = ("dataset=native", "dataset.path=golden", "embedder=hashing", "chunker.size=60", "k=3", "generator=none")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("batches")
    write_golden(folder / "golden")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield open_config(config_of(GIVEN))


class Gate:
    """A rewriter that notes every batch, and waits in the first one until it is let on."""

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


def asked(*texts: str) -> list[Query]:
    return [Query(f"q{number}", text) for number, text in enumerate(texts)]


def gated(pipeline: Pipeline, ask: Callable[[Batcher, Gate], Any], most: int = 32) -> Gate:
    """Run `ask` with a batcher whose first batch waits for the gate."""
    gate = Gate()
    batcher = Batcher(replace(pipeline, queries=gate), most)
    try:
        asyncio.run(asyncio.wait_for(ask(batcher, gate), SOON))
    finally:
        gate.open.set()
        batcher.close()
    return gate


async def behind(batcher: Batcher, gate: Gate, queries: Sequence[Query], scopes: Sequence[Scope] = ()) -> list[Any]:
    """Outcomes of questions that all wait while the first one is searched for."""
    first = asyncio.ensure_future(batcher.search_with_steps(Query("first", "first")))
    await asyncio.to_thread(gate.begun.wait, SOON)
    restricted = [*scopes, *[Scope()] * (len(queries) - len(scopes))]
    rest = [asyncio.ensure_future(batcher.search_with_steps(*pair)) for pair in zip(queries, restricted, strict=True)]
    await asyncio.sleep(0)
    assert batcher.waiting == len(queries)
    gate.open.set()
    await first
    return await asyncio.gather(*rest, return_exceptions=True)


def test_what_waits_is_searched_for_together_in_its_order(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        await behind(batcher, gate, asked(*"abcde"))

    assert gated(pipeline, ask, most=3).batches == [["first"], ["a", "b", "c"], ["d", "e"]]


def test_each_gets_what_it_would_have_found_alone(pipeline: Pipeline) -> None:
    queries = asked("When does the ferry leave?", "What does a bus ticket cost?", "Do dogs pay?", "zzz") * 5

    async def ask(batcher: Batcher, gate: Gate) -> None:
        for query, found in zip(queries, await behind(batcher, gate, queries), strict=True):
            alone = pipeline.trace(query)
            assert found.trace.selected.row(0) == alone.selected.row(0)
            assert found.trace.sought == alone.sought
            assert found.pipeline is batcher.pipeline
            assert found.seconds["queue"] > 0
            assert {"rewrite", "embed", "search", "fuse", "rerank", "select"} < set(found.seconds)

    gated(pipeline, ask)


def test_a_question_with_a_scope_is_searched_for_in_its_turn(pipeline: Pipeline) -> None:
    scopes = [Scope(), Scope(documents=("bus.md",)), Scope(), Scope()]

    async def ask(batcher: Batcher, gate: Gate) -> None:
        for scope, found in zip(scopes, await behind(batcher, gate, asked(*["the ferry"] * 4), scopes), strict=True):
            names = {hit.chunk.span.doc_id for hit in found.pipeline.contexts(found.trace)}
            assert (names == {"bus.md"}) == (not scope.everything)

    assert [len(batch) for batch in gated(pipeline, ask).batches] == [1, 1, 1, 2]


def test_a_question_fails_alone(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        good, bad, other = await behind(batcher, gate, asked("good", "broken", "other"))
        assert (type(good), type(bad), type(other)) == (Found, ZeroDivisionError, Found)
        assert isinstance(await batcher.search_with_steps(Query("q", "afterwards")), Found)

    gated(pipeline, ask)


def test_a_scope_that_cannot_be_is_the_error_of_who_asked(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        wrong, good = await behind(batcher, gate, asked("a", "b"), [Scope(documents=("nowhere.md",))])
        assert isinstance(wrong, UserError)
        assert isinstance(good, Found)

    gated(pipeline, ask)


def test_who_went_away_is_not_searched_for(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        first = asyncio.ensure_future(batcher.search_with_steps(Query("first", "first")))
        await asyncio.to_thread(gate.begun.wait, SOON)
        gone, left = (asyncio.ensure_future(batcher.search_with_steps(query)) for query in asked("gone", "left"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        first.cancel()  # while it is being searched for
        gate.open.set()
        assert isinstance(await left, Found)

    assert gated(pipeline, ask).batches == [["first"], ["left"]]


def test_closing_answers_what_waits_and_takes_nothing_more(pipeline: Pipeline) -> None:
    async def ask(batcher: Batcher, gate: Gate) -> None:
        first = asyncio.ensure_future(batcher.search_with_steps(Query("first", "first")))
        await asyncio.to_thread(gate.begun.wait, SOON)
        second = asyncio.ensure_future(batcher.search_with_steps(Query("second", "second")))
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(batcher.close))
        gate.open.set()
        await closing
        assert isinstance(await first, Found)
        assert isinstance(await second, Found)
        with pytest.raises(RuntimeError, match="closed"):
            await batcher.search_with_steps(Query("late", "late"))
        batcher.close()

    gated(pipeline, ask)


class Embedding:
    """An embedder that waits until two batches are with it, where it bears that, and notes who asked."""

    def __init__(self, parallel: bool) -> None:
        self.parallel = parallel
        self.both, self.threads = threading.Barrier(2 if parallel else 1), set[int]()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.threads.add(threading.get_ident())
        self.both.wait(SOON)
        return HashingEmbedder().embed_queries(texts)

    embed_queries = embed_documents


class Alone:
    """A fusion that fails where two threads are in it."""

    def __init__(self, fusion: Fusion) -> None:
        self.fusion, self.inside = fusion, threading.Lock()

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        assert self.inside.acquire(blocking=False), "two threads fuse at once"
        time.sleep(0.01)
        self.inside.release()
        return self.fusion.fuse(rankings, depth)


@pytest.mark.parametrize("parallel", [False, True])
def test_two_batches_are_embedded_at_once_where_the_embedder_bears_it(pipeline: Pipeline, parallel: bool) -> None:
    embedder, queries = Embedding(parallel), asked("the ferry", "the bus", "dogs", "a ticket")
    batcher = Batcher(replace(pipeline, embedder=embedder, fusion=Alone(pipeline.fusion)), most=1)

    async def ask() -> list[Found]:
        return await asyncio.gather(*map(batcher.found, queries))

    found = asyncio.run(asyncio.wait_for(ask(), SOON))
    batcher.close()
    assert not any(thread.is_alive() for thread in batcher._threads)
    assert len(embedder.threads) == 1 + parallel
    assert [one.trace.selected.row(0) for one in found] == [pipeline.trace(query).selected.row(0) for query in queries]


def test_a_second_batch_begins_beside_the_first_when_it_is_as_large(pipeline: Pipeline) -> None:
    sizes: list[int] = []
    begun, both = threading.Event(), threading.Event()

    class Noting(HashingEmbedder):
        parallel = True

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            sizes.append(len(texts))
            (both if begun.is_set() else begun).set()
            assert both.wait(SOON)
            return super().embed_queries(texts)

    async def ask(batcher: Batcher) -> None:
        first, second, third, fourth = (partial(batcher.found, query) for query in asked(*"abcd"))
        with batcher._changed:  # nobody looks before both wait
            asking = [asyncio.ensure_future(first()), asyncio.ensure_future(second())]
            await asyncio.sleep(0)
        await asyncio.to_thread(begun.wait, SOON)
        asking.append(asyncio.ensure_future(third()))
        await asyncio.sleep(0.05)  # who begins too early has the time to
        await asyncio.gather(*asking, fourth())

    batcher = Batcher(replace(pipeline, embedder=Noting()))
    asyncio.run(asyncio.wait_for(ask(batcher), SOON))
    batcher.close()
    assert sizes == [2, 2]


def test_a_question_fails_alone_where_two_threads_search(pipeline: Pipeline) -> None:
    class Failing(HashingEmbedder):
        parallel = True

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            if "broken" in texts:
                raise ZeroDivisionError
            return super().embed_queries(texts)

    async def ask(batcher: Batcher) -> list[Found | BaseException]:
        questions = map(batcher.found, asked("good", "broken", "other", "broken", "last"))
        return await asyncio.gather(*questions, return_exceptions=True)

    batcher = Batcher(replace(pipeline, embedder=Failing()))
    outcomes = asyncio.run(asyncio.wait_for(ask(batcher), SOON))
    batcher.close()
    assert [type(outcome) for outcome in outcomes] == [Found, ZeroDivisionError, Found, ZeroDivisionError, Found]


def test_several_event_loops_may_ask(pipeline: Pipeline) -> None:
    batcher = Batcher(pipeline)
    outcomes: list[Found] = []

    def ask() -> None:
        outcomes.append(asyncio.run(batcher.search_with_steps(Query("q", "the ferry"))))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    batcher.close()
    assert len({str(found.trace.selected.row(0)) for found in outcomes}) == 1
    assert len(outcomes) == 8


def test_a_loop_that_ended_meanwhile_is_nobody(pipeline: Pipeline) -> None:
    gate = Gate()
    batcher = Batcher(replace(pipeline, queries=gate))

    async def leave() -> None:
        asyncio.ensure_future(batcher.search_with_steps(Query("first", "first")))  # noqa: RUF006
        await asyncio.to_thread(gate.begun.wait, SOON)

    asyncio.run(leave())
    gate.open.set()
    assert isinstance(asyncio.run(batcher.search_with_steps(Query("next", "next"))), Found)
    batcher.close()
