"""Questions → traces: the links between a question and its passages, in their order.

An answer runs all links one after the other. In a sweep each link is a stage, and the plain search is several.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self, TypeVar

from rag.core.corpus import Corpus
from rag.core.errors import UserError
from rag.core.memo import Recent
from rag.core.records.database import RecordDatabase
from rag.core.records.sets import NO_RECORDS, RecordSet
from rag.core.roles import (
    READABLE,
    Condenser,
    Embedder,
    Fusion,
    Policy,
    QuestionSelector,
    Replying,
    Reranker,
    RetrievalMemory,
    Rewriter,
    Router,
    Searcher,
    Selector,
    Shaper,
    changes_nothing,
    is_costly,
    reads,
)
from rag.core.types import Allowed, Found, Query, Sought, Vectors
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.prompt.prompt_assembly import Reading
from rag.pipeline.search import retrieval_memory
from rag.pipeline.search.condensing import CondenseLink, ShownPassages
from rag.pipeline.search.index_search import IndexSearch, SearchLink, SelectLink, untimed
from rag.pipeline.search.policy_tools import PipelineTools, PolicyLink
from rag.pipeline.search.record_routes import RouteLink, TopicLink, seen
from rag.pipeline.search.retrieval_memory import MergeLink, ReuseLink
from rag.pipeline.search.shaping import AuditLink, ShapeLink
from rag.pipeline.search.steps import embed_queries, rewrite
from rag.pipeline.search.timing import Clock, Step
from rag.pipeline.search.traces import Link, Trace, Work

LINKS = ("rewrite", "topic", "shape", "reuse", "route", "policy", "search", "select", "merge", "condense", "audit")
"""The links in their order; a policy replaces the search, and a link whose component changes nothing is left out."""
LOCKED = ("rewrite", "shape", "search", "select", "condense", "audit")
"""The links where files replace the search, or limit it."""
AGAIN = ("policy", "search", "select", "condense")
"""The links of one more search."""
MODELS = ("shape", "route", "policy", "condense")
"""The links that may ask a model before the prompt; then the topic of a question comes first."""
COMPONENTS = {"shape": "shaper", "audit": "shaper", "merge": "reuse", "route": "router", "condense": "condenser"}
"""Links → the field of their component, where it has another name."""
AGENTS = {"rewrite": (), "shape": ("audit",), "reuse": ("merge",), "route": (), "policy": (), "select": (), "condense": ()}
"""The links that a person can switch off, each with the links that go with it."""


@dataclass(frozen=True)
class Retrieval:
    """The components that search an opened corpus; with `allowed`, they find only these chunks.

    `links` are the links in use, `off` the agents that are switched off. `excluded` are the doc_ids of documents that
    are never read.
    """

    corpus: Corpus
    searchers: Mapping[str, Searcher]
    uses_vectors: Mapping[str, bool]
    queries: Rewriter
    embedder: Embedder
    fusion: Fusion
    reranker: Reranker
    selectors: Mapping[str, Selector | QuestionSelector]
    reading: Reading
    router: Router
    policy: Policy
    reuse: RetrievalMemory
    shaper: Shaper
    condenser: Condenser
    database: RecordDatabase = field(default_factory=lambda: RecordDatabase(NO_RECORDS))
    depth: int = 100
    rerank_depth: int = 20
    allowed: Allowed | None = None
    excluded: frozenset[str] = frozenset()
    links: tuple[str, ...] = LINKS
    off: tuple[str, ...] = ()
    memo: Recent[Vectors] = field(default_factory=Recent, repr=False, compare=False)

    @property
    def records(self) -> RecordSet:
        """The records of the documents."""
        return self.database.records

    @property
    def k(self) -> int:
        """The number of hits in a prompt, each with the chunks that a selector adds."""
        return self.reading.k

    def traces(self, queries: Sequence[Query], clock: Clock | None = None) -> list[Trace]:
        """The searches for questions, from rewriting to condensing; they do not affect each other."""
        works = [Work.of(query, Sought(query.text, (query.text,)), self.allowed) for query in queries]
        for name in filter(self.has, self.links):
            self.link(name, clock.step if clock else untimed).look(works)
        return [work.trace for work in works]

    def has(self, name: str) -> bool:
        """Whether a link is in use, and its component changes something."""
        if name not in self.links or (name == "search" and self.has("policy")):
            return False
        if name == "topic":
            asked = [getattr(self, COMPONENTS.get(each, each)) for each in MODELS if self.has(each)]
            return any(map(is_costly, asked)) and any(isinstance(each, Replying) for each in self.reading.screens.values())
        plain = name in ("rewrite", "search", "select")
        return plain or not changes_nothing(getattr(self, COMPONENTS.get(name, name)))

    @property
    def agents(self) -> list[str]:
        """The agents in use that can be switched off."""
        idle = {"rewrite": changes_nothing(self.queries), "select": not self.selectors}
        return [name for name in AGENTS if not idle.get(name) and self.has(name)]

    def without(self, off: Sequence[str]) -> Self:
        """The same components without some agents; UserError for one that is not in use."""
        if unknown := [name for name in off if name not in self.agents]:
            raise UserError("agents", f"{unknown[0]!r} is not in use", f"there is: {', '.join(self.agents) or 'none'}")
        gone = {*off, *(more for name in off for more in AGENTS[name])}
        return replace(self, links=tuple(name for name in self.links if name not in gone), off=tuple(off)) if gone else self

    def link(self, name: str, step: Step = untimed) -> Link:
        """A link of these components."""
        return _MAKERS[name](self, step)

    def earlier(self, query: Query, trace: Trace) -> tuple[Found, ...]:
        """What the conversation has found after a question, as `Query.earlier` of the next one.

        A question that was reused in full adds nothing, so that no later one is compared with it.
        """
        used = trace.look and retrieval_memory.adds_nothing(trace.look)
        if changes_nothing(self.reuse) or not trace.selected.row(0) or used:
            return query.earlier
        return (*query.earlier, retrieval_memory.found(trace.sought.question, trace.selected, self.k, self.corpus))


Narrowed = TypeVar("Narrowed", bound=Retrieval)
"""A pipeline, and the same pipeline that may read less."""


@dataclass(frozen=True)
class RewriteLink:
    """Gives questions their search texts."""

    queries: Rewriter
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the search texts of questions."""
        with self.step("rewrite"):
            sought = rewrite(self.queries, [work.query for work in works])
        for work, each in zip(works, sought, strict=True):
            work.own = work.sought = each
            work.trace = Trace.at(each)


