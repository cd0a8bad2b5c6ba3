"""The results of a trial for MLflow: the figures that the experiment asks for, all of them, and its questions."""

import json
from collections.abc import Mapping
from typing import Any

from rag.core.corpus import Corpus
from rag.core.pages import pages_of
from rag.core.redaction import redacted_json
from rag.core.types import Anchor, Example, Span, input_of, spans_of
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection import Winner
from rag.execution.sweep.trial_scores import scores_of, stored_answers
from rag.tracking.evaluation_traces import LIMIT, TracedQuestion
from rag.tracking.run_content import TABLE

ROLES = ("chunker", "passage", "embedder", "index", "fusion", "reranker", "selector", "generator")
"""Roles whose choices are parameters of every trial; axes add their own."""
WIDTH, LONGEST = 10, 2000
"""Most passages of a question, and most characters of a text."""


def figures(row: Row, objective: Objective) -> dict[str, float]:
    """Means of the metrics, those of the objective first, then measured costs, then the ends of the 95 % intervals."""
    first = [term.column for term in objective.terms if term.column in row.metrics]
    summaries = ({"objective": row.summed} if row.summed else {}) | {name: row.metrics[name] for name in [*first, *row.metrics]}
    ends = {f"{name}_{end}": summary[end] for name, summary in summaries.items() for end in ("low", "high")}
    values = {**{name: summary["mean"] for name, summary in summaries.items()}, **row.measured, **ends}
    return {name: value for name, value in values.items() if value is not None}


def settings(trial: PlannedTrial, made: Plan) -> dict[str, str]:
    """The choices of the main roles by file name, `k`, `split`, and the labels of the axes."""
    config = trial.trial.config
    embeds = any(made.stages[key].name == "embed" for key in made.graph.ancestors(*ends_of(trial)))
    chosen = {role: _choice(config[role]) for role in ROLES if role in config and (embeds or role != "embedder")}
    sample = {"sample": str(config["sample"])} if trial.golden.sampled else {}
    return {**chosen, "k": str(config["k"]), "split": str(config["split"]), **sample, **trial.trial.choices}


def _choice(config: Mapping[str, Any]) -> str:
    """`recursive` for `rag.components.chunkers.recursive.RecursiveChunker`; several by their names, joined with `+`."""
    return str(config["_target_"]).split(".")[-2] if "_target_" in config else "+".join(config) or "none"


def everything(row: Row) -> str:
    """All results of a trial as JSON, also by kind of question, with numbers of questions."""
    parts = ("metrics", "kinds", "measured", "summed", "broken", "failures")
    return json.dumps(redacted_json({name: getattr(row, name) for name in parts}), indent=1, ensure_ascii=False)


def verdict_tags(verdict: Winner) -> dict[str, str]:
    """The tags of a sweep: the recommended trial, or the first of few questions, and why; tied trials, uses of the holdout."""
    trial = verdict.of(verdict.recommended)
    tied = "; ".join(verdict.of(trial_id).name for trial_id in verdict.tied)
    lead = "recommended" if verdict.enough else "first"
    tags = {lead: trial.name, f"{lead}.trial": trial.trial_id, f"{lead}.why": verdict.why, "tied": tied}
    tags |= {"contradiction": verdict.contradiction} if verdict.contradiction else {}
    return tags | ({"uses": str(verdict.uses)} if verdict.holdout else {})


def verdict_figures(verdict: Winner, objective: Objective) -> dict[str, float]:
    """Metrics of a sweep: number of tied trials, what to expect on new questions, the holdout and its uses."""
    found = {"tied": float(len(verdict.tied))} | ({"uses": float(verdict.uses)} if verdict.holdout else {})
    expected, held = verdict.expected, verdict.of(verdict.recommended).holdout
    if expected:
        found |= {"chosen_among": float(verdict.among), "of_other_sweeps": float(verdict.before)}
    column = "objective" if objective.summed else objective.column
    for lead, mean in (("expected", expected), ("holdout", held)):
        names = {"mean": f"{lead}_{column}", "low": f"{lead}_{column}_low", "high": f"{lead}_{column}_high"}
        found |= {names[part]: value for part, value in (mean.to_json() if mean else {}).items() if value is not None}
    return found


