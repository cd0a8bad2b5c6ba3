"""Ask a bundle its golden questions again: proof that it answers as it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag.bundle import golden_cases
from rag.bundle.differences import Replay
from rag.bundle.golden_cases import Case, cases_of
from rag.bundle.open_bundle import Bundle
from rag.core.errors import RefusalError
from rag.core.records.queries import Routed
from rag.core.records.sets import RecordSet
from rag.core.roles import Memory, Rewriter, Router
from rag.core.types import Query, Recalled, Sought
from rag.pipeline.pipeline import Pipeline, Trace


def replay(bundle: Bundle) -> Replay:
    """Ask an opened bundle its golden questions, and compare the results with the measured ones.

    No model behind an endpoint is asked: its recorded texts are used instead. A question without these is left out.
    """
    result = Replay()
    cases = [case for case in cases_of(bundle) if _is_recorded(case, bundle.config, result)]
    repeats = not golden_cases.asks([bundle.config[role] for role in golden_cases.ANSWERING])
    pipeline = _with_records(bundle.pipeline, cases)
    traces = pipeline.traces([case.query for case in cases]) if cases else []
    for case, trace in zip(cases, traces, strict=True):
        chunk_ids = tuple(hit.chunk.chunk_id for hit in pipeline.contexts(trace))
        result.compare(case, "passages", case.retrieved, chunk_ids)
        if case.prompt is None:
            continue
        prepared = pipeline.prepare(case.query, trace)
        result.compare(case, "prompt", case.prompt, golden_cases.prompt_of(prepared))
        if case.answer is not None and (repeats or not prepared.asks):
            _compare_answer(result, case, pipeline, trace)
    return result


def _is_recorded(case: Case, config: Mapping[str, Any], result: Replay) -> bool:
    """Whether a case holds all that models wrote before its answer; a memory is used only if there is a prompt."""
    lacks_search = case.sought is None and golden_cases.asks(config["queries"])
    lacks_memory = case.recalled is None and case.prompt is not None and golden_cases.asks(config["memory"])
    lacks_route = case.routed is None and golden_cases.asks(config["route"])
    if (
        lacks := lacks_search
        or lacks_memory
        or lacks_route
        or golden_cases.asks([config[role] for role in ("policy", "shape", "condense")])
    ):
        result.leave_out("what a model said is not recorded")
    return not lacks


def _compare_answer(result: Replay, case: Case, pipeline: Pipeline, trace: Trace) -> None:
    try:
        answer = pipeline.answer_from(case.query, trace)
    except RefusalError as error:
        result.compare(case, "answer", case.answer, str(error))
        return
    result.compare(case, "contexts", case.contexts, tuple(hit.chunk.chunk_id for hit in answer.contexts))
    result.compare(case, "answer", case.answer, answer.reply.text)


@dataclass(frozen=True)
class _RecordedRewriter:
    """Returns recorded searches, and asks another rewriter for the rest."""

    sought: Mapping[Query, Sought]
    other: Rewriter

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        return [self.sought.get(query) or self.other.rewrite([query])[0] for query in queries]


@dataclass(frozen=True)
class _RecordedMemory:
    """Returns recorded memories, and asks another memory for the rest."""

    recalled: Mapping[Query, Recalled]
    other: Memory

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return [self.recalled.get(query) or self.other.recall([query])[0] for query in queries]


@dataclass(frozen=True)
class _RecordedRouter:
    """Returns recorded routes, and asks another router for the rest."""

    routed: Mapping[Query, Routed]
    other: Router

    def route(self, queries: Sequence[Query], records: RecordSet) -> list[Routed]:
        return [self.routed.get(query) or self.other.route([query], records)[0] for query in queries]


def _with_records(pipeline: Pipeline, cases: Sequence[Case]) -> Pipeline:
    sought = {case.query: case.sought for case in cases if case.sought}
    recalled = {case.query: case.recalled for case in cases if case.recalled}
    reading = replace(pipeline.reading, memory=_RecordedMemory(recalled, pipeline.reading.memory))
    routed = {replace(case.query, text=case.sought.question if case.sought else case.query.text): case.routed for case in cases}
    routes = {query: route for query, route in routed.items() if route}
    router = _RecordedRouter(routes, pipeline.router) if routes and pipeline.router else pipeline.router
    return replace(pipeline, queries=_RecordedRewriter(sought, pipeline.queries), router=router, reading=reading)