def _search(pipeline: Retrieval) -> IndexSearch:
    return IndexSearch(pipeline.searchers, pipeline.uses_vectors, pipeline.embedder, pipeline.fusion, pipeline.depth)


def _excerpts(pipeline: Retrieval, component: object) -> Excerpts:
    """The passages of a prompt; as guards and the prompt lay them out only for a component that reads them so."""
    reading = pipeline.reading
    if reads(component, "passages"):
        return reading.excerpts
    return Excerpts(reading.k, reading.context_tokens, reading.screens, locked=reading.locked)


def _topic(pipeline: Retrieval, step: Step) -> TopicLink:
    reading, records = pipeline.reading, seen(pipeline.database, pipeline.corpus, pipeline.allowed).records
    early = Excerpts(reading.k, screens={name: each for name, each in reading.screens.items() if isinstance(each, Replying)})
    return TopicLink(early, _search(pipeline), pipeline.corpus, pipeline.router, records, step)


def _shape(pipeline: Retrieval, step: Step) -> ShapeLink:
    shaper, reading = pipeline.shaper, pipeline.reading
    project = str(getattr(reading.prompt, "project", "")) if reads(shaper, "project") else ""
    memory = reading.memory if reads(shaper, "conversation") else None
    guards = Excerpts(reading.k, screens=reading.screens)
    return ShapeLink(shaper, pipeline.corpus, pipeline.allowed, project, memory, guards, step)


def _reuse(pipeline: Retrieval, step: Step) -> ReuseLink:
    embed = partial(pipeline.memo, compute=partial(embed_queries, pipeline.embedder))
    return ReuseLink(pipeline.reuse, embed, pipeline.corpus)


def _route(pipeline: Retrieval, step: Step) -> RouteLink:
    return RouteLink(pipeline.router, pipeline.database, pipeline.corpus, pipeline.depth, pipeline.allowed, step)


def _policy(pipeline: Retrieval, step: Step) -> PolicyLink:
    policy, corpus, search = pipeline.policy, pipeline.corpus, _search(pipeline)
    database, excerpts = seen(pipeline.database, corpus, pipeline.allowed), _excerpts(pipeline, policy)
    given = corpus, search, pipeline.reranker, pipeline.rerank_depth, excerpts, database
    return PolicyLink(policy, lambda work: PipelineTools(work, *given, getattr(policy, "reads", READABLE)), step)


def _shown(pipeline: Retrieval, component: object) -> ShownPassages:
    return ShownPassages(_excerpts(pipeline, component), pipeline.corpus, {"search", "policy"} & {*pipeline.links} != set())


def _condense(pipeline: Retrieval, step: Step) -> CondenseLink:
    return CondenseLink(pipeline.condenser, _shown(pipeline, pipeline.condenser), step)


def _audit(pipeline: Retrieval, step: Step) -> AuditLink:
    again = () if pipeline.reading.locked else tuple(pipeline.link(name, step) for name in AGAIN if pipeline.has(name))
    return AuditLink(_shape(pipeline, step), _shown(pipeline, pipeline.shaper), again)


_MAKERS: Mapping[str, Callable[[Retrieval, Step], Link]] = {
    "rewrite": lambda pipeline, step: RewriteLink(pipeline.queries, step),
    "topic": _topic,
    "shape": _shape,
    "reuse": _reuse,
    "route": _route,
    "policy": _policy,
    "search": lambda pipeline, step: SearchLink(
        _search(pipeline), pipeline.reranker, pipeline.rerank_depth, pipeline.corpus, step
    ),
    "select": lambda pipeline, step: SelectLink(
        pipeline.selectors, pipeline.corpus, step, "look" if pipeline.has("policy") else "select"
    ),
    "merge": lambda pipeline, step: MergeLink(pipeline.k),
    "condense": _condense,
    "audit": _audit,
}
