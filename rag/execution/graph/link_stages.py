"""The functions of stages that open a pipeline: one link of it for questions and their passages so far, or all of it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from rag.core.assessments import Spent
from rag.core.corpus import Corpus
from rag.core.errors import RefusalError
from rag.core.looks import Look
from rag.core.rankings import Rankings, stacked
from rag.core.types import Allowed, Answer, Sought
from rag.execution.graph.open_pipeline import open_pipeline
from rag.execution.graph.stage_inputs import Job, entry_of_rankings, rankings_of
from rag.execution.store.serialisation import json_values, looks_of, sought_of
from rag.execution.store.store import Entry
from rag.pipeline.conversation import live_history
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.record_routes import scope, seen
from rag.pipeline.search.traces import Trace, Work

STAGES: Mapping[str, tuple[str, ...]] = {"look": (), "reuse": ("reuse", "merge")}
"""Stages → their links, where these are not one of the same name. The stage `look` joins a ranking with its looks."""
REUSED = ("reuse", "merge")
"""The acts of steps that use passages again."""


def opened(job: Job) -> Pipeline:
    """A pipeline of what the key of a stage holds; vectors, scores and replies of models come from the store."""
    corpus = job.corpus if "corpus" in job.inputs else Corpus.of(job.golden.documents, ())
    pipeline = open_pipeline(job.nodes, job.values, corpus, job.inputs, job.components, job.records)
    makers = {"embedder": job.embedder, "reranker": job.reranker, "generator": job.generator}
    stored: dict[str, Any] = {role: make() for role, make in makers.items() if role in job.nodes}
    return replace(pipeline, **stored)


def scopes(job: Job, pipeline: Pipeline) -> list[Allowed | None]:
    """The chunks that may be found for each question, None for all."""
    count = len(job.golden.examples)
    if "route" not in job.inputs or "records" not in job.inputs:
        return [pipeline.allowed] * count
    known = seen(pipeline.database, pipeline.corpus, pipeline.allowed)
    looks = (look or Look() for look in looks_of(job.inputs["route"].meta))
    return [scope(look, known, pipeline.corpus, pipeline.allowed) for look in looks]


def run_link(name: str, job: Job) -> Entry:
    """Questions, with what was found for them so far → the same after one more link."""
    pipeline = opened(job)
    works = _works(name, job, pipeline)
    before = [work.trace.selected for work in works]
    for link in STAGES.get(name, (name,)):
        pipeline.link(link).look(works)
    traces = [work.trace for work in works]
    meta: dict[str, Any] = {
        "sought": json_values(trace.sought for trace in traces),
        "looks": json_values(trace.look for trace in traces),
        "failed": sum(bool(trace.look and trace.look.note) for trace in traces),
    }
    if fresh := _fresh(name, job, pipeline, works, before):
        meta |= fresh
    return Entry(entry_of_rankings(stacked([trace.selected for trace in traces])).arrays, meta)


def _works(name: str, job: Job, pipeline: Pipeline) -> list[Work]:
    """The questions with their texts, looks and rankings; those that records answer have the passages of records."""
    queries, sought, entries = job.queries, job.sought, job.inputs
    typed = [Sought(query.text, (query.text,)) for query in queries]
    own = sought_of(entries["own"].meta) if "own" in entries else typed if name == "audit" else sought
    looked = next((entries[each] for each in ("looked", "route", "shape", "topic") if each in entries), None)
    looks, texts = _looks(job) or [None] * len(queries), sought_of(entries["looked"].meta) if "looked" in entries else sought
    empty, chunks = Rankings.pack([[]] * len(queries)), scopes(job, pipeline)
    found = rankings_of(entries["ranking"]) if "ranking" in entries else empty
    answered = rankings_of(looked) if looked else empty
    rows = range(len(queries))
    rankings = [(answered if (look := looks[row]) and (look.answers or look.declined) else found).only(row) for row in rows]
    traces = [Trace.at(texts[row], rankings[row], looks[row]) for row in rows]
    return [Work(queries[row], own[row], sought[row], traces[row], chunks[row]) for row in rows]


def _looks(job: Job) -> list[Look | None]:
    """The looks so far: those of the last link, or those of the shape with the route."""
    if "looked" in job.inputs:
        return looks_of(job.inputs["looked"].meta)
    shaped, routed = (looks_of(job.inputs[name].meta) if name in job.inputs else [] for name in ("shape", "route"))
    if not shaped or not routed:
        return shaped or routed or (looks_of(job.inputs["topic"].meta) if "topic" in job.inputs else [])
    rows = zip(shaped, (look or Look() for look in routed), strict=True)
    return [
        replace(look, shape=before.shape if before else None, steps=before.steps if before else ()) for before, look in rows
    ]


def _fresh(
    name: str, job: Job, pipeline: Pipeline, works: Sequence[Work], before: Sequence[Rankings]
) -> Mapping[str, dict[str, list[int]]]:
    """By row of a question that uses passages again: the first k positions of a search that does not."""
    if name != "reuse":
        kept = job.inputs["looked"].meta.get("fresh") if "looked" in job.inputs else None
        same = [str(row) for row, work in enumerate(works) if work.trace.selected is before[row]]
        return {} if kept is None else {"fresh": {row: kept[row] for row in same if row in kept}}
    rows = [row for row, work in enumerate(works) if any(step.act in REUSED for step in work.look.steps)]
    return {"fresh": {str(row): [place for place, _ in before[row].first(pipeline.k).row(0)] for row in rows}}


def run_converse(job: Job) -> Entry:
    """Questions in conversations → their histories, golden or with the answers of the pipeline itself, and what it found."""
    pipeline = opened(job)
    if job.values["history"] == "gold":
        pasts = live_history.retold(pipeline, job.golden.examples)
    else:
        pasts = live_history.lived(job.golden.examples, partial(live_history.answers, pipeline))
    earlier = [json_values(past.earlier) for past in pasts] if any(past.earlier for past in pasts) else []
    return Entry(meta={"histories": [json_values(past.history) for past in pasts], "earlier": earlier})


def run_latency(job: Job) -> Entry:
    """Seconds of single questions through the whole pipeline, warm: each is asked once before it is timed.

    The pipeline works without the store, as a server does, so models are paid for it. Questions whose requests are refused for
    good are not timed.
    """
    pipeline = open_pipeline(job.nodes, job.values, job.corpus, job.inputs, job.components.without_inner, job.records)
    sample = job.golden.examples[:: max(1, len(job.golden.examples) // job.values["latency"])][: job.values["latency"]]
    seconds, spent, refused = [], Spent(), ""
    for example in sample:
        try:
            warm = pipeline.answer(example.query)
            began = time.perf_counter()
            timed = pipeline.answer(example.query)
        except RefusalError as error:
            refused = str(error)
            continue
        seconds.append(time.perf_counter() - began)
        spent += sum(map(_took, (warm, timed)), Spent())
    if refused and not seconds:
        raise RefusalError.of(refused)
    return Entry({"seconds": np.array(seconds)}, {"spent": asdict(spent)})


def _took(answer: Answer) -> Spent:
    """Tokens and cost of an answer, with those of rewriting, of its route and of the steps of a policy."""
    reply, sought, look = answer.reply, answer.sought or Sought("", ()), answer.look or Look()
    spent = Spent(reply.prompt_tokens + reply.completion_tokens + sought.tokens, reply.cost + sought.cost)
    return spent + Spent(look.tokens, look.cost)


LINK_RUNNERS: dict[str, Callable[[Job], Entry]] = {
    name: partial(run_link, name) for name in ("topic", "shape", "route", "policy", "look", "reuse", "condense", "audit")
} | {"converse": run_converse, "latency": run_latency}
"""The functions of the stages of links and of whole pipelines."""
