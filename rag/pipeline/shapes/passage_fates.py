"""What happened to every candidate passage of a question: it was read, or dropped at some step for some reason."""

from collections.abc import Sequence

from rag.core.corpus import Corpus
from rag.core.roles import QuestionSelector
from rag.core.types import Answer, Finding
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.prompt.context_packing import Passage, passages
from rag.pipeline.search.steps import select
from rag.pipeline.shapes.answer_json import Places, answer_json, chunk_text, holder, places_by_step, steps_of
from rag.pipeline.shapes.json_shapes import PassageFate, PassageTrace, PipelineAnswer

CANDIDATES = 20
"""A passage within so many first ranks of any step is a candidate; further ones are not listed."""


def traced_answer(pipeline: Pipeline, trace: Trace, answer: Answer) -> PipelineAnswer:
    """An answer with the fates of its candidates in `trace`: what `rag ask --json` prints."""
    traced: PassageTrace = {"passages": passage_fates(pipeline, trace, answer), "thoughts": answer.reply.thoughts}
    return {**answer_json(answer, trace.sought, pipeline.corpus), "trace": traced}


def passage_fates(pipeline: Pipeline, trace: Trace, answer: Answer) -> list[PassageFate]:
    """The passages that were read, by number, then the others in the order of the last step that ranked them."""
    places = places_by_step(trace)
    found = passages(trace.selected.first(pipeline.k), 0, pipeline.corpus)
    own = {position: passage.chunk(pipeline.corpus).chunk_id for passage in found for position in passage.positions}
    numbers = _numbers(pipeline.corpus, found, answer)
    fates = [_fate(pipeline, places, answer, numbers, own, position) for position in _candidates(places, pipeline.k)]
    for fate in fates:
        if not fate["kept"] and (why := _gated(pipeline, trace, pipeline.corpus.position(fate["chunk"]))):
            fate["why"] = why
    return sorted(fates, key=lambda fate: (fate["number"] is None, fate["number"] or 0))


def _numbers(corpus: Corpus, found: Sequence[Passage], answer: Answer) -> dict[int, int]:
    """The number of the source that shows a chunk, by position."""
    whole, numbers = [chunk_text(passage.chunk(corpus)) for passage in found], dict[int, int]()
    for number, hit in enumerate(answer.contexts, 1):
        if (place := holder(whole, chunk_text(hit.chunk))) is not None:
            span = hit.chunk.span
            shown = (each for each in found[place].positions if corpus.start[each] < span.end and span.start < corpus.end[each])
            numbers |= dict.fromkeys(shown, number)
    return numbers


def _candidates(places: Places, k: int) -> list[int]:
    """Positions among the first of any step, the latest step first."""
    most = max(k, CANDIDATES)
    seen = (position for name in reversed(list(places)) for position, (rank, _) in places[name].items() if rank <= most)
    return list(dict.fromkeys(seen))


def _fate(
    pipeline: Pipeline, places: Places, answer: Answer, numbers: dict[int, int], own: dict[int, str], position: int
) -> PassageFate:
    """`numbers` are those of the sources that show a chunk, `own` the ids of the passages that hold it, both by position."""
    chunk = pipeline.corpus.chunk(position)
    number = numbers.get(position)
    found = own.get(position, chunk.chunk_id)
    why = f"read as source {number}" if number else _reason(pipeline, places, position, found, answer.findings)
    steps = steps_of(places, position)
    return {**chunk_text(chunk), "number": number, "kept": number is not None, "why": why, "steps": steps}


def _reason(pipeline: Pipeline, places: Places, position: int, chunk_id: str, findings: Sequence[Finding]) -> str:
    """Why a passage was not read."""
    last = list(places)[-1]
    if position not in places[last]:
        return _dropped(places, position)
    rank, k = places[last][position][0], pipeline.k
    if rank > k:
        return f"{_after(last)} it is passage {rank}, and the first {k} are read"
    guards = [one for one in findings if one.action == "quarantine" and one.passage == chunk_id]
    if guards:
        return "quarantined by " + "; ".join(dict.fromkeys(f"{finding.source}: {finding.what}" for finding in guards))
    return f"no room within {pipeline.reading.context_tokens} tokens" if pipeline.reading.context_tokens else "not shown"


def _gated(pipeline: Pipeline, trace: Trace, position: int) -> str:
    """Which selector dropped a passage that it compared with the question, and why; empty if none did."""
    ranking, question = trace.reranked, trace.sought.question
    for name, selector in pipeline.selectors.items():
        if (
            isinstance(selector, QuestionSelector)
            and position in ranking.placed(0)
            and (why := selector.reason(question, position, ranking, pipeline.corpus))
        ):
            return f"dropped by {name}: {why}"
        ranking = select({name: selector}, ranking, pipeline.corpus, [question])
    return ""


def _dropped(places: Places, position: int) -> str:
    """Which step dropped a passage that an earlier one had ranked."""
    names = list(places)
    latest = max(number for number, name in enumerate(names) if position in places[name])
    following = next(name for name in ("fused", "reranked", "selected") if name in names[latest + 1 :])
    rank = places[names[latest]][position][0]
    step = {"fused": "fusion", "reranked": "the reranker", "selected": "the selector"}[following]
    return f"dropped by {step}: {_after(names[latest])} it was passage {rank}"


def _after(step: str) -> str:
    return {"fused": "after fusion", "reranked": "after reranking", "selected": "after selection"}.get(step, f"in {step}")
