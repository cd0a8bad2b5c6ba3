"""Shapes before and after a search, condensed passages, and at most one more search, for many questions at once.

The order is fixed: shape → search … select → condense → audit; then search … condense at most once more, without an audit.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rag.core.corpus import Corpus
from rag.core.look_checks import check_condensed, check_shape
from rag.core.looks import KINDS, Act, Condensed, Look, LookStep, Shape
from rag.core.rankings import Rankings, stacked
from rag.core.records import Chunk, Framed, Query, Sought
from rag.core.roles import Condenser, Shaper, changes_nothing
from rag.core.roles.looking import Anchors, Condensation, Kept, Shaped, Viewed
from rag.pipeline.context_packing import pack
from rag.pipeline.prompt_assembly import GUARD, screen
from rag.pipeline.retrieval import Retrieval
from rag.pipeline.timing import Step
from rag.pipeline.traces import Trace

ALIKE = 0.5
"""Two domains with at least this share of their words in common are one."""
SHOWN = 300
"""The most characters of a text in a step."""
WORD = re.compile(r"\w+")
NOTHING = Rankings.pack([[]])


@dataclass
class Work:
    """The state of one question.

    `own` are the search texts of the rewriter, `passages` those that a prompt would show, `framed` their texts for a model.
    """

    query: Query
    sought: Sought
    anchors: Anchors
    own: tuple[str, ...]
    trace: Trace
    shape: Shape = field(default_factory=Shape)
    steps: list[LookStep] = field(default_factory=list)
    look: Look | None = None
    passages: tuple[Chunk, ...] = ()
    framed: Framed = field(default_factory=lambda: Framed(()))
    condensed: Condensed | None = None

    def texts(self, shaped: Shaped) -> tuple[str, ...]:
        """What the question is searched for with a shape."""
        return tuple(dict.fromkeys((*self.own, shaped.text) if shaped.text else self.own))

    def add(self, act: Act, given: str, observed: str, took: Shaped | Condensation, seconds: float) -> None:
        """Keep a step with what a model took."""
        texts = given[:SHOWN], observed[:SHOWN], (), took.failure[:SHOWN]
        self.steps.append(LookStep(act, *texts, took.tokens, took.cost, seconds))


def shaped_traces(
    pipeline: Retrieval,
    parts: tuple[Shaper | None, Condenser | None],
    queries: Sequence[Query],
    sought: Sequence[Sought],
    step: Step,
) -> list[Trace]:
    """The traces of questions, each with its shape, its condensed context and all steps in `Trace.look`."""
    shaper, condenser = parts
    shaper, condenser = None if changes_nothing(shaper) else shaper, None if changes_nothing(condenser) else condenser
    rows = zip(queries, sought, _anchors(pipeline, queries, sought, shaper is not None), strict=True)
    works = [
        Work(query, each, anchors, each.texts, Trace(each, {}, NOTHING, NOTHING, NOTHING)) for query, each, anchors in rows
    ]
    run = _Run(pipeline, condenser, step)
    if shaper:
        for work, shaped in run.passed("shape", works, shaper.shape):
            work.shape, work.sought = shaped.shape, replace(work.sought, texts=work.texts(shaped))
    run.search(works)
    if shaper and (again := run.audited(shaper, [work for work in works if work.passages])):
        replace(run, pipeline=replace(pipeline, reuse=None, router=None)).search(again)
    return [
        replace(
            work.trace,
            look=replace(
                work.look or Look(), steps=tuple(work.steps), condensed=work.condensed, shape=work.shape if shaper else None
            ),
        )
        for work in works
    ]


def changed(before: Shape, after: Shape) -> bool:
    """Whether the scope of a question changed: another intent or another domain, where both are known."""
    if before.intent and after.intent and before.intent != after.intent:
        return True
    old, new = (set(WORD.findall(shape.domain.casefold())) for shape in (before, after))
    return bool(old and new) and len(old & new) < ALIKE * len(old | new)


def _anchors(pipeline: Retrieval, queries: Sequence[Query], sought: Sequence[Sought], shaped: bool) -> list[Anchors]:
    """What a shaper reads of each question; without one nothing is recalled for it."""
    if not shaped:
        return [Anchors(query, each.question) for query, each in zip(queries, sought, strict=True)]
    corpus, project = pipeline.corpus, str(getattr(pipeline.reading.prompt, "project", ""))
    open_ = corpus.doc if pipeline.allowed is None else corpus.doc[pipeline.allowed]
    titles = tuple(dict.fromkeys(corpus.titles[row] for row in np.unique(open_).tolist()))
    rows = zip(queries, sought, pipeline.reading.memory.recall(queries), strict=True)
    return [Anchors(query, each.question, project, recalled, titles) for query, each, recalled in rows]


@dataclass(frozen=True)
class _Run:
    """The steps of one batch."""

    pipeline: Retrieval
    condenser: Condenser | None
    step: Step

    def passed(
        self, act: Act, works: Sequence[Work], shape: Callable[[list[Anchors]], list[Shaped]]
    ) -> list[tuple[Work, Shaped]]:
        """One pass of a shaper, with a step for each question; a shape that breaks a rule is the one before."""
        began = time.perf_counter()
        with self.step("shape"):
            given = shape([work.anchors for work in works])
        seconds = (time.perf_counter() - began) / max(len(works), 1)
        shaped = [self._lawful(work, each) for work, each in zip(works, given, strict=True)]
        for work, each in zip(works, shaped, strict=True):
            lines = each.shape.intent, each.shape.domain, *(": ".join(header) for header in each.shape.headers)
            work.add(act, work.anchors.question, " · ".join(filter(None, lines)), each, seconds)
        return list(zip(works, shaped, strict=True))

    def _lawful(self, work: Work, shaped: Shaped) -> Shaped:
        failure = ""
        try:
            check_shape(shaped.shape)
        except ValueError as error:
            failure = f"the shape {error}"
        texts = (shaped.shape.domain, shaped.text, *(text for _, text in shaped.shape.headers))
        if not failure and self._withheld(work.query, texts):
            failure = "a guard withholds a line of the shape"
        return replace(shaped, shape=work.shape, text="", failure=failure) if failure else shaped

    def audited(self, shaper: Shaper, works: Sequence[Work]) -> list[Work]:
        """Audit the shapes after a search; the questions whose scope changed, with what they are searched for now."""
        views, again = [self._view(work) for work in works], list[Work]()
        for work, shaped in self.passed("audit", works, lambda asked: shaper.audit(asked, views)):
            before, work.shape = work.shape, shaped.shape
            if changed(before, shaped.shape):
                texts = work.texts(shaped)
                against = self._against(work, texts)
                last = work.steps[-1]
                work.steps[-1] = replace(last, observed=f"{last.observed}; the scope changed: {against or 'one more search'}")
                if not against:
                    work.sought = replace(work.sought, texts=texts)
                    again.append(work)
        return again

    def _against(self, work: Work, texts: Sequence[str]) -> str:
        """Why a question is not searched for again; empty if it is."""
        if self.pipeline.reading.locked or not self.pipeline.searches:
            return "files are locked, and nothing is searched for"
        if work.look and work.look.result:
            return "records decide where to search"
        return "" if tuple(texts) != work.sought.texts else "the search texts stay"

    def _view(self, work: Work) -> Viewed:
        framed, corpus = work.framed, self.pipeline.corpus
        if work.condensed:
            framed = self.pipeline.reading.framed(work.query, tuple(item.text for item in work.condensed.items))
        return Viewed(work.shape, framed, tuple(corpus.title(chunk.span.doc_id) for chunk in work.passages))

    def search(self, works: Sequence[Work]) -> None:
        """Search for questions, and condense what is kept of their passages."""
        traces = self.pipeline.sought_traces([work.query for work in works], [work.sought for work in works], self.step)
        for work, trace in zip(works, traces, strict=True):
            work.trace, work.condensed, work.passages, look = trace, None, (), trace.look or Look()
            work.steps += look.steps or self._search_steps(work, look)
            # A second search has no route: that of the first one holds.
            work.look = replace(work.look, results=look.results) if work.look else look
        self._keep([work for work in works if work.look and not work.look.answers])
        kept = [work for work in works if work.passages]
        if self.condenser and kept and not self.pipeline.reading.locked:
            self._condense(self.condenser, kept)

    def _search_steps(self, work: Work, look: Look) -> list[LookStep]:
        """The step of one search; none where nothing was searched for."""
        if not self.pipeline.searches or look.answers:
            return []
        first, corpus = work.trace.selected.first(self.pipeline.k).row(0), self.pipeline.corpus
        names = tuple(corpus.chunk(position).chunk_id for position, _ in first)
        return [
            LookStep("search", " | ".join(work.sought.texts)[:SHOWN], f"{len(names)} passages" if names else "nothing", names)
        ]

    def _keep(self, works: Sequence[Work]) -> None:
        """Set the passages that a prompt would show; none where a screen abstains."""
        reading, corpus = self.pipeline.reading, self.pipeline.corpus
        found, looks = stacked([work.trace.selected for work in works]), [work.look for work in works]
        screened = reading.screen([work.query for work in works], found, corpus, looks) if works else []
        for work, seen in zip(works, screened, strict=True):
            packed = pack(() if seen.abstains else seen.kept, corpus, reading.context_tokens)
            work.passages, work.framed = packed.chunks, reading.framed(work.query, reading.quoted(packed, corpus))

    def _condense(self, condenser: Condenser, works: Sequence[Work]) -> None:
        began = time.perf_counter()
        with self.step("condense"):
            made = condenser.condense([Kept(work.query, work.anchors.question, work.passages, work.framed) for work in works])
        seconds = (time.perf_counter() - began) / len(works)
        for work, one in zip(works, made, strict=True):
            failure, counts = one.failure or self._problem(work, one), ""
            if one.condensed and not failure:
                work.condensed = replace(one.condensed, read=tuple(chunk.chunk_id for chunk in work.passages))
                kinds = {kind: len(getattr(one.condensed, kind)) for kind in KINDS}
                counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.items() if count)
            work.add("condense", f"{len(work.passages)} passages", counts, replace(one, failure=failure), seconds)

    def _problem(self, work: Work, made: Condensation) -> str:
        """Why a condensed context is not shown; empty if it is."""
        if made.condensed is None:
            return "there is no condensed context"
        try:
            check_condensed(made.condensed, [_told(chunk, self.pipeline.corpus) for chunk in work.passages])
        except ValueError as error:
            return f"the condensed context {error}"
        withheld = self._withheld(work.query, [item.text for item in made.condensed.items])
        return "a guard withholds an item of the condensed context" if withheld else ""

    def _withheld(self, query: Query, texts: Sequence[str]) -> bool:
        """Whether a guard takes out one of the texts, which a model or a document may have written."""
        guards = {name: each for name, each in self.pipeline.reading.screens.items() if name.startswith(GUARD)}
        given = Look(results=tuple(filter(None, texts)))
        if not guards or not given.results:
            return False
        (screened,) = screen(guards, [query], NOTHING, self.pipeline.corpus, [given])
        return bool(screened.withheld)


def _told(chunk: Chunk, corpus: Corpus) -> str:
    """A passage with the headings above it and the title of its document."""
    return "\n".join((corpus.title(chunk.span.doc_id), *(section.path for section in chunk.sections), chunk.text))
