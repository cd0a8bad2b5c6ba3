"""The Protocols of answering: rewriters, memories, prompts, generators, checks and guards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rag.core.errors import UserError
from rag.core.systems import SystemReply
from rag.core.types import Finding, Framed, Material, Message, Query, Ranking, Recalled, Reply, Request, Sought, Source


@runtime_checkable
class System(Protocol):
    """A system outside of Assay, or what it returned before."""

    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        """One per question, in their order. A question on which it fails has a `failure`."""


@runtime_checkable
class Rewriter(Protocol):
    """Makes search texts of a question and the turns before it."""

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """One per query; if a model fails, the question as it was typed, with a note."""


@runtime_checkable
class Memory(Protocol):
    """Chooses the earlier turns that a model is shown."""

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """One per query, which depends only on the query and its history."""


@runtime_checkable
class Screen(Protocol):
    """A check or guard that reads the passages before the model does."""

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """Findings per question; `quarantine` removes a context, `abstain` answers without the model."""


@runtime_checkable
class Replying(Protocol):
    """A Screen that replies to some messages by itself: nothing is searched for them."""

    def reply(self, query: Query) -> Finding | None:
        """The finding of `screen` on such a message, with the action `abstain` and a reply."""


@runtime_checkable
class Framing(Protocol):
    """A guard that changes the contexts in the prompt."""

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """The same number of contexts, in their order."""


@runtime_checkable
class Inspection(Protocol):
    """A check or guard that reads replies."""

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """Findings per reply: `flag`, `remove` (a span of the reply), `refuse` or `regenerate`."""


@runtime_checkable
class Prompt(Protocol):
    """Makes the messages for a model of a question and its material."""

    @property
    def refusal(self) -> str:
        """The sentence that the model is to reply if there is no answer; empty for none."""

    def render(self, material: Material) -> tuple[Message, ...]:
        """The messages; contexts are numbered from 1."""


@runtime_checkable
class Quoting(Protocol):
    """A Prompt that shows more of a passage than its text, such as the title of its document."""

    def quoted(self, sources: Sequence[Source]) -> tuple[str, ...]:
        """The text of each source as the prompt shows it: guards frame it before it is rendered."""


@runtime_checkable
class Generator(Protocol):
    """Answers from contexts."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in order."""

    def stream(self, request: Request) -> Iterator[str]:
        """The reply to one request in pieces; joined they are its text.

        A generator function may return the Reply with its tokens and cost; without it they count as 0.
        """


@runtime_checkable
class CostEstimate(Protocol):
    """A Generator that can estimate its cost before it is called."""

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """Tokens and US dollars of requests with so many tokens in prompt and reply; None for the longest reply."""


@runtime_checkable
class BoundedCost(Protocol):
    """A Generator with an upper limit of its cost, by which a budget is kept."""

    def expected(self, request: Request) -> tuple[int, float]:
        """The most tokens and US dollars that a request may take."""


@runtime_checkable
class StoredReplies(Protocol):
    """A Generator whose replies are stored under what its server receives, so that they outlive changes of the code."""

    def sent(self, request: Request) -> Mapping[str, Any]:
        """Everything that the server receives."""


@runtime_checkable
class PartialBatches(Protocol):
    """A Generator that gives each reply as it comes, so that a kill or an error loses none before it."""

    def attempts(self, requests: Sequence[Request]) -> Iterable[Reply | UserError]:
        """As `generate`, with a UserError in place of every reply that failed."""


@runtime_checkable
class Batched(Protocol):
    """A Generator whose server answers many requests as one job, which goes on without this process and may take hours."""

    share: float
    """The part of its price that a request of a job costs."""

    def start(self, requests: Mapping[str, Request]) -> tuple[str, Sequence[str]]:
        """Send the first requests, as many as fit into one job; its id, and their names."""

    def replies(self, job: str, requests: Mapping[str, Request]) -> Iterable[tuple[str, Reply]]:
        """Wait for a job; its replies to these requests by their names. Those without one are left out."""
