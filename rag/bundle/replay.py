"""Proof that a bundle answers as it was measured: its golden questions, asked again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag.bundle import golden_cases
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.golden_cases import Case, cases_of
from rag.bundle.open_bundle import Bundle
from rag.bundle.remote_replay import replayed_url
from rag.core.errors import RefusalError
from rag.core.records import Query, Recalled, Sought
from rag.core.roles import Memory, Rewriter
from rag.pipeline.pipeline import Pipeline, Trace

__all__ = ["Mismatch", "Replay", "replay", "replay_url", "replayed", "replayed_url"]


def replay(bundle: Bundle) -> list[Mismatch]:
    """Ask an opened bundle its golden questions: what differs from what was measured, nothing if it is in order."""
    return replayed(bundle).mismatches


def replayed(bundle: Bundle) -> Replay:
    """As `replay`, with counts. No model behind an endpoint is asked: what one said when it was measured is said again.

    Whoever wrote the bundle wrote its golden questions: one that lacks what a model said is left out, not sent to that model.
    """
    found = Replay()
    known = [case for case in cases_of(bundle) if _is_known(case, bundle.config, found)]
    silent = not golden_cases.asks([bundle.config[role] for role in golden_cases.ANSWERING])
    pipeline = _recorded(bundle.pipeline, known)
    traces = pipeline.traces([case.query for case in known]) if known else []
    for case, trace in zip(known, traces, strict=True):
        heads = trace.selected.first(pipeline.k).row(0)
        found.hold(case, "passages", case.retrieved, tuple(pipeline.corpus.chunk(position).chunk_id for position, _ in heads))
        if case.prompt is None:
            continue
        prepared = pipeline.prepare(case.query, trace)
        found.hold(case, "prompt", case.prompt, golden_cases.prompt_of(prepared))
        if case.answer is not None and (silent or prepared.request is None):
            _hold_answer(found, case, pipeline, trace)
    return found


def _is_known(case: Case, config: Mapping[str, Any], found: Replay) -> bool:
    """Whether all is there that a model would otherwise be asked for."""
    asked = (
        case.sought is None and golden_cases.asks(config["queries"]),
        case.recalled is None and golden_cases.asks(config["memory"]),
    )
    # Where no prompt was made, nothing was remembered.
    if asked[0] or (asked[1] and case.prompt is not None):
        found.leave_out("what a model said is not recorded")
        return False
    return True


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
    """A rewriter that says what was said when the trial was measured, and else what the other one says."""

    sought: Mapping[Query, Sought]
    other: Rewriter

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        return [self.sought.get(query) or self.other.rewrite([query])[0] for query in queries]


@dataclass(frozen=True)
class _Remembered:
    """A memory that shows what was shown when the trial was measured, and else what the other one shows."""

    recalled: Mapping[Query, Recalled]
    other: Memory

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return [self.recalled.get(query) or self.other.recall([query])[0] for query in queries]


def _recorded(pipeline: Pipeline, known: Sequence[Case]) -> Pipeline:
    """The pipeline with what models said on the way put in their place."""
    sought = {case.query: case.sought for case in known if case.sought}
    recalled = {case.query: case.recalled for case in known if case.recalled}
    reading = replace(pipeline.reading, memory=_Remembered(recalled, pipeline.reading.memory))
    return replace(pipeline, queries=_Repeated(sought, pipeline.queries), reading=reading)


def replay_url(bundle: Bundle, url: str, key: str | None = None) -> list[Mismatch]:
    """As `replay`, of a server that has this bundle; errors as in `replayed_url`."""
    return replayed_url(bundle, url, key).mismatches
