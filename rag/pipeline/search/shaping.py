"""Shapes before and after a search: what a question asks for, and at most one more search where its scope changed."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from rag.core.corpus import Corpus
from rag.core.look_checks import check_shape
from rag.core.looks import Act, LookStep, Shape
from rag.core.roles import Memory, Shaper, reads
from rag.core.roles.looking import Asked, Shaped
from rag.core.types import Allowed, Framed
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.search.condensing import ShownPassages
from rag.pipeline.search.timing import Step
from rag.pipeline.search.traces import SHOWN, Link, Trace, Work

ALIKE = 0.5
"""Two domains with at least this share of their words in common are one."""
WORD = re.compile(r"\w+")


def changed(before: Shape, after: Shape) -> bool:
    """Whether the scope of a question changed: another intent, or a domain that does not name the one before more precisely."""
    if before.intent and after.intent and before.intent != after.intent:
        return True
    old, new = (set(WORD.findall(shape.domain.casefold())) for shape in (before, after))
    return bool(old and new) and not old <= new and len(old & new) < ALIKE * len(old | new)


@dataclass(frozen=True)
class ShapeLink:
    """Shapes questions by the text about the project and what `memory` recalls, where the shaper reads it."""

    shaper: Shaper
    corpus: Corpus
    allowed: Allowed | None
    project: str
    memory: Memory | None
    guards: Excerpts
    step: Step

    def look(self, works: Sequence[Work]) -> None:
        """Set the shapes of questions and their search texts."""
        open_ = [work for work in works if not work.look.declined]
        for work, texts in zip(open_, self.shape("shape", open_, self.asked(open_)) if open_ else (), strict=True):
            work.sought = replace(work.sought, texts=texts)
            work.trace = replace(work.trace, sought=work.sought)

    def asked(self, works: Sequence[Work]) -> list[Asked]:
        """What the shaper reads of questions."""
        rows = np.unique(self.corpus.doc if self.allowed is None else self.corpus.doc[self.allowed]).tolist()
        titles = tuple(dict.fromkeys(self.corpus.titles[row] for row in rows))
        names = dict.fromkeys(PurePath(self.corpus.documents[row].doc_id).name for row in rows)
        asked = [Asked(work.query, work.own.question, self.project, titles=titles) for work in works]
        asked = [replace(one, titles=(*titles, *(name for name in names if name in one.question))) for one in asked]
        if self.memory is None:
            return asked
        recalled = self.memory.recall([work.query for work in works])
        return [replace(one, recalled=part) for one, part in zip(asked, recalled, strict=True)]

    def shape(self, act: Act, works: Sequence[Work], asked: Sequence[Asked]) -> list[tuple[str, ...]]:
        """Set the shapes of questions; what each is searched for with it. A shape that breaks a rule is the one before."""
        began = time.perf_counter()
        with self.step("shape"):
            given = self.shaper.shape(asked)
        seconds, found = (time.perf_counter() - began) / max(len(works), 1), []
        for work, shaped in zip(works, given, strict=True):
            before = work.look.shape or Shape()
            if failure := self._unlawful(work, shaped):
                shaped = replace(shaped, shape=before, search="", failure=failure)
            shape, took = shaped.shape, (shaped.tokens, shaped.cost, seconds)
            lines = shape.intent, shape.domain, *(": ".join(header) for header in shape.headers)
            observed = " · ".join(filter(None, lines))[:SHOWN]
            step = LookStep(act, work.own.question[:SHOWN], observed, (), shaped.failure[:SHOWN], *took)
            work.note(step, shape=shape)
            found.append(tuple(dict.fromkeys((*work.own.texts, *filter(None, (shaped.search,))))))
        return found

    def _unlawful(self, work: Work, shaped: Shaped) -> str:
        try:
            check_shape(shaped.shape)
        except ValueError as error:
            return f"the shape {error}"
        texts = (shaped.shape.domain, shaped.search, *(text for _, text in shaped.shape.headers))
        withheld = self.guards.withhold(work.query, texts, self.corpus)
        return "a guard withholds a line of the shape" if withheld else ""


@dataclass(frozen=True)
class AuditLink:
    """Audits shapes after a search; `again` are the links of one more search, for questions whose scope changed."""

    shaping: ShapeLink
    passages: ShownPassages
    again: Sequence[Link]

    def look(self, works: Sequence[Work]) -> None:
        """Set the shapes of questions that have passages, and search for some of them once more."""
        self.passages.note(works)
        read = [work for work in works if work.shown and work.shown.chunks]
        if not read:
            return
        before = [work.look.shape or Shape() for work in read]
        asked = [self._asked(work, one) for work, one in zip(read, self.shaping.asked(read), strict=True)]
        texts, again = self.shaping.shape("audit", read, asked), list[Work]()
        for work, old, new in zip(read, before, texts, strict=True):
            if changed(old, work.look.shape or Shape()):
                against, (*steps, last) = self._against(work, new), work.look.steps
                observed = f"{last.observed}; the scope changed: {against or 'one more search'}"
                work.trace = replace(work.trace, look=replace(work.look, steps=(*steps, replace(last, observed=observed))))
                if not against:
                    work.sought = replace(work.sought, texts=new)
                    again.append(work)
        self._search(again)

    def _asked(self, work: Work, asked: Asked) -> Asked:
        """What the shaper reads of one question after the search."""
        chunks, framed, condensed = work.shown.chunks if work.shown else (), Framed(()), work.look.condensed
        if reads(self.shaping.shaper, "passages"):
            items = tuple(item.text for item in condensed.items) if condensed else ()
            framed = self.passages.excerpts.framed(work.query, items) if items else self.passages.framed(work)
        sources = tuple(self.passages.corpus.title(chunk.span.doc_id) for chunk in chunks)
        return replace(asked, before=work.look.shape or Shape(), read=framed, sources=sources)

    def _against(self, work: Work, texts: Sequence[str]) -> str:
        """Why a question is not searched for again; empty if it is."""
        if not self.again:
            return "files are locked, and nothing is searched for"
        if work.look.result:
            return "records decide where to search"
        return "" if tuple(texts) != work.sought.texts else "the search texts stay"

    def _search(self, works: Sequence[Work]) -> None:
        """Search once more; the route and the shape stay."""
        new = [Work(work.query, work.own, work.sought, Trace.at(work.sought), work.allowed) for work in works]
        for link in self.again:
            link.look(new)
        self.passages.note(new)
        for work, one in zip(works, new, strict=True):
            steps, kept = (*work.look.steps, *one.look.steps), (one.look.results, one.look.condensed)
            look = replace(work.look, steps=steps, results=kept[0], condensed=kept[1])
            work.trace, work.reuse = replace(one.trace, look=look), None
