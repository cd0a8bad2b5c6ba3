"""Questions and their search texts → traces: the steps of `rag.pipeline.search.steps`, with routes, policies and memory."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.memo import Recent
from rag.core.rankings import Rankings
from rag.core.record_database import RecordDatabase
from rag.core.record_sets import NO_RECORDS, RecordSet
from rag.core.records import Allowed, Found, Query, Sought, Vectors
from rag.core.roles import (
    Condenser,
    Embedder,
    Fusion,
    Policy,
    Reranker,
    RetrievalMemory,
    Rewriter,
    Router,
    Searcher,
    Selector,
    Shaper,
    changes_nothing,
)
from rag.pipeline.prompt.prompt_assembly import Reading
from rag.pipeline.search import record_routes, retrieval_memory
from rag.pipeline.search.policy_tools import Patience, PipelineTools
from rag.pipeline.search.steps import embed_queries, fuse, gathered, rerank, select
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import Trace, traced, with_reuse


@dataclass(frozen=True)
class Retrieval:
    """The components that search an opened corpus; with `allowed`, they find only these chunks.

    Nothing is searched for without `searches`: selectors give the passages. `excluded` are the doc_ids of documents that are
    never read.
    """

    corpus: Corpus
    searchers: Mapping[str, Searcher]
    uses_vectors: Mapping[str, bool]
    queries: Rewriter
    embedder: Embedder
    fusion: Fusion
    reranker: Reranker
    selectors: Mapping[str, Selector]
    reading: Reading
    router: Router | None = None
    policy: Policy | None = None
    reuse: RetrievalMemory | None = None
    shaper: Shaper | None = None
    condenser: Condenser | None = None
    database: RecordDatabase = field(default_factory=lambda: RecordDatabase(NO_RECORDS))
    depth: int = 100
    rerank_depth: int = 20
    allowed: Allowed | None = None
    excluded: frozenset[str] = frozenset()
    searches: bool = True
    memo: Recent[Vectors] = field(default_factory=Recent, repr=False, compare=False)

    @property
    def records(self) -> RecordSet:
        """The records of the documents."""
        return self.database.records

    @property
    def k(self) -> int:
        """The number of hits in a prompt, each with the chunks that a selector adds."""
        return self.reading.k

    def sought_traces(self, queries: Sequence[Query], sought: Sequence[Sought], step: Step) -> list[Trace]:
        """Route, search, fuse, rerank and select for questions with their search texts; they do not affect each other."""
        if not self.searches:
            return [self._unsearched(each) for each in sought]
        embed = partial(self.memo, compute=partial(embed_queries, self.embedder))
        reused = retrieval_memory.reuses(self.reuse, queries, sought, embed, self.corpus, self.allowed)
        new = [row for row in range(len(queries)) if row not in reused or not reused[row].full]
        fresh = dict(zip(new, self._fresh([queries[row] for row in new], [sought[row] for row in new], step), strict=True))
        rows = range(len(queries))
        return [with_reuse(sought[row], reused[row], fresh.get(row), self.k) if row in reused else fresh[row] for row in rows]

    def _unsearched(self, sought: Sought) -> Trace:
        """The trace of a question whose passages selectors give without a search."""
        nothing = Rankings.pack([[]])
        return Trace(sought, {}, nothing, nothing, self._selected(nothing, [sought]))

    def _fresh(self, queries: Sequence[Query], sought: Sequence[Sought], step: Step) -> list[Trace]:
        """Traces that use nothing again."""
        if not queries or (changes_nothing(self.router) and changes_nothing(self.policy)):
            return self._searched(sought, step) if queries else []
        return self._routed(queries, sought, step)

    def _searched(self, sought: Sequence[Sought], step: Step) -> list[Trace]:
        """One search for each question, all of them in one batch."""
        rankings, fused = self._fused(sought, step)
        with step("rerank"):
            reranked = rerank(self.reranker, [each.question for each in sought], fused, self.corpus, self.rerank_depth)
        with step("select"):
            selected = self._selected(reranked, sought)
        return [traced(each, row, rankings, fused, reranked, selected) for row, each in enumerate(sought)]

    def _fused(self, sought: Sequence[Sought], step: Step) -> tuple[dict[str, Rankings], Rankings]:
        """The rankings of each index, and the one that they are fused to."""
        texts = [text for each in sought for text in each.texts]
        with step("embed"):
            vectors = embed_queries(self.embedder, texts) if any(self.uses_vectors.values()) else None
        with step("search"):
            rankings = {name: gathered(self._search(name, texts, vectors), sought, self.depth) for name in self.searchers}
        with step("fuse"):
            return rankings, fuse(self.fusion, rankings, self.depth)

    def earlier(self, query: Query, trace: Trace) -> tuple[Found, ...]:
        """What the conversation has found after a question, as `Query.earlier` of the next one.

        A question that was reused in full adds nothing, so that no later one is compared with it.
        """
        used = trace.look and retrieval_memory.adds_nothing(trace.look)
        if changes_nothing(self.reuse) or not trace.selected.row(0) or used:
            return query.earlier
        return (*query.earlier, retrieval_memory.found(trace.sought.question, trace.selected, self.k, self.corpus))

    def _routed(self, queries: Sequence[Query], sought: Sequence[Sought], step: Step) -> list[Trace]:
        """The traces by route and policy; questions that passages answer in one look are searched for in one batch."""
        alone = [replace(query, text=each.question) for query, each in zip(queries, sought, strict=True)]
        with step("route"):
            known = replace(self, database=record_routes.seen(self.database, self.corpus, self.allowed))
            looks = record_routes.looks_of_routes(self.router, known.database, alone)
        rows = [row for row, look in enumerate(looks) if look.result is None and changes_nothing(self.policy)]
        found = dict(zip(rows, self._searched([sought[row] for row in rows], step), strict=True)) if rows else {}
        parts, patience = enumerate(zip(alone, sought, looks, strict=True)), Patience(len(queries))
        return [
            replace(found[row], look=look) if row in found else known._alone(query, each, look, step, patience)
            for row, (query, each, look) in parts
        ]

    def _alone(self, query: Query, sought: Sought, look: Look, step: Step, patience: Patience) -> Trace:
        """The trace of a question that records answer, whose search they narrow, or that a policy looks for."""
        if look.result and look.answers:
            ranking = record_routes.passages_of(look.result, self.corpus, self.depth)
            return Trace(sought, {}, ranking, ranking, ranking, look)
        narrowed = self
        if look.result and look.routed.query:
            documents = {record.doc_id for record in self.database.selected(look.routed.query)}
            narrowed = replace(self, allowed=record_routes.within(documents, self.corpus, self.allowed))
        if self.policy is None or changes_nothing(self.policy):
            (trace,) = narrowed._searched([sought], step)
            return replace(trace, look=look)
        with step("look"):
            return narrowed._looked(self.policy, query, sought, look, patience)

    def _looked(self, policy: Policy, query: Query, sought: Sought, look: Look, patience: Patience) -> Trace:
        """The trace of a question that a policy looks for; `sought` made it a question that can be understood alone."""
        parts = self.reading, self.reranker, self.depth, self.rerank_depth, self._once, self.database.run
        looked = policy.look(query, PipelineTools(query, sought, self.corpus, self.records, *parts))
        patience.check(looked.failed)
        texts = replace(looked.sought, note=sought.note, tokens=sought.tokens, cost=sought.cost)
        look = replace(look, results=looked.results, steps=looked.steps)
        return Trace(texts, {}, looked.ranking, looked.ranking, self._selected(looked.ranking, [sought]), look)

    def _once(self, texts: Sequence[str]) -> Rankings:
        """One ranking of all texts, fused as in a single look."""
        return self._fused([Sought(texts[0], tuple(texts))], lambda name: nullcontext())[1]

    def _search(self, name: str, texts: Sequence[str], vectors: Vectors | None) -> Rankings:
        return self.searchers[name].search(texts, vectors if self.uses_vectors[name] else None, self.depth, self.allowed)

    def _selected(self, rankings: Rankings, sought: Sequence[Sought]) -> Rankings:
        """The selected hits; only neighbours that are allowed."""
        selected = select(self.selectors, rankings, self.corpus, [each.question for each in sought])
        return selected if self.allowed is None or selected is rankings else selected.within(self.allowed)


Narrowed = TypeVar("Narrowed", bound=Retrieval)
"""A pipeline, and the same pipeline that may read less."""
