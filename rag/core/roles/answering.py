"""The Protocols of answering: what is searched for, shown, generated and checked."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from rag.core.records import Finding, Framed, Material, Message, Query, Ranking, Recalled, Reply, Request, Sought, Source


@runtime_checkable
class Rewriter(Protocol):
    """Says what is searched for on behalf of a question and the turns before it."""

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """One per query; what depends on a model falls back to the question as it was typed, and says so."""
        ...


@runtime_checkable
class Memory(Protocol):
    """Chooses what a model is shown of the turns before a question."""

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """One per query; it depends on nothing but the query and its history."""
        ...


@runtime_checkable
class Screen(Protocol):
    """A check or guard that looks at what was found before a model does."""

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """Findings per question; `quarantine` takes a context out, `abstain` keeps the model from being asked."""
        ...


@runtime_checkable
class Framing(Protocol):
    """A guard that changes how contexts are shown to a model."""

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """As many contexts as were given, in their order."""
        ...


@runtime_checkable
class Inspection(Protocol):
    """A check or guard that looks at replies."""

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """Findings per reply: `flag`, `remove` (a span of the reply), `refuse` or `regenerate`."""
        ...


@runtime_checkable
class Prompt(Protocol):
    """Lays out a question and its material for a model."""

    @property
    def refusal(self) -> str:
        """The sentence that says that there is no answer; empty for none."""
        ...

    def render(self, material: Material) -> tuple[Message, ...]:
        """The exact messages; contexts are numbered from 1."""
        ...


@runtime_checkable
class Quoting(Protocol):
    """A Prompt that shows more of a passage than its text, such as the title of its document."""

    def quoted(self, sources: Sequence[Source]) -> tuple[str, ...]:
        """What stands of each source in the prompt and was written by others: guards frame it before it is rendered."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Answers from contexts."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in order."""
        ...

    def stream(self, request: Request) -> Iterator[str]:
        """The reply to one request in pieces, as they come; joined they are its text.

        A generator function that returns the Reply tells what it took; the pieces alone are a reply that took nothing.
        """
        ...
