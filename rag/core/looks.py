"""More than one look: what a policy does between a question and its passages."""

from dataclasses import dataclass, field
from typing import Literal

from rag.core.record_queries import Result, Routed

Act = Literal["search", "query_records", "decompose", "gap", "think", "stop", "reuse", "merge"]


@dataclass(frozen=True, slots=True)
class LookStep:
    """One step of a policy: the act, what it was given, what came back in a few words, and what it took.

    `found` are the chunk_ids of the passages that it found first; `failure` is why it did nothing, such as invalid JSON.
    """

    act: Act
    given: str
    observed: str = ""
    found: tuple[str, ...] = ()
    failure: str = ""
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """How a question was answered, apart from one search: its route, the result of records, and the steps of a policy.

    With a `result` and the route `records`, the answer is a sentence about the result, and no model is asked. `results` are
    texts of records for the prompt. `note` says why a fallback was used, empty if none was.
    """

    routed: Routed = field(default_factory=Routed)
    result: Result | None = None
    results: tuple[str, ...] = ()
    steps: tuple[LookStep, ...] = ()
    note: str = ""

    @property
    def answers(self) -> bool:
        """True if the answer is about the result alone: the route is `records`, or no record can narrow the search."""
        return self.result is not None and (self.routed.mechanism == "records" or not self.result.rows)

    @property
    def tokens(self) -> int:
        """The tokens of the route and of all steps."""
        return self.routed.tokens + sum(step.tokens for step in self.steps)

    @property
    def cost(self) -> float:
        """The cost of the route and of all steps, in US dollars."""
        return self.routed.cost + sum(step.cost for step in self.steps)
