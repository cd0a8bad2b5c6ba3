"""Searches in batches: questions that wait at the same time are searched for together, in one or two threads."""

import asyncio
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from rag.core.roles import Embedder
from rag.core.types import Query, Vectors
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.search.search_filter import EVERYTHING, Scope, narrowed
from rag.pipeline.search.timing import Clock


@dataclass(frozen=True)
class SearchResult:
    """The trace of a question, the pipeline to read it with, and the seconds of each step.

    `queue` among the seconds is how long the question waited. All questions of a batch have the same seconds of steps, because
    each of them waited for all.
    """

    pipeline: Pipeline
    trace: Trace
    seconds: Mapping[str, float]


Outcome = SearchResult | Exception


@dataclass(frozen=True)
class _Waiting:
    """A question, the future that its caller awaits, and the time at which it came."""

    query: Query
    scope: Scope
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[SearchResult]
    since: float


@dataclass(frozen=True)
class _YieldingEmbedder:
    """An embedder that releases the turn to another thread while it works; the caller has the turn before and after."""

    embedder: Embedder
    turn: threading.Lock

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents without the turn."""
        return self._without_turn(self.embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries without the turn."""
        return self._without_turn(self.embedder.embed_queries, texts)

    def _without_turn(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        self.turn.release()
        try:
            return embed(texts)
        finally:
            self.turn.acquire()


class Batcher:
    """Searches for questions in batches of up to `most`, in threads of its own; `close` ends them.

    Two threads call an embedder with `parallel = True`, each for a batch; only one thread at a time takes all other steps. A
    second batch begins only when it is as large as the first: small batches cost more per question, and no question waits
    longer than with one thread.

    No question waits for a batch to fill: while one batch is searched for the next one gathers, so that batches grow with the
    load and a single question is answered at once. The result does not depend on the other questions of the batch. A question
    with a scope is searched for alone, in its turn. A question whose caller has cancelled is not searched for.
    """

    def __init__(self, pipeline: Pipeline, most: int = 32) -> None:
        self.pipeline, self.most = pipeline, most
        self._queue: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._turn = threading.Lock()
        self._sizes: list[int] = []
        several = any(pipeline.uses_vectors.values()) and getattr(pipeline.embedder, "parallel", False)
        self._threads = [threading.Thread(target=self._work, name="search", daemon=True) for _ in range(2 if several else 1)]
        for thread in self._threads:
            thread.start()

    async def search_with_steps(self, query: Query, scope: Scope = EVERYTHING) -> SearchResult:
        """The trace of a question within a scope; errors as in `Pipeline.trace` and `narrowed`, RuntimeError after `close`."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(query, scope, loop, loop.create_future(), time.perf_counter())
        with self._changed:
            if self._closed:
                raise RuntimeError("this batcher is closed")
            self._queue.append(waiting)
            self._changed.notify()
        return await waiting.future

    @property
    def waiting(self) -> int:
        """The number of questions whose search has not begun."""
        return len(self._queue)

    def close(self) -> None:
        """Search for the questions that wait, then end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            # A search thread may release the last reference, and so call this.
            if thread is not threading.current_thread():
                thread.join()

    def _work(self) -> None:
        # The event loop releases the interpreter at every read, write and log, and gets it back soon; the default is 0.005.
        # Measured on two processors with 16 clients and other load: 200–510 questions a second became 660–730, without a model.
        sys.setswitchinterval(1e-4)
        while batch := self._next():
            with self._turn:
                outcomes = self._searched(batch)
            with self._changed:
                self._sizes.remove(len(batch))
                self._changed.notify_all()
            self._settle(batch, outcomes)

    def _next(self) -> list[_Waiting]:
        """Wait for the next batch; an empty one after `close`."""
        with self._changed:
            while True:
                while self._queue and self._queue[0].future.cancelled():
                    self._queue.popleft()
                if self._closed or len(self._queue) >= max(self._sizes, default=1):
                    return self._take_batch()
                self._changed.wait()

    def _take_batch(self) -> list[_Waiting]:
        """The question that waits longest; if it has no scope, also those after it, up to the first with a scope."""
        batch: list[_Waiting] = []
        while self._queue and len(batch) < self.most and (not batch or self._queue[0].scope.everything):
            batch.append(self._queue.popleft())
            if not batch[0].scope.everything:
                break
        self._sizes.append(len(batch))
        return batch

    def _searched(self, batch: Sequence[_Waiting]) -> list[Outcome]:
        """One outcome per question. If a batch fails, its questions are tried one by one, so that each fails alone."""
        began, clock = time.perf_counter(), Clock()
        try:
            pipeline = narrowed(self.pipeline, batch[0].scope)
            searching = replace(pipeline, embedder=_YieldingEmbedder(pipeline.embedder, self._turn))
            traces = searching.traces([waiting.query for waiting in batch], clock)
        except Exception as error:  # any error goes to the caller
            return [error] if len(batch) == 1 else [outcome for each in batch for outcome in self._searched([each])]
        rows = zip(batch, traces, strict=True)
        return [SearchResult(pipeline, trace, {"queue": began - each.since} | clock.seconds) for each, trace in rows]

    def _settle(self, batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
        """Set the futures of a batch, with one call for each event loop."""
        pairs_of: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[SearchResult], Outcome]]] = defaultdict(list)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            pairs_of[waiting.loop].append((waiting.future, outcome))
        for loop, pairs in pairs_of.items():
            with suppress(RuntimeError):  # the loop has been closed with its callers
                loop.call_soon_threadsafe(_set_futures, pairs)


def _set_futures(pairs: Sequence[tuple[asyncio.Future[SearchResult], Outcome]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
