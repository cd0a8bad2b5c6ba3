"""What each stage does with its inputs: stored arrays in, a step of the pipeline or of the evaluation, arrays out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from rag.core.assessments import Spent
from rag.core.errors import RefusalError
from rag.core.rankings import NOTHING
from rag.core.records import Answer, Sought, Vectors
from rag.core.text.final_answer import awaited
from rag.evaluation import scoring
from rag.evaluation.answer_judging import AskingMetric, asked_of, assess, counted
from rag.execution.graph import ablation_inputs
from rag.execution.graph.open_pipeline import open_pipeline, several
from rag.execution.graph.stage_inputs import Job, entry_of_contexts, entry_of_corpus, entry_of_rankings, rankings_of
from rag.execution.store.serialisation import json_values, replies_of
from rag.execution.store.store import Entry
from rag.pipeline import live_history, postprocess, steps, unread_text
from rag.pipeline.prompt_assembly import Prepared, screen


def run_chunk(job: Job) -> Entry:
    """Documents → chunks."""
    corpus = steps.chunk(job.components.build(job.nodes["chunker"], "chunker"), job.golden.documents)
    return Entry({"doc": corpus.doc, "start": corpus.start, "end": corpus.end})


def run_uncut(job: Job) -> Entry:
    """Chunks and gold → chunks that cut no gold."""
    return entry_of_corpus(ablation_inputs.uncut(job.corpus, job.golden.examples))


def run_embed(job: Job) -> Entry:
    """Chunks → unit vectors, and the share of the chunks that the embedder does not read."""
    embedder, texts = job.embedder(), job.corpus.texts
    return Entry({"vectors": steps.embed_documents(embedder, texts)}, {"unread": unread_text.unread(embedder, texts)})


def run_rewrite(job: Job) -> Entry:
    """Questions with their earlier turns → what is searched for."""
    rewriter = job.components.build(job.nodes["queries"], "queries")
    return Entry(meta={"sought": json_values(steps.rewrite(rewriter, job.queries))})


def run_converse(job: Job) -> Entry:
    """Questions in conversations → their histories with the answers that the pipeline itself gives."""
    opened = open_pipeline(job.nodes, job.values, job.corpus, job.inputs, job.components)
    opened = replace(opened, embedder=job.embedder(), reranker=job.reranker(), generator=job.generator())
    histories = live_history.lived(job.golden.examples, partial(live_history.answers, opened))
    return Entry(meta={"histories": [json_values(history) for history in histories]})


def run_embed_queries(job: Job) -> Entry:
    """What is searched for → unit vectors."""
    return Entry({"vectors": steps.embed_queries(job.embedder(), job.texts)})


def run_index(job: Job) -> Entry:
    """Chunks or their vectors → an index's arrays."""
    index = job.components.build(job.nodes["index"], "index")
    vectors: Vectors | None = None
    texts: Sequence[str] = ()
    if index.uses_vectors:
        vectors = job.inputs["vectors"].arrays["vectors"]
    else:
        texts = job.corpus.texts
    return Entry(dict(index.build(texts, vectors)))


def run_search(job: Job) -> Entry:
    """An index and questions → rankings."""
    searcher = job.components.build(job.nodes["index"], "index").open(job.inputs["index"].arrays)
    vectors = job.inputs["vectors"].arrays["vectors"] if "vectors" in job.inputs else None
    found = searcher.search(job.texts, vectors, job.values["depth"])
    return entry_of_rankings(steps.gathered(found, job.sought, job.values["depth"]))


def run_fuse(job: Job) -> Entry:
    """Rankings of several indexes → one."""
    fusion = job.components.build(job.nodes["fusion"], "fusion")
    found = {name: rankings_of(job.inputs[name]) for name in job.values["names"]}
    return entry_of_rankings(steps.fuse(fusion, found, job.values["depth"]))


