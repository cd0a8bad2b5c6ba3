"""One question to one model: searched for, answered in pieces, and returned as JSON."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial

from rag.core.errors import RefusalError, ServiceError, UserError
from rag.core.types import Answer, Found, Message, Query, Ranking, Turn
from rag.pipeline.prompt.edited_prompt import checked
from rag.pipeline.search.locked_files import proposed
from rag.pipeline.search.search_filter import EVERYTHING, Scope
from rag.pipeline.search.steps import rewrite
from rag.pipeline.search.timing import Clock
from rag.pipeline.shapes.answer_json import answer_json, chunk_text, found_passages, holder
from rag.pipeline.shapes.json_shapes import FoundPassage
from rag.pipeline.shapes.passage_fates import passage_fates
from rag.serve import response_models
from rag.serve.batching import SearchResult
from rag.serve.feedback import answer_id
from rag.serve.interactive import KnownQueries, Stoppable
from rag.serve.loaded_bundles import Model
from rag.serve.problems import UpstreamError, own_words
from rag.serve.request_log import note_first_piece, note_response

LOG = logging.getLogger("rag.serve.answer_job")


@dataclass
class AnswerJob:
    """A question that was searched for, and is answered next. It keeps its model loaded."""

    model: Model
    query: Query
    result: SearchResult
    began: float
    scope: Scope = EVERYTHING
    answer: Answer | None = None
    edited: tuple[Message, ...] = ()
    read: Sequence[str] = ()
    preview: bool = False
    clock: Clock = field(default_factory=Clock)
    generator: Stoppable = field(init=False)

    def __post_init__(self) -> None:
        self.generator = Stoppable(self.result.pipeline.generator)

    @classmethod
    async def begin(
        cls,
        model: Model,
        question: str,
        history: Sequence[Turn],
        scope: Scope,
        pool: ThreadPoolExecutor,
        earlier: Sequence[Found] = (),
        answers: bool = True,
    ) -> "AnswerJob":
        """Search for a question; nothing is searched for if it `answers` and a check replies to the message.

        A model that rewrites the question is called in a thread of the pool; ServiceError if that fails.
        """
        began, known = time.perf_counter(), tuple(earlier) if scope.everything else ()
        query, pipeline = Query(answer_id(), question, tuple(history), earlier=known), model.batcher.pipeline
        if answers and pipeline.reading.replies(query):
            return cls(model, query, SearchResult(pipeline, pipeline.trace_to_answer(query), {}), began, scope)
        try:
            return cls(model, query, await _searched(model, query, scope, pool), began, scope)
        except ServiceError as error:
            raise _upstream(error) from error

    @property
    def id(self) -> str:
        """The id of the answer."""
        return self.query.query_id

    @property
    def found(self) -> tuple[Found, ...]:
        """What this question adds to what its session found; nothing within a scope, which later questions may not have."""
        if not self.scope.everything:
            return ()
        return self.result.pipeline.earlier(self.query, self.result.trace)[len(self.query.earlier) :]

    def passages(self, k: int | None = None) -> list[FoundPassage]:
        """The first `k` passages that were found, by default as many as are read for an answer."""
        pipeline = self.result.pipeline
        return found_passages(pipeline.corpus, self.result.trace, k or pipeline.k)

    def passages_read(self) -> list[FoundPassage]:
        """The passages in the prompt, by the numbers that cite them; they are known once the first piece has come."""
        found, read = self.passages(), [chunk_text(chunk) for chunk in self.generator.read]
        whole = [found[place] for each in read if (place := holder(found, each)) is not None]
        # A passage may be shortened, and keeps its section.
        rows = enumerate(zip(whole, read, strict=True), 1)
        return [{**passage, **each, "section": passage["section"], "number": number} for number, (passage, each) in rows]

    def _head(self) -> response_models.Head:
        """The id, the model and its bundle, and the seconds by step so far."""
        timings = {**self.result.seconds, **self.clock.seconds, "total": time.perf_counter() - self.began}
        bundle = self.model.bundle
        head: response_models.Head = {"id": self.id, "model": self.model.name, "bundle": bundle.digest, "timings": timings}
        if bundle.stand_ins:
            head["stand_ins"] = bundle.stand_ins
        return head

    def search_json(self, k: int | None) -> response_models.Searched:
        """The result of a search."""
        found: response_models.Searched = {**self._head(), "question": self.query.text, "passages": self.passages(k)}
        note_response(found)
        return found

    async def pieces(self, pool: ThreadPoolExecutor, early: bool = False) -> AsyncIterator[str]:
        """Generate the answer and yield its pieces as they come; `answer` is set at the end.

        Generation stops if the caller closes the iterator. With `early` the caller shows `answer` instead of the pieces at the
        end (see `Pipeline.answer_from`).
        """
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        pipeline = replace(self.result.pipeline, generator=self.generator)

        def hear(piece: str) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, piece)

        def generate() -> Answer:
            return pipeline.answer_from(self.query, self.result.trace, hear, (), self.clock, early, self._same, self.edited)

        work = loop.run_in_executor(pool, copy_context().run, generate)
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (piece := await queue.get()) is not None:
                if piece:
                    note_first_piece()
                    yield piece
            self.answer = await work
        except ServiceError as error:
            raise _upstream(error) from error
        finally:
            self.stop()
            # Retrieves the exception of work that no caller waits for, so that asyncio does not log it.
            work.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())

    def take(self, edited: Sequence[Message], read: Sequence[str], preview: bool) -> None:
        """Send edited messages, if the prompt has the passages `read`; with `preview` ask no model. UserError as `checked`."""
        self.edited, self.read, self.preview = checked(edited) if edited else (), read, preview
        if preview:
            self.generator = Stoppable(self.result.pipeline.generator, unasked=True)

    def _same(self, passages: Ranking) -> None:
        """UserError where edited messages were made of other passages: their numbers would mean these."""
        if self.edited and [hit.chunk.chunk_id for hit in passages] != [*self.read]:
            raise UserError("prompt", "was made of other passages than those found now", "compose it anew: preview=true")

    def stop(self) -> None:
        """Cancel generation."""
        self.generator.stop()

    async def complete(self, pool: ThreadPoolExecutor) -> None:
        """Generate the whole answer."""
        async for _ in self.pieces(pool):
            pass

    def answer_json(self, show: Collection[str] = ()) -> response_models.Answer:
        """The answer; RuntimeError if it is not complete. `show` adds `trace` or `prompt`."""
        if self.answer is None:
            raise RuntimeError("the answer is not complete")
        pipeline, trace = self.result.pipeline, self.result.trace
        answer: response_models.Answer = {
            **self._head(),
            **answer_json(self.answer, trace.sought, pipeline.corpus),
            "proposed_lock": proposed(pipeline, self.query.text),
            "session": None,
            "turn": None,
        }
        if "trace" in show:
            answer["trace"] = {"passages": passage_fates(pipeline, trace, self.answer), "thoughts": self.answer.reply.thoughts}
        if "prompt" in show:
            answer["prompt"] = [{"role": each.role, "content": each.content} for each in self.generator.sent]
        answer["sought"]["note"] = own_words(answer["sought"]["note"])
        for step in answer["look"]["steps"] if "look" in answer else ():
            step["failure"] = own_words(step["failure"])
        note_response(answer)
        return answer


async def _searched(model: Model, query: Query, scope: Scope, pool: ThreadPoolExecutor) -> SearchResult:
    rewriter, clock = model.batcher.pipeline.queries, Clock()
    if not isinstance(rewriter, KnownQueries) or scope.whole is not None:
        return await model.batcher.search_with_steps(query, scope)
    with clock.step("rewrite"):
        work = partial(rewrite, rewriter.rewriter, [query])
        (sought,) = await asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work)
    with rewriter.expecting(query, sought):
        result = await model.batcher.search_with_steps(query, scope)
    return replace(result, seconds={**result.seconds, **clock.seconds})


def _upstream(error: ServiceError) -> ServiceError:
    """The error of a model's server without its words, and without its address, which is logged; a RefusalError stays one."""
    LOG.warning("a model's server failed: %s: %s", error.where, own_words(error.what))
    kind = RefusalError if isinstance(error, RefusalError) else UpstreamError
    found = kind("model", own_words(error.what), error.remedy)
    found.wait = error.wait
    return found
