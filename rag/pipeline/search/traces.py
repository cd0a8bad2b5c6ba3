"""The search for one question, step by step, and a question on its way through the links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rag.core.looks import Look, LookStep
from rag.core.rankings import Rankings
from rag.core.types import Allowed, Query, Sought
from rag.pipeline.prompt.context_packing import Packed

NOTHING = Rankings.pack([[]])
SHOWN = 300
"""The most characters of a text in a step."""


@dataclass(frozen=True)
class Trace:
    """The search texts of one question, and its rankings after every step; `look` is None for one look at passages."""

    sought: Sought
    indexes: Mapping[str, Rankings]
    fused: Rankings
    reranked: Rankings
    selected: Rankings
    look: Look | None = None

    @classmethod
    def at(cls, sought: Sought, ranking: Rankings = NOTHING, look: Look | None = None) -> "Trace":
        """A trace with one ranking for all steps."""
        return cls(sought, {}, ranking, ranking, ranking, look)


def traced(
    sought: Sought, row: int, searched: Mapping[str, Rankings], fused: Rankings, reranked: Rankings, look: Look | None
) -> Trace:
    """The trace of the question in one row of the rankings of many; nothing is selected yet."""
    first = fused.only(row)
    last = first if reranked is fused else reranked.only(row)
    return Trace(sought, {name: rankings.only(row) for name, rankings in searched.items()}, first, last, last, look)


@dataclass(frozen=True)
class Reuse:
    """What is used again for one question: the ranking of an earlier one, `full` or in half, and the step that says so."""

    ranking: Rankings
    step: LookStep
    full: bool


@dataclass
class Work:
    """A question on its way through the links; what a link finds is in `trace`.

    `own` are the search texts of the rewriter, `sought` those with the text of a shape. `allowed` flags the chunks that may be
    found, None for all. `reuse` and `shown` are notes of one link for another; a stage does not store them.
    """

    query: Query
    own: Sought
    sought: Sought
    trace: Trace
    allowed: Allowed | None = None
    reuse: Reuse | None = None
    shown: Packed | None = None

    @classmethod
    def of(cls, query: Query, sought: Sought, allowed: Allowed | None = None) -> "Work":
        """A question that nothing was found for yet."""
        return cls(query, sought, sought, Trace.at(sought), allowed)

    @property
    def alone(self) -> Query:
        """The question in words that can be understood alone."""
        return replace(self.query, text=self.sought.question)

    @property
    def look(self) -> Look:
        """What happened besides a search."""
        return self.trace.look or Look()

    @property
    def finished(self) -> bool:
        """Whether nothing needs to be searched for: it is declined, records answer, or all passages are used again."""
        return self.look.declined or self.look.answers or (self.reuse is not None and self.reuse.full)

    def note(self, *steps: LookStep, **changes: Any) -> None:
        """Add steps to the look, and change its fields."""
        self.trace = replace(self.trace, look=replace(self.look, steps=(*self.look.steps, *steps), **changes))


class Link(Protocol):
    """One link between questions and their passages."""

    def look(self, works: Sequence[Work]) -> None:
        """Do the work of this link for questions; they do not affect each other."""
        ...