def table(trial: PlannedTrial, made: Plan, store: Store) -> dict[str, str]:
    """Scores and answers of all questions as a file of MLflow's table format, by its name; empty without scores."""
    scores = scores_of(trial, made, store)
    if scores is None:
        return {}
    given = stored_answers(trial, made, store) or [None] * len(scores.query_ids)
    answers = [part.reply.text if part else "" for part in given]
    rows = [
        [example.query.query_id, example.query.text, example.kind, *row, answer]
        for example, row, answer in zip(trial.golden.examples, scores.values.tolist(), answers, strict=True)
    ]
    content = {"columns": ["id", "question", "kind", *scores.columns, "answer"], "data": rows}
    return {TABLE: json.dumps(redacted_json(content), ensure_ascii=False)}


def questions(trial: PlannedTrial, made: Plan, store: Store) -> list[TracedQuestion]:
    """The first `LIMIT` questions with their passages; none for a trial that is not complete in the store."""
    ends, golden, k = trial.ends, trial.golden, trial.trial.config["k"]
    scores, chunks, ranked = (
        scores_of(trial, made, store),
        *(store.read(made.stages[end].entry) for end in (ends.corpus, ends.ranking)),
    )
    replies = stored_answers(trial, made, store)
    if scores is None or chunks is None or ranked is None or (ends.check and replies is None):
        return []
    corpus, rankings = corpus_of(chunks, golden), rankings_of(ranked)
    texts = {document.doc_id: document.text for document in golden.documents}
    records = []
    for row, example in enumerate(golden.examples[:LIMIT]):
        reply = replies[row] if replies else None
        hits = [(position, score) for position, (rank, score) in rankings.placed(row).items() if rank <= k]
        documents = [_passage(corpus, *hit) for hit in (reply.read if reply else () if replies else hits)[:WIDTH]]
        answer = {} if replies is None else {"answer": _cut(reply.reply.text if reply else "")}
        history = [{"role": turn.role, "content": _cut(turn.text)} for turn in example.query.history]
        values = zip(scores.columns, scores.values[row].tolist(), strict=True)
        records.append(
            TracedQuestion(
                query_id=example.query.query_id,
                inputs={"question": _cut(example.query.text)} | ({"history": history} if history else {}),
                outputs={**answer, "passages": [document["id"] for document in documents]},
                scores={column: value for column, value in values if value == value},
                documents=documents,
                expectations=_expected(example, texts),
                tags={"split": example.split, "kind": example.kind, "tags": ", ".join(example.tags)}
                | ({"input": input_of(reply.findings)} if reply else {}),
                failed=bool(scores.failed[row]),
            )
        )
    return records


def _passage(corpus: Corpus, position: int, score: float) -> dict[str, Any]:
    chunk = corpus.chunk(position)
    found = pages_of(chunk.blocks, chunk.span.start, chunk.span.end)
    metadata = {"doc_uri": chunk.span.doc_id, "score": score} | ({"page": found[0], "last_page": found[1]} if found else {})
    return {"id": chunk.chunk_id, "page_content": _cut(chunk.text), "metadata": metadata}


def _expected(example: Example, texts: Mapping[str, str]) -> dict[str, Any]:
    """The gold answers, and the gold quotes after the names of their documents."""
    answers = " | ".join(example.answers) or ("The documents cannot answer this." if example.to_decline else "")
    places = [place for group in example.evidence if group.grade > 0 for place in group.alternatives]
    quotes = [place if isinstance(place, str) else f"{place.doc_id}: {_quote(place, texts)}" for place in places]
    return ({"expected_response": _cut(answers)} if answers else {}) | ({"evidence": quotes} if quotes else {})


def _quote(place: Span | Anchor, texts: Mapping[str, str]) -> str:
    pieces = [texts[span.doc_id][span.start : span.end] for span in spans_of(place)]
    return _cut(" … ".join(pieces)) if pieces else "(lost before the chunker)"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
