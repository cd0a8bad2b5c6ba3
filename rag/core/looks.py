"""What happens between a question and its prompt besides one search: routes, policies, shapes and condensed passages."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rag.core.records.queries import BY_RULES, Result, Routed

Act = Literal["search", "query_records", "decompose", "gap", "think", "stop", "reuse", "merge", "shape", "condense", "audit"]
POLICY: tuple[Act, ...] = ("search", "query_records", "decompose", "gap", "think")
ROLES: dict[Act, str] = dict.fromkeys(POLICY, "policy") | {"shape": "shape", "audit": "shape", "condense": "condense"}
"""The acts for which a model is asked, or that it asks for, with the roles of their components."""
KINDS = ("facts", "constraints", "open_issues")
"""The kinds of items in a condensed context, in the order of the prompt."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a question asks for: its intent, the part of the documents that it is about, and named lines for the prompt.

    `intent` and `domain` are empty where they are not known.
    """

    intent: str = ""
    domain: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A text of a condensed context, with the numbers of the passages that it comes from."""

    text: str
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Condensed:
    """What passages say about a question; `read` are their chunk_ids in the order of their numbers."""

    facts: tuple[Item, ...] = ()
    constraints: tuple[Item, ...] = ()
    open_issues: tuple[Item, ...] = ()
    read: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """All items in the order of the prompt."""
        return self.facts + self.constraints + self.open_issues

    def with_texts(self, texts: Sequence[str]) -> "Condensed":
        """The same items with other texts, in the order of `items`."""
        new = iter([replace(item, text=text) for item, text in zip(self.items, texts, strict=True)])
        facts, constraints, open_issues = (tuple(next(new) for _ in getattr(self, kind)) for kind in KINDS)
        return Condensed(facts, constraints, open_issues, self.read)


@dataclass(frozen=True, slots=True)
class LookStep:
    """One step before the prompt: the act, what it was given, what came back in a few words, and what it took.

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
    """How a question was answered, apart from one search: its route, the result of records, and the steps before the prompt.

    With a `result` and the route `records`, the answer is a sentence about the result, and no model is asked. `results` are
    texts of records for the prompt. `note` says why a fallback was used, empty if none was. `shape` and `condensed` are those
    of the prompt, None without a shaper, and where the prompt shows the passages themselves. A question that is `declined` is
    off the topic, and no model is asked.
    """

    routed: Routed = field(default_factory=Routed)
    result: Result | None = None
    results: tuple[str, ...] = ()
    steps: tuple[LookStep, ...] = ()
    note: str = ""
    shape: Shape | None = None
    condensed: Condensed | None = None
    declined: bool = False

    @property
    def answers(self) -> bool:
        """True if the answer is about the result alone: the route is `records`, or no record can narrow the search."""
        return self.result is not None and (self.routed.mechanism == "records" or not self.result.rows)

    @property
    def not_condensed(self) -> str:
        """Why the passages themselves are shown instead of a condensed context; empty if they are not."""
        last = next((step for step in reversed(self.steps) if step.act == "condense"), None)
        return f"{last.failure}; the passages are shown" if last and last.failure else ""

    @property
    def tokens(self) -> int:
        """The tokens of the route and of all steps."""
        return self.routed.tokens + sum(step.tokens for step in self.steps)

    @property
    def cost(self) -> float:
        """The cost of the route and of all steps, in US dollars."""
        return self.routed.cost + sum(step.cost for step in self.steps)

    @property
    def unusable(self) -> list[str]:
        """The role of each reply that could not be used, with calls that failed."""
        routes = ["route"] if self.routed.why.startswith(BY_RULES) else []
        return routes + [ROLES[step.act] for step in self.steps if step.failure and step.act in ROLES]