def run_rerank(job: Job) -> Entry:
    """Rankings → rankings, their heads in a new order, and the share of the heads that the reranker does not read."""
    ranking, corpus, depth = job.ranking, job.corpus, job.values["rerank_depth"]
    found = steps.rerank(job.reranker(), [sought.question for sought in job.sought], ranking, corpus, depth)
    seen = [corpus.text(place) for place in np.unique(ranking.first(depth).positions).tolist() if place != NOTHING]
    reranker = job.components.build(job.nodes["reranker"], "reranker")
    return Entry(entry_of_rankings(found).arrays, {"unread": unread_text.unread(reranker, seen)})


def run_select(job: Job) -> Entry:
    """Rankings → fewer or wider rankings."""
    return entry_of_rankings(steps.select(several(job.nodes["selectors"], job.components), job.ranking, job.corpus))


def run_shuffle(job: Job) -> Entry:
    """Rankings → rankings, each of another question."""
    return entry_of_rankings(ablation_inputs.of_another(job.ranking, job.golden.examples))


def run_no_contexts(job: Job) -> Entry:
    """Questions → nothing to read."""
    return entry_of_contexts(*ablation_inputs.no_contexts(job.golden.documents, len(job.golden.examples)))


def run_gold_contexts(job: Job) -> Entry:
    """Chunks and gold → the gold, as chunks and rankings."""
    return entry_of_contexts(*ablation_inputs.gold_contexts(job.corpus, job.golden.examples, job.values["depth"]))


def run_screen(job: Job) -> Entry:
    """The first k hits → those passages that a model may read, and what screens found in them."""
    screens = several(job.nodes["screens"], job.components)
    return Entry(meta={"screened": json_values(screen(screens, job.queries, job.ranking.first(job.values["k"]), job.corpus))})


def run_generate(job: Job) -> Entry:
    """What may be read → replies, and the passages that they were made from; none where a screen abstains.

    A question whose request is refused for good has no reply and a reason in `failures`; where all are, the stage fails.
    """
    prepared = job.prepared()
    given = job.generator().generate([one.request for one in prepared if one.request])
    if given and all(reply.failure for reply in given):
        raise RefusalError.of(given[0].failure)
    replies = iter(given)
    by_question = [next(replies) if each.request else None for each in prepared]
    kept = json_values(None if reply and reply.failure else reply for reply in by_question)
    failures = {str(number): asdict(reply) for number, reply in enumerate(by_question) if reply and reply.failure}
    recalled = [{"tokens": each.recalled.tokens, "cost": each.recalled.cost} for each in prepared]
    return Entry(meta={"replies": kept, "failures": failures, "recalled": recalled, **_read(prepared)})


