"""Condensed passages, each checked against its sources."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.core.corpus import Corpus
from rag.core.look_checks import check_condensed
from rag.core.looks import KINDS, Condensed, LookStep
from rag.core.rankings import stacked
from rag.core.roles import Condenser, reads
from rag.core.roles.looking import Condensation, Kept
from rag.core.types import Chunk, Framed
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import SHOWN, Work


@dataclass(frozen=True)
class ShownPassages:
    """The passages that a prompt would show. `searches`: something was searched for."""

    excerpts: Excerpts
    corpus: Corpus
    searches: bool

    def note(self, works: Sequence[Work]) -> None:
        """Set the passages of questions that records do not answer, and add the step of a search that has none."""
        for work in works:
            work.note(*self._step(work))
        open_ = [work for work in works if not work.look.answers and work.shown is None]
        found = stacked([work.trace.selected for work in open_])
        queries, looks = [work.query for work in open_], [work.look for work in open_]
        screened = self.excerpts.screen(queries, found, self.corpus, looks) if open_ else []
        for work, seen in zip(open_, screened, strict=True):
            work.shown = self.excerpts.packed(seen, self.corpus)

    def framed(self, work: Work) -> Framed:
        """The texts of the passages of a question as a model may read them."""
        return self.excerpts.framed(work.query, self.excerpts.quoted(work.shown, self.corpus) if work.shown else ())

    def _step(self, work: Work) -> list[LookStep]:
        if not self.searches or work.look.answers or any(step.act != "shape" for step in work.look.steps):
            return []
        first = work.trace.selected.first(self.excerpts.k).row(0)
        names = tuple(self.corpus.chunk(position).chunk_id for position, _ in first)
        return [LookStep("search", " | ".join(work.sought.texts)[:SHOWN], f"{len(names)} passages", names)]


@dataclass(frozen=True)
class CondenseLink:
    """Condenses what is kept of passages; nothing of locked files."""

    condenser: Condenser
    passages: ShownPassages
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the condensed contexts of questions that have passages."""
        self.passages.note(works)
        read = [work for work in works if work.shown and work.shown.chunks]
        if not read or self.passages.excerpts.locked:
            return
        began = time.perf_counter()
        with self.step("condense"):
            made = self.condenser.condense([self._kept(work) for work in read])
        seconds = (time.perf_counter() - began) / len(read)
        for work, one in zip(read, made, strict=True):
            self._set(work, one, seconds)

    def _kept(self, work: Work) -> Kept:
        framed = self.passages.framed(work) if reads(self.condenser, "passages") else Framed(())
        return Kept(work.query, work.sought.question, _chunks(work), framed)

    def _set(self, work: Work, one: Condensation, seconds: float) -> None:
        chunks, condensed, counts = _chunks(work), None, ""
        failure = one.failure or self._unfit(work, one.condensed)
        if one.condensed and not failure:
            condensed = replace(one.condensed, read=tuple(chunk.chunk_id for chunk in chunks))
            counts = ", ".join(f"{len(getattr(one.condensed, kind))} {kind.replace('_', ' ')}" for kind in KINDS)
        took = one.tokens, one.cost, seconds
        work.note(LookStep("condense", f"{len(chunks)} passages", counts, (), failure[:SHOWN], *took), condensed=condensed)

    def _unfit(self, work: Work, condensed: Condensed | None) -> str:
        """Why a condensed context is not shown; empty if it is."""
        corpus = self.passages.corpus
        headed = [(corpus.title(one.span.doc_id), *(part.path for part in one.sections), one.text) for one in _chunks(work)]
        try:
            check_condensed(condensed or Condensed(), ["\n".join(texts) for texts in headed], work.sought.question)
        except ValueError as error:
            return f"the condensed context {error}"
        texts = [item.text for item in condensed.items] if condensed else []
        withheld = self.passages.excerpts.withhold(work.query, texts, corpus)
        return "a guard withholds an item of the condensed context" if withheld else ""


def _chunks(work: Work) -> tuple[Chunk, ...]:
    return work.shown.chunks if work.shown else ()
