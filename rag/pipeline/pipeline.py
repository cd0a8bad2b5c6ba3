"""Questions → answers: the steps of `rag.pipeline.steps` in a row, then prompt, generation and checks."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.memo import Recent
from rag.core.rankings import Rankings
from rag.core.record_database import RecordDatabase
from rag.core.record_sets import NO_RECORDS, RecordSet
from rag.core.records import Allowed, Answer, Found, Hit, Query, Ranking, Reply, Sought, Vectors
from rag.core.roles import (
    Embedder,
    Fusion,
    Generator,
    Inspection,
    Policy,
    Reranker,
    RetrievalMemory,
    Rewriter,
    Router,
    Searcher,
    Selector,
    changes_nothing,
)
from rag.core.text.final_answer import Announced, awaited
from rag.pipeline import postprocess, record_routes, retrieval_memory
from rag.pipeline.context_packing import hits, passages
from rag.pipeline.looks import Patience, PipelineTools
from rag.pipeline.prompt_assembly import Prepared, Reading
from rag.pipeline.steps import embed_queries, fuse, gathered, rerank, rewrite, select
from rag.pipeline.timing import Clock, Step
from rag.pipeline.traces import Trace as Trace
from rag.pipeline.traces import traced, with_reuse


@dataclass(frozen=True)
class Pipeline:
    """The components of a config around an opened corpus; with `allowed`, search finds only these chunks.

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
    generator: Generator
    router: Router | None = None
    policy: Policy | None = None
    reuse: RetrievalMemory | None = None
    database: RecordDatabase = field(default_factory=lambda: RecordDatabase(NO_RECORDS))
    inspections: Mapping[str, Inspection] = field(default_factory=dict)
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

    def trace(self, query: Query) -> Trace:
        """Rewrite, search, fuse, rerank and select for one question."""
        (trace,) = self.traces([query])
        return trace

    def trace_to_answer(self, query: Query) -> Trace:
        """As `trace`; nothing is searched for where a check replies to the message."""
        if not self.reading.replies(query):
            return self.trace(query)
        nothing = Rankings.pack([[]])
        return Trace(Sought(query.text, (query.text,)), {}, nothing, nothing, nothing)

    def traces(self, queries: Sequence[Query], clock: Clock | None = None) -> list[Trace]:
        """As `trace`, for several questions at once; they do not affect each other."""
        step: Step = clock.step if clock else lambda name: nullcontext()
        if not self.searches:
            return [self._unsearched(query) for query in queries]
        with step("rewrite"):
            sought = rewrite(self.queries, queries)
        embed = partial(self.memo, compute=partial(embed_queries, self.embedder))
        reused = retrieval_memory.reuses(self.reuse, queries, sought, embed, self.corpus, self.allowed)
        new = [row for row in range(len(queries)) if row not in reused or not reused[row].full]
        fresh = dict(zip(new, self._fresh([queries[row] for row in new], [sought[row] for row in new], step), strict=True))
        rows = range(len(queries))
        return [with_reuse(sought[row], reused[row], fresh.get(row), self.k) if row in reused else fresh[row] for row in rows]

    def _unsearched(self, query: Query) -> Trace:
        """The trace of a question whose passages selectors give without a search."""
        nothing, sought = Rankings.pack([[]]), Sought(query.text, (query.text,))
        return Trace(sought, {}, nothing, nothing, self._selected(nothing))

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
            selected = self._selected(reranked)
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
        if (
            changes_nothing(self.reuse)
            or not trace.selected.row(0)
            or (trace.look and retrieval_memory.adds_nothing(trace.look))
        ):
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
            documents = self.database.documents(look.routed.query)
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
        return Trace(texts, {}, looked.ranking, looked.ranking, self._selected(looked.ranking), look)

    def _once(self, texts: Sequence[str]) -> Rankings:
        """One ranking of all texts, fused as in a single look."""
        return self._fused([Sought(texts[0], tuple(texts))], lambda name: nullcontext())[1]

    def _search(self, name: str, texts: Sequence[str], vectors: Vectors | None) -> Rankings:
        return self.searchers[name].search(texts, vectors if self.uses_vectors[name] else None, self.depth, self.allowed)

    def _selected(self, rankings: Rankings) -> Rankings:
        """The selected hits; only neighbours that are allowed."""
        selected = select(self.selectors, rankings, self.corpus)
        return selected if self.allowed is None or selected is rankings else selected.within(self.allowed)

    def prepare(self, query: Query, trace: Trace, references: tuple[str, ...] = ()) -> Prepared:
        """The request for the generator, and its passages."""
        screened = self.reading.screen([query], trace.selected, self.corpus, [trace.look])
        (prepared,) = self.reading.prepare([query], screened, self.corpus, [references], [trace.look])
        return prepared

    def contexts(self, trace: Trace) -> Ranking:
        """The first k passages, best first."""
        found = passages(trace.selected.first(self.k), 0, self.corpus)
        return tuple(Hit(passage.chunk(self.corpus), passage.score) for passage in found)

    def answer(self, query: Query, hear: Callable[[str], None] | None = None) -> Answer:
        """Answer one question; `hear` gets the reply in pieces as they come."""
        return self.answer_from(query, self.trace_to_answer(query), hear)

    def answer_from(
        self,
        query: Query,
        trace: Trace,
        hear: Callable[[str], None] | None = None,
        references: tuple[str, ...] = (),
        clock: Clock | None = None,
        early: bool = False,
        read: Callable[[Ranking], None] | None = None,
    ) -> Answer:
        """Answer one question from its trace; `references` are its gold answers, where they are known.

        `hear` gets the reply in pieces. If inspections could change the reply, it comes after them, so that text that a guard
        removes is never shown. Reasoning before an announced answer is never shown: the answer comes at the end, or with
        `early` as soon as it is announced. A model may announce a second answer, so a listener with `early` must show the final
        answer where it differs. Empty pieces mean that the model is writing hidden text; a listener may raise there to cancel.
        `read` gets the passages of the prompt before the model answers.
        """
        if changes_nothing(self.generator):
            return Answer(query, self.contexts(trace), Reply(""), sought=trace.sought, look=trace.look)
        step: Step = clock.step if clock else lambda name: nullcontext()
        with step("prompt"):
            prepared = self.prepare(query, trace, references)
        if read and prepared.request:
            read(_read(prepared, self.corpus))
        listener = hear and self._listener(hear, early)
        with step("generate"):
            checked = self._checked(prepared, listener)
        if hear and (not prepared.asks or (isinstance(listener, Announced) and not listener.end())):
            hear(checked.reply.text)
        return answered(query, prepared, checked, trace.sought, self.corpus)

    def _listener(self, hear: Callable[[str], None], early: bool) -> Callable[[str], None]:
        """The function that gets the pieces of a reply and passes the answer to `hear`."""
        final = awaited(self.reading.prompt, self.generator)
        late = any(getattr(inspection, "on_failure", "") != "flag" for inspection in self.inspections.values())
        return Announced(final, hear, early and bool(final) and not late) if late or final else hear

    def _checked(self, prepared: Prepared, hear: Callable[[str], None] | None) -> postprocess.Checked:
        refusal = self.reading.prompt.refusal
        if prepared.request is None:
            return postprocess.unasked(prepared.screened.reply or refusal)
        if prepared.reply:
            return postprocess.stated(self.inspections, prepared.request, prepared.reply, refusal)
        if hear is None:
            (reply,) = self.generator.generate([prepared.request])
        else:
            reply = postprocess.streamed(self.generator.stream(prepared.request), hear)
        prompt = self.reading.prompt
        known = awaited(prompt, self.generator), getattr(prompt, "inputs", {})
        (checked,) = postprocess.check(self.inspections, [prepared.request], [reply], self.generator, refusal, *known)
        return checked


def answered(query: Query, prepared: Prepared, checked: postprocess.Checked, sought: Sought | None, corpus: Corpus) -> Answer:
    """The final answer with all findings."""
    findings = (*prepared.screened.findings, *checked.findings)
    left_out = hits(corpus, prepared.left_out)
    return Answer(query, _read(prepared, corpus), checked.reply, findings, checked.abstained, sought, left_out, prepared.look)


def _read(prepared: Prepared, corpus: Corpus) -> Ranking:
    """The passages of the prompt; the last may be cut at its end."""
    return hits(corpus, prepared.read, [chunk.span.end for chunk in prepared.chunks])
