"""Questions that wait at the same time are searched for together, by a thread that searches, or two that take turns."""

import asyncio
import os
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from rag.core.records import Query, Vectors
from rag.core.roles import Embedder
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.search_filter import EVERYTHING, Scope, narrowed
from rag.pipeline.timing import Clock


@dataclass(frozen=True)
class Found:
    """What was found for a question, the pipeline that it must be read with, and the seconds of each step.

    `queue` among the seconds is how long the question waited. Questions that were searched for together have the seconds of
    their steps in common: each of them waited for all.
    """

    pipeline: Pipeline
    trace: Trace
    seconds: Mapping[str, float]


Outcome = Found | Exception


@dataclass(frozen=True)
class _Waiting:
    """A question, who waits for it, and since when."""

    query: Query
    scope: Scope
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Found]
    since: float


@dataclass(frozen=True)
class _Aside:
    """An embedder whose work leaves the turn to another thread."""

    embedder: Embedder
    turn: threading.Lock

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does; whoever asks has the turn before and afterwards."""
        return self._asked(self.embedder.embed_documents, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same."""
        return self._asked(self.embedder.embed_queries, texts)

    def _asked(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        self.turn.release()
        try:
            return embed(texts)
        finally:
            self.turn.acquire()


class Batcher:
    """Searches for questions in batches of up to `most`, in threads of its own; `close` ends them.

    Of an embedder with `parallel = True`, which several threads may ask at once, two threads ask, each for a batch; all other
    steps are taken by one thread at a time, whatever they are made of. The second batch begins beside the first when it is as
    large: small ones cost more for each question, and nobody waits longer than where one thread searches.

    Nobody waits for a batch to fill: while one is searched for the next one gathers, so that batches grow with the load and a
    question alone is answered at once. What is found does not depend on the questions beside it. Those with a scope are
    searched for one by one, in their turn. A question whose caller has gone is not searched for.
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

    async def trace(self, query: Query, scope: Scope = EVERYTHING) -> Trace:
        """What the pipeline, narrowed to a scope, finds; errors as `Pipeline.trace` and `narrowed` raise them."""
        return (await self.search_with_steps(query, scope)).trace

    async def search_with_steps(self, query: Query, scope: Scope = EVERYTHING) -> Found:
        """The same with the pipeline that reads it and the seconds of each step; RuntimeError after `close`."""
        loop = asyncio.get_running_loop()
        one = _Waiting(query, scope, loop, loop.create_future(), time.perf_counter())
        with self._changed:
            if self._closed:
                raise RuntimeError("this batcher is closed")
            self._queue.append(one)
            self._changed.notify()
        return await one.future

    @property
    def waiting(self) -> int:
        """How many questions wait for their search to begin."""
        return len(self._queue)

    def close(self) -> None:
        """Search for what waits, then end: nothing is taken any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            # Whoever let go of the last reference may be the one who searched.
            if thread is not threading.current_thread():
                thread.join()

    def _work(self) -> None:
        _leave_room(len(self._threads))
        while batch := self._next():
            with self._turn:
                outcomes = self._searched(batch)
            self._done(batch)
            self._settle(batch, outcomes)

    def _done(self, batch: Sequence[_Waiting]) -> None:
        with self._changed:
            self._sizes.remove(len(batch))
            self._changed.notify_all()

    def _next(self) -> list[_Waiting]:
        """What is searched for together now; nothing when it is time to end."""
        with self._changed:
            while True:
                while self._queue and self._queue[0].future.cancelled():
                    self._queue.popleft()
                if self._closed or len(self._queue) >= max(self._sizes, default=1):
                    return self._taken()
                self._changed.wait()

    def _taken(self) -> list[_Waiting]:
        """The question that waits longest, and those behind it up to the first with a scope if it has none."""
        batch: list[_Waiting] = []
        while self._queue and len(batch) < self.most and (not batch or self._queue[0].scope.everything):
            batch.append(self._queue.popleft())
            if not batch[0].scope.everything:
                break
        self._sizes.append(len(batch))
        return batch

    def _searched(self, batch: Sequence[_Waiting]) -> list[Outcome]:
        """One outcome per question. What fails together is tried one by one, so that a question fails alone."""
        began, clock = time.perf_counter(), Clock()
        try:
            pipeline = narrowed(self.pipeline, batch[0].scope)
            searching = replace(pipeline, embedder=_Aside(pipeline.embedder, self._turn))
            traces = searching.traces([one.query for one in batch], clock)
        except Exception as error:  # whoever asked is told, whatever it is
            return [error] if len(batch) == 1 else [outcome for one in batch for outcome in self._searched([one])]
        rows = zip(batch, traces, strict=True)
        return [Found(pipeline, trace, {"queue": began - one.since} | clock.seconds) for one, trace in rows]

    def _settle(self, batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
        """Tell those who wait, with one call for each event loop."""
        told: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Found], Outcome]]] = defaultdict(list)
        for one, outcome in zip(batch, outcomes, strict=True):
            told[one.loop].append((one.future, outcome))
        for loop, pairs in told.items():
            with suppress(RuntimeError):  # the loop has been closed, and nobody waits there
                loop.call_soon_threadsafe(_tell, pairs)


SWITCH = 1e-4
"""Seconds after which Python takes the interpreter from a thread that another one waits for, instead of 0.005."""


def _leave_room(threads: int) -> None:
    """Let so many threads calculate on half of the processors together, and let those who serve interrupt them often.

    Threads that wait for each other are slow where others work. An event loop gives up the interpreter whenever it reads,
    writes or logs, and would wait for the search each time. Measured on two processors with 16 clients, beside other work:
    172 questions a second instead of 110 with MiniLM by the one, 660 to 730 instead of 200 to 510 without a model by the other.
    """
    sys.setswitchinterval(SWITCH)
    if torch := sys.modules.get("torch"):  # whoever needs it has loaded it by now
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // 2 // threads))


def _tell(pairs: Sequence[tuple[asyncio.Future[Found], Outcome]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
