"""A question on its way through a model: found, answered piece by piece, told."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from rag.core.errors import RefusalError, ServiceError
from rag.core.records import Answer, Query, Turn
from rag.pipeline.search_filter import Scope
from rag.pipeline.steps import rewrite
from rag.pipeline.timing import Clock
from rag.serve import payloads
from rag.serve.batching import Found
from rag.serve.cancellation import Stoppable
from rag.serve.feedback import answer_id
from rag.serve.loaded_bundles import Model
from rag.serve.passage_trace import fates
from rag.serve.problems import UpstreamError
from rag.serve.request_log import spoke, tell
from rag.serve.retry_limits import KnownQueries


@dataclass
class Asking:
    """One question to one model; whoever holds it holds the model as well."""

    model: Model
    query: Query
    found: Found
    began: float
    answer: Answer | None = None
    clock: Clock = field(default_factory=Clock)
    speaker: Stoppable = field(init=False)

    def __post_init__(self) -> None:
        self.speaker = Stoppable(self.found.pipeline.generator)

    @classmethod
    async def begin(
        cls, model: Model, question: str, history: Sequence[Turn], scope: Scope, pool: ThreadPoolExecutor
    ) -> "Asking":
        """Search for a question; a model that says what is searched for is asked in a thread of the pool."""
        began, query = time.perf_counter(), Query(answer_id(), question, tuple(history))
        try:
            found = await _found(model, query, scope, pool)
        except ServiceError as error:
            raise upstream(error) from error
        return cls(model, query, found, began)

    @property
    def id(self) -> str:
        """That of its answer."""
        return self.query.query_id

    @property
    def headers(self) -> dict[str, str]:
        """What every response says of its bundle."""
        return self.model.headers

    @property
    def _head(self) -> dict[str, Any]:
        return {"id": self.id, "model": self.model.name, "bundle": self.model.bundle.digest}

    def passages(self, k: int | None = None) -> list[dict[str, Any]]:
        """What was found."""
        pipeline = self.found.pipeline
        return payloads.passage_payloads(pipeline, self.found.trace, k or pipeline.k, self.model.documents)

    def passages_read(self) -> list[dict[str, Any]]:
        """What of it is read, and cited by these numbers: known when the first piece has come."""
        found = {(one["doc_id"], one["start"]): one for one in self.passages()}
        return [
            found[chunk.span.doc_id, chunk.span.start]
            | {"number": number, "chunk": chunk.chunk_id, "end": chunk.span.end, "text": chunk.text}
            for number, chunk in enumerate(self.speaker.read, 1)
        ]

    def timings(self) -> dict[str, float]:
        """Seconds by step so far."""
        steps = {**self.found.seconds, **self.clock.seconds}
        return steps | {"total": time.perf_counter() - self.began}

    def searched(self, k: int | None) -> dict[str, Any]:
        """The result of a search."""
        told = self._head | {"question": self.query.text, "passages": self.passages(k), "timings": self.timings()}
        tell(told)
        return told

    async def pieces(self, pool: ThreadPoolExecutor, early: bool = False) -> AsyncIterator[str]:
        """The answer as it comes, and `answer` at the end; who stops asking for the next piece breaks it off.

        `early`: a listener gets `answer` too, and shows it instead of the pieces (`Pipeline.answer_from`).
        """
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        pipeline = replace(self.found.pipeline, generator=self.speaker)

        def hear(piece: str) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, piece)

        def answer() -> Answer:
            return pipeline.answer_from(self.query, self.found.trace, hear, clock=self.clock, early=early)

        work = loop.run_in_executor(pool, copy_context().run, answer)
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (piece := await queue.get()) is not None:
                if piece:
                    spoke()
                    yield piece
            self.answer = await work
        except ServiceError as error:
            raise upstream(error) from error
        finally:
            self.stop()
            # Whatever became of it, nobody asks any more.
            work.add_done_callback(_forgotten)

    def stop(self) -> None:
        """Break off: nobody waits for the answer any more."""
        self.speaker.stop()

    async def complete(self, pool: ThreadPoolExecutor) -> Answer:
        """The answer when it is complete."""
        async for _ in self.pieces(pool):
            pass
        if self.answer is None:
            raise RuntimeError("an answer without an end")
        return self.answer

    def payload(self, show: Collection[str] = ()) -> dict[str, Any]:
        """The complete answer as the API has it."""
        if self.answer is None:
            raise RuntimeError("the answer is not complete")
        told = self._head | payloads.answered(self.answer, self.found.trace, self.model.documents) | {"timings": self.timings()}
        told |= {"session": None, "turn": None}
        if "trace" in show:
            told["trace"] = {"passages": fates(self.found.pipeline, self.found.trace, self.answer)}
        told |= {"prompt": payloads.messages(self.speaker.said)} if "prompt" in show else {}
        tell(told)
        return told


async def _found(model: Model, query: Query, scope: Scope, pool: ThreadPoolExecutor) -> Found:
    rewriter, clock = model.batcher.pipeline.queries, Clock()
    if not isinstance(rewriter, KnownQueries) or scope.whole is not None:
        return await model.batcher.search_with_steps(query, scope)
    with clock.step("rewrite"):
        ahead = partial(rewrite, rewriter.rewriter, [query])
        (sought,) = await asyncio.get_running_loop().run_in_executor(pool, copy_context().run, ahead)
    with rewriter.expecting(query, sought):
        found = await model.batcher.search_with_steps(query, scope)
    return replace(found, seconds={**found.seconds, **clock.seconds})


def upstream(error: ServiceError) -> ServiceError:
    """An error of a model's endpoint; what it refuses for good is told as that."""
    return error if isinstance(error, RefusalError) else UpstreamError(error.where, error.what, error.remedy)


def _forgotten(work: "asyncio.Future[Answer]") -> None:
    if not work.cancelled():
        work.exception()
