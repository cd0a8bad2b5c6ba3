"""Proof that a bundle answers as it was measured: its golden questions, asked again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.bundle import proof
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.opened import Bundle
from rag.bundle.proof import Case, cases_of
from rag.bundle.remote import replayed_url
from rag.errors import RefusalError
from rag.pipeline import Pipeline, Trace
from rag.records import Query, Recalled, Sought

__all__ = ["Mismatch", "Replay", "replay", "replay_url", "replayed", "replayed_url"]


def replay(bundle: Bundle) -> list[Mismatch]:
    """Ask an opened bundle its golden questions: what differs from what was measured, nothing if it is in order."""
    return replayed(bundle).mismatches


def replayed(bundle: Bundle) -> Replay:
    """As `replay`, with counts. No model behind an endpoint is asked: what one said when it was measured is said again."""
    found, known = Replay(), cases_of(bundle)
    pipeline = _recorded(bundle.pipeline, known)
    traces = pipeline.traces([case.query for case in known]) if known else []
    for case, trace in zip(known, traces, strict=True):
        heads = trace.selected.first(pipeline.k).row(0)
        retrieved = tuple(pipeline.corpus.chunk(position).chunk_id for position, _ in heads)
        found.hold(case, "passages", case.retrieved, retrieved)
        if case.prompt is not None:
            found.hold(case, "prompt", case.prompt, proof.prompt_of(pipeline.prepare(case.query, trace)))
        if case.answer is not None:
            _hold_answer(found, case, pipeline, trace)
    return found


def _hold_answer(found: Replay, case: Case, pipeline: Pipeline, trace: Trace) -> None:
    try:
        answer = pipeline.answer_from(case.query, trace)
    except RefusalError as error:
        found.hold(case, "answer", case.answer, str(error))
        return
    found.hold(case, "contexts", case.contexts, tuple(hit.chunk.chunk_id for hit in answer.contexts))
    found.hold(case, "answer", case.answer, answer.reply.text)


@dataclass(frozen=True)
class _Repeated:
    """A rewriter that says what was said when the trial was measured."""

    sought: Mapping[Query, Sought]

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        return [self.sought[query] for query in queries]


@dataclass(frozen=True)
class _Remembered:
    """A memory that shows what was shown when the trial was measured."""

    recalled: Mapping[Query, Recalled]

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return [self.recalled[query] for query in queries]


def _recorded(pipeline: Pipeline, known: Sequence[Case]) -> Pipeline:
    """The pipeline with what models said on the way put in their place."""
    sought = {case.query: case.sought for case in known if case.sought}
    recalled = {case.query: case.recalled for case in known if case.recalled}
    if sought:
        pipeline = replace(pipeline, queries=_Repeated(sought))
    if recalled:
        pipeline = replace(pipeline, reading=replace(pipeline.reading, memory=_Remembered(recalled)))
    return pipeline


def replay_url(bundle: Bundle, url: str, key: str | None = None, model: str | None = None) -> list[Mismatch]:
    """As `replay`, of a server that has this bundle; errors as in `replayed_url`."""
    return replayed_url(bundle, url, key, model).mismatches
