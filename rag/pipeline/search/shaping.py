"""Shapes before and after a search, condensed passages, and at most one more search, for many questions at once.

The order is fixed: shape → search … select → condense → audit; then search … condense at most once more, without an audit.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rag.core.look_checks import check_condensed, check_shape
from rag.core.looks import KINDS, Act, Condensed, Look, LookStep, Shape
from rag.core.rankings import Rankings, stacked
from rag.core.records import Chunk, Framed, Query, Sought
from rag.core.roles import Condenser, Shaper, changes_nothing
from rag.core.roles.looking import Asked, Condensation, Kept, Shaped
from rag.pipeline.prompt.context_packing import pack
from rag.pipeline.prompt.prompt_assembly import GUARD, screen
from rag.pipeline.search.retrieval import Retrieval
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import Trace

ALIKE = 0.5
"""Two domains with at least this share of their words in common are one."""
SHOWN = 300
"""The most characters of a text in a step."""
WORD = re.compile(r"\w+")
NOTHING = Rankings.pack([[]])


def changed(before: Shape, after: Shape) -> bool:
    """Whether the scope of a question changed: another intent or another domain, where both are known."""
    if before.intent and after.intent and before.intent != after.intent:
        return True
    old, new = (set(WORD.findall(shape.domain.casefold())) for shape in (before, after))
    return bool(old and new) and len(old & new) < ALIKE * len(old | new)


@dataclass
class Work:
    """The state of one question: `own` are the search texts of the rewriter, `passages` those that a prompt would show."""

    asked: Asked
    sought: Sought
    own: tuple[str, ...]
    trace: Trace
    look: Look | None = None
    shape: Shape = field(default_factory=Shape)
    steps: list[LookStep] = field(default_factory=list)
    passages: tuple[Chunk, ...] = ()
    framed: Framed = field(default_factory=lambda: Framed(()))
    condensed: Condensed | None = None

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
    run = _Run(pipeline, None if changes_nothing(condenser) else condenser, step)
    works = [
        Work(Asked(query, each.question), each, each.texts, Trace(each, {}, NOTHING, NOTHING, NOTHING))
        for query, each in zip(queries, sought, strict=True)
    ]
    if shaper is None or changes_nothing(shaper):
        run.search(works)
        return [replace(work.trace, look=_look(work)) for work in works]
    run.first_pass(shaper, works)
    run.search(works)
    if again := run.audited(shaper, [work for work in works if work.passages]):
        replace(run, pipeline=replace(pipeline, reuse=None, router=None)).search(again)
    return [replace(work.trace, look=replace(_look(work), shape=work.shape)) for work in works]


def _look(work: Work) -> Look:
    return replace(work.look or Look(), steps=tuple(work.steps), condensed=work.condensed)


@dataclass(frozen=True)
class _Run:
    """The steps of one batch."""

    pipeline: Retrieval
    condenser: Condenser | None
    step: Step

    def first_pass(self, shaper: Shaper, works: Sequence[Work]) -> None:
        """Shape questions by the text about the project and what the memory recalls."""
        corpus, reading, allowed = self.pipeline.corpus, self.pipeline.reading, self.pipeline.allowed
        rows = np.unique(corpus.doc if allowed is None else corpus.doc[allowed]).tolist()
        titles, project = tuple(dict.fromkeys(corpus.titles[row] for row in rows)), str(getattr(reading.prompt, "project", ""))
        for work, recalled in zip(works, reading.memory.recall([work.asked.query for work in works]), strict=True):
            work.asked = replace(work.asked, project=project, recalled=recalled, titles=titles)
        for work, texts in zip(works, self._shaped("shape", shaper, works), strict=True):
            work.sought = replace(work.sought, texts=texts)

    def audited(self, shaper: Shaper, works: Sequence[Work]) -> list[Work]:
        """Audit the shapes after a search; the questions whose scope changed, with what they are searched for now."""
        again, corpus = list[Work](), self.pipeline.corpus
        for work in works:
            items = tuple(item.text for item in work.condensed.items) if work.condensed else ()
            read = self.pipeline.reading.framed(work.asked.query, items) if items else work.framed
            sources = tuple(corpus.title(chunk.span.doc_id) for chunk in work.passages)
            work.asked = replace(work.asked, before=work.shape, read=read, sources=sources)
        for work, texts in zip(works, self._shaped("audit", shaper, works), strict=True):
            if work.asked.before and changed(work.asked.before, work.shape):
                against, last = self._against(work, texts), work.steps[-1]
                work.steps[-1] = replace(last, observed=f"{last.observed}; the scope changed: {against or 'one more search'}")
                if not against:
                    work.sought = replace(work.sought, texts=texts)
                    again.append(work)
        return again

    def _shaped(self, act: Act, shaper: Shaper, works: Sequence[Work]) -> list[tuple[str, ...]]:
        """Set the shapes of questions; what each is searched for with it. A shape that breaks a rule is the one before."""
        began = time.perf_counter()
        with self.step("shape"):
            given = shaper.shape([work.asked for work in works])
        seconds, found = (time.perf_counter() - began) / max(len(works), 1), []
        for work, shaped in zip(works, given, strict=True):
            if failure := self._unlawful(work, shaped):
                shaped = replace(shaped, shape=work.shape, search="", failure=failure)
            work.shape = shaped.shape
            lines = work.shape.intent, work.shape.domain, *(": ".join(header) for header in work.shape.headers)
            work.add(act, work.asked.question, " · ".join(filter(None, lines)), shaped, seconds)
            found.append(tuple(dict.fromkeys((*work.own, *filter(None, (shaped.search,))))))
        return found

    def _unlawful(self, work: Work, shaped: Shaped) -> str:
        try:
            check_shape(shaped.shape)
        except ValueError as error:
            return f"the shape {error}"
        texts = (shaped.shape.domain, shaped.search, *(text for _, text in shaped.shape.headers))
        return "a guard withholds a line of the shape" if self._withheld(work.asked.query, texts) else ""

    def _against(self, work: Work, texts: Sequence[str]) -> str:
        """Why a question is not searched for again; empty if it is."""
        if self.pipeline.reading.locked or not self.pipeline.searches:
            return "files are locked, and nothing is searched for"
        if work.look and work.look.result:
            return "records decide where to search"
        return "" if tuple(texts) != work.sought.texts else "the search texts stay"

    def search(self, works: Sequence[Work]) -> None:
        """Search for questions, and condense what is kept of their passages."""
        traces = self.pipeline.sought_traces([work.asked.query for work in works], [work.sought for work in works], self.step)
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
        return [LookStep("search", " | ".join(work.sought.texts)[:SHOWN], f"{len(names)} passages", names)]

    def _keep(self, works: Sequence[Work]) -> None:
        """Set the passages that a prompt would show; none where a screen abstains."""
        reading, corpus = self.pipeline.reading, self.pipeline.corpus
        found, looks = stacked([work.trace.selected for work in works]), [work.look for work in works]
        screened = reading.screen([work.asked.query for work in works], found, corpus, looks) if works else []
        for work, seen in zip(works, screened, strict=True):
            packed = pack(() if seen.abstains else seen.kept, corpus, reading.context_tokens)
            work.passages, work.framed = packed.chunks, reading.framed(work.asked.query, reading.quoted(packed, corpus))

    def _condense(self, condenser: Condenser, works: Sequence[Work]) -> None:
        began = time.perf_counter()
        with self.step("condense"):
            asked = [Kept(work.asked.query, work.asked.question, work.passages, work.framed) for work in works]
            made = condenser.condense(asked)
        seconds = (time.perf_counter() - began) / len(works)
        for work, one in zip(works, made, strict=True):
            failure, counts = one.failure or self._unfit(work, one.condensed), ""
            if one.condensed and not failure:
                work.condensed = replace(one.condensed, read=tuple(chunk.chunk_id for chunk in work.passages))
                counts = ", ".join(f"{len(getattr(one.condensed, kind))} {kind.replace('_', ' ')}" for kind in KINDS)
            work.add("condense", f"{len(work.passages)} passages", counts, replace(one, failure=failure), seconds)

    def _unfit(self, work: Work, condensed: Condensed | None) -> str:
        """Why a condensed context is not shown; empty if it is."""
        corpus = self.pipeline.corpus
        headed = [(corpus.title(one.span.doc_id), *(part.path for part in one.sections), one.text) for one in work.passages]
        try:
            check_condensed(condensed or Condensed(), ["\n".join(texts) for texts in headed])
        except ValueError as error:
            return f"the condensed context {error}"
        texts = [item.text for item in condensed.items] if condensed else []
        return "a guard withholds an item of the condensed context" if self._withheld(work.asked.query, texts) else ""

    def _withheld(self, query: Query, texts: Sequence[str]) -> bool:
        """Whether a guard takes out one of the texts, which a model or a document may have written."""
        guards = {name: each for name, each in self.pipeline.reading.screens.items() if name.startswith(GUARD)}
        if not guards:
            return False
        (screened,) = screen(guards, [query], NOTHING, self.pipeline.corpus, [Look(results=tuple(filter(None, texts)))])
        return bool(screened.withheld)