def _read(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The passages of every question that went into its prompt, where they end as shown, and those that had no room."""
    ends = [[chunk.span.end for chunk in one.chunks] for one in prepared]
    return {
        "read": json_values(one.read for one in prepared),
        "ends": ends,
        "left_out": json_values(one.left_out for one in prepared),
    }


def run_check(job: Job) -> Entry:
    """Replies → answers as people read them, with what checks and guards found."""
    prepared, replies = job.prepared(), replies_of(job.inputs["generate"].meta)
    prompt, generator = (job.components.build(job.nodes[role], role) for role in ("prompt", "generator"))
    rows = list(zip(prepared, replies, strict=True))
    requests = [each.request for each, reply in rows if each.request and reply]
    given = [reply for each, reply in rows if each.request and reply]
    inspections, final = several(job.nodes["inspections"], job.components), awaited(prompt, generator)
    checked = iter(postprocess.check(inspections, requests, given, job.generator(), prompt.refusal, final))
    unasked, refused = postprocess.unasked(prompt.refusal, ()), [one.request and not reply for one, reply in rows]
    done = [None if lost else next(checked) if one.request else unasked for one, lost in zip(prepared, refused, strict=True)]
    pairs = zip(prepared, done, strict=True)
    told = [one and replace(one, findings=(*before.screened.findings, *one.findings)) for before, one in pairs]
    return Entry(meta={"answers": json_values(told), **_read(prepared)})


def run_assess(job: Job) -> Entry:
    """Answers → what a judge says of them."""
    answers, needs = job.answers() or [], job.values["needs"]
    found = assess(job.judge(), answers, needs)
    return Entry(meta={"assessments": json_values(found), **asdict(counted(found, answers, needs))})


def run_gold(job: Job) -> Entry:
    """Chunks and gold → which chunk holds which gold."""
    return Entry(scoring.gold_table(job.corpus, job.golden.examples, job.values["coverage"]).to_arrays())


def run_judge(job: Job) -> Entry:
    """Rankings and gold → what the metrics read."""
    table = scoring.Gold.from_arrays(job.inputs["gold"].arrays)
    return Entry(scoring.judge(job.ranking, table).to_arrays())


def run_score(job: Job) -> Entry:
    """What the metrics read → scores per question, and their means with intervals."""
    metrics = {name: job.components.build(node, f"metric.{name}") for name, node in job.nodes["metrics"].items()}
    judged = scoring.Judged.from_arrays(job.inputs["judge"].arrays)
    columns, k, examples, answers = job.values["columns"], job.values.get("k", 1), job.golden.examples, job.answers()
    scores = scoring.score(judged, answers, examples, metrics, columns, k, assessments=job.assessments())
    asked = {name: metric for name, metric in metrics.items() if answers and isinstance(metric, AskingMetric)}
    values = {name: scores.column(name).tolist() for name in asked}
    counts = {name: asdict(asked_of(metric, values[name], examples, answers or ())) for name, metric in asked.items()}
    return Entry(scores.to_arrays(), {"summary": scoring.summarise(scores, examples).to_json(), "asked": counts})


def run_latency(job: Job) -> Entry:
    """Seconds of single questions through the whole pipeline, warm: each is asked once before it is timed.

    Nothing is read from a store on the way: what is timed is what is served, and a model is paid for it. Questions that are
    refused for good are not timed.
    """
    answering = open_pipeline(job.nodes, job.values, job.corpus, job.inputs, job.components.without_inner)
    sample = job.golden.examples[:: max(1, len(job.golden.examples) // job.values["latency"])][: job.values["latency"]]
    seconds, spent, refused = [], Spent(), ""
    for example in sample:
        try:
            warm = answering.answer(example.query)
            began = time.perf_counter()
            timed = answering.answer(example.query)
        except RefusalError as error:
            refused = str(error)
            continue
        seconds.append(time.perf_counter() - began)
        spent += sum(map(_took, (warm, timed)), Spent())
    if refused and not seconds:
        raise RefusalError.of(refused)
    return Entry({"seconds": np.array(seconds)}, {"spent": asdict(spent)})


def _took(answer: Answer) -> Spent:
    """What an answer took of models; `sought` says what rewriting did."""
    reply, sought = answer.reply, answer.sought or Sought("", ())
    return Spent(reply.prompt_tokens + reply.completion_tokens + sought.tokens, reply.cost + sought.cost)


RUNNERS: Mapping[str, Callable[[Job], Entry]] = {
    "chunk": run_chunk,
    "uncut": run_uncut,
    "embed": run_embed,
    "converse": run_converse,
    "rewrite": run_rewrite,
    "embed queries": run_embed_queries,
    "index": run_index,
    "search": run_search,
    "fuse": run_fuse,
    "rerank": run_rerank,
    "select": run_select,
    "shuffle": run_shuffle,
    "no contexts": run_no_contexts,
    "gold contexts": run_gold_contexts,
    "screen": run_screen,
    "generate": run_generate,
    "check": run_check,
    "assess": run_assess,
    "gold": run_gold,
    "judge": run_judge,
    "score": run_score,
    "latency": run_latency,
}
