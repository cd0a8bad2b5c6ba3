"""One function per stage: stored arrays in, a step of the pipeline or of the evaluation, arrays out.

The function `run_embed_queries` runs the stage `embed queries`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rag.core.encoded_passages import joined, rounded
from rag.core.errors import RefusalError
from rag.core.progress import blocks
from rag.core.rankings import NOTHING, Rankings
from rag.core.records.sets import united
from rag.core.roles import is_costly
from rag.core.text.final_answer import awaited
from rag.core.types import Reply
from rag.evaluation import scoring
from rag.evaluation.answer_judging import assess, counted
from rag.execution.graph import ablation_inputs, link_stages, score_stages
from rag.execution.graph.stage_inputs import Job, entry_of_contexts, entry_of_corpus, entry_of_rankings, rankings_of
from rag.execution.store.serialisation import json_values, looks_of, replies_of
from rag.execution.store.store import Entry
from rag.pipeline.prompt import postprocess
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.prompt.prompt_assembly import Prepared
from rag.pipeline.prompt.refusal_wording import worded
from rag.pipeline.search import steps, unread_text


def run_chunk(job: Job) -> Entry:
    """Documents → chunks."""
    return entry_of_corpus(steps.chunk(job.build("chunker"), job.golden.documents))


def run_passage(job: Job) -> Entry:
    """Chunks → chunks with the texts that indexes, embedder and reranker read; what a model took, and how often it failed."""
    writer = job.build("passage")
    corpus, failed, spent = steps.passages(writer, job.corpus)
    meta = {"failed": len(failed), "first": next(iter(failed), ""), **asdict(spent)}
    return Entry(entry_of_corpus(corpus).arrays, {"written": meta} if is_costly(writer) else {})


def run_uncut(job: Job) -> Entry:
    """Chunks and gold → chunks that cut no gold."""
    return entry_of_corpus(ablation_inputs.uncut(job.corpus, job.golden.examples))


def run_embed(job: Job) -> Entry:
    """Chunks → unit vectors, and the share of the chunks that the embedder does not read."""
    embedder, texts = job.embedder(), job.corpus.index_texts
    return Entry({"vectors": steps.embed_documents(embedder, texts)}, {"unread": unread_text.unread(embedder, texts)})


def run_embed_tokens(job: Job) -> Entry:
    """Chunks → the vectors of their tokens, which rerankers compare."""
    # Few at once: before they are rounded, they take four times the memory.
    parts = map(job.embedder().token_vectors, blocks(job.corpus.index_texts, "token vectors", 64))
    return Entry(joined([rounded(vectors) for part in parts for vectors in part]))


def run_rewrite(job: Job) -> Entry:
    """Questions with their earlier turns → search texts."""
    return Entry(meta={"sought": json_values(steps.rewrite(job.build("queries"), job.queries))})


def run_enrich(job: Job) -> Entry:
    """Documents → records."""
    enrichers = job.several("enrich").values()
    made = united([each.enrich(job.golden.documents) for each in enrichers])
    unusable = len({each.doc_id for each in made.failures if each.of_reply})
    meta = {"failed": len(made.failures), "unusable": unusable, "tokens": made.tokens, "cost": made.cost}
    return Entry(meta={"records": made.to_json()} | ({"enriched": meta} if any(map(is_costly, enrichers)) else {}))


def run_roster(job: Job) -> Entry:
    """Records → records with the fields of an authoritative table."""
    return Entry(meta={"records": job.build("roster").join(job.records).to_json()})


def run_embed_queries(job: Job) -> Entry:
    """Search texts → unit vectors."""
    return Entry({"vectors": steps.embed_queries(job.embedder(), job.texts)})


def run_index(job: Job) -> Entry:
    """Chunks or their vectors → the arrays of an index."""
    index = job.build("index")
    return Entry(dict(index.build(() if index.uses_vectors else job.corpus.index_texts, job.vectors)))


def run_search(job: Job) -> Entry:
    """An index and questions → rankings."""
    searcher = job.build("index").open(job.inputs["index"].arrays)
    # In most trials all chunks may be found, and none are read here.
    allowed = link_stages.scopes(job, link_stages.opened(job)) if "corpus" in job.inputs else [None] * len(job.sought)
    return entry_of_rankings(steps.searched(searcher, job.sought, job.vectors, job.values["depth"], allowed))


def run_fuse(job: Job) -> Entry:
    """Rankings of several indexes → one."""
    rankings = {name: rankings_of(job.inputs[name]) for name in job.values["names"]}
    return entry_of_rankings(steps.fuse(job.build("fusion"), rankings, job.values["depth"]))


def run_rerank(job: Job) -> Entry:
    """Rankings → rankings, their heads in a new order, and the share of the heads that the reranker does not read."""
    ranking, corpus, depth = job.ranking, job.corpus, job.values["rerank_depth"]
    reranked = steps.rerank(job.reranker(), [sought.question for sought in job.sought], ranking, corpus, depth)
    heads = [corpus.index_text(place) for place in np.unique(ranking.first(depth).positions).tolist() if place != NOTHING]
    unread = unread_text.unread(job.build("reranker"), heads)
    return Entry(entry_of_rankings(reranked).arrays, {"unread": unread})


def run_select(job: Job) -> Entry:
    """Rankings → fewer or wider rankings."""
    questions, pipeline = [sought.question for sought in job.sought], link_stages.opened(job)
    ranking = job.ranking if "ranking" in job.inputs else Rankings.pack([[]] * len(questions))  # Files are read as a whole.
    allowed = link_stages.scopes(job, pipeline)
    return entry_of_rankings(steps.select(pipeline.selectors, ranking, job.corpus, questions, allowed))


def run_shuffle(job: Job) -> Entry:
    """Rankings → rankings, each of another question."""
    return entry_of_rankings(ablation_inputs.of_another(job.ranking, job.golden.examples))


def run_no_contexts(job: Job) -> Entry:
    """Questions → empty contexts."""
    return entry_of_contexts(*ablation_inputs.no_contexts(job.golden.documents, len(job.golden.examples)))


def run_gold_contexts(job: Job) -> Entry:
    """Chunks and gold → the gold passages, as chunks and rankings."""
    return entry_of_contexts(*ablation_inputs.gold_contexts(job.corpus, job.golden.examples, job.values["depth"]))


def run_system(job: Job) -> Entry:
    """Questions → the passages and replies of a system."""
    from rag.execution.graph.system_stages import answered  # most sweeps have no system

    return answered(job)


def run_place(job: Job) -> Entry:
    """What a system returned → chunks and rankings of its passages."""
    from rag.execution.graph.system_stages import placed

    return placed(job)


def run_screen(job: Job) -> Entry:
    """The first k hits → the passages that a model may read, and the findings of screens."""
    excerpts = Excerpts(job.values["k"], screens=job.several("screens"), locked="lock" in job.values)
    found = excerpts.screen(job.queries, job.ranking, job.corpus, looks_of(job.inputs["ranking"].meta))
    return Entry(meta={"screened": json_values(found)})


def run_generate(job: Job) -> Entry:
    """Passages → replies, and the passages behind each; no reply where a screen abstains. Records answer without a model.

    A question whose request is refused for good has no reply and a reason in `failures`; the stage fails if all are refused.
    """
    prepared = job.prepared()
    asked = [each.request for each in prepared if each.request and each.asks]
    if "system" in job.inputs:
        from rag.execution.graph.system_stages import replies_given

        known = zip(prepared, replies_given(job), strict=True)
        given = [reply for each, reply in known if each.asks]
    else:
        generator = job.generator()
        given = getattr(generator, "at_once", generator.generate)(asked)
    if given and all(reply.failure for reply in given):
        raise RefusalError.of(given[0].failure)
    replies = iter(given)
    by_question = [next(replies) if each.asks else each.reply for each in prepared]
    kept = json_values(None if reply and reply.failure else reply for reply in by_question)
    failures = {str(number): asdict(reply) for number, reply in enumerate(by_question) if reply and reply.failure}
    recalled = [{"tokens": each.recalled.tokens, "cost": each.recalled.cost} for each in prepared]
    return Entry(meta={"replies": kept, "failures": failures, "recalled": recalled, **_read(prepared)})


def _read(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """By question: the passages in its prompt, where they end there, and the passages without room."""
    ends = [[chunk.span.end for chunk in each.chunks] for each in prepared]
    return {
        "read": json_values(each.read for each in prepared),
        "ends": ends,
        "left_out": json_values(each.left_out for each in prepared),
    }


def run_check(job: Job) -> Entry:
    """Replies → the final answers, with the findings of checks and guards."""
    prepared, replies = job.prepared(), replies_of(job.inputs["generate"].meta)
    prompt, generator = (job.build(role) for role in ("prompt", "generator"))
    rows = list(zip(prepared, replies, strict=True))
    asked = [(each.request, reply) for each, reply in rows if each.request and each.asks and reply]
    requests, given = [request for request, _ in asked], [reply for _, reply in asked]
    inspections, known = job.several("inspections"), (awaited(prompt, generator), getattr(prompt, "inputs", {}))
    checked = iter(postprocess.check(inspections, requests, given, job.generator(), prompt.refusal, *known))

    def done(each: Prepared, reply: Reply | None) -> postprocess.Checked | None:
        if each.request is None:
            return postprocess.unasked(each.screened.reply or prompt.refusal)
        if each.reply:
            return postprocess.stated(inspections, each.request, each.reply, prompt.refusal)
        return next(checked) if reply else None

    said = (prompt.refusal, getattr(prompt, "answers", {}))
    whole = ((each, query, done(each, reply)) for (each, reply), query in zip(rows, job.queries, strict=True))
    pairs = ((each, made and worded(made, each, query, *said)) for each, query, made in whole)
    answers = [each and replace(each, findings=(*before.screened.findings, *each.findings)) for before, each in pairs]
    looks = {"looks": json_values(each.look for each in prepared)} if any(each.look for each in prepared) else {}
    return Entry(meta={"answers": json_values(answers), **_read(prepared), **looks})


def run_assess(job: Job) -> Entry:
    """Answers → their assessments by a judge."""
    answers, needs = job.answers() or [], job.values["needs"]
    language = job.values.get("language", "english")
    assessments = assess(job.judge(), answers, needs, job.golden.examples, language)
    return Entry(meta={"assessments": json_values(assessments), **asdict(counted(assessments, answers, needs))})


def run_gold(job: Job) -> Entry:
    """Chunks and gold → which chunk covers which gold."""
    return Entry(scoring.gold_table(job.corpus, job.golden.examples, job.values["coverage"]).to_arrays())


def run_judge(job: Job) -> Entry:
    """Rankings and gold → the table that ranking metrics read."""
    table = scoring.Gold.from_arrays(job.inputs["gold"].arrays)
    judged = scoring.judge(job.ranking, table)
    return Entry(judged.to_arrays(), {"read": scoring.reading(judged)})


RUNNERS: Mapping[str, Callable[[Job], Entry]] = {
    **link_stages.LINK_RUNNERS,
    **score_stages.SCORE_RUNNERS,
    **{name.removeprefix("run_").replace("_", " "): run for name, run in list(globals().items()) if name.startswith("run_")},
}
"""The function of every stage, by the name of the stage."""
