"""Cases for judges and their verdicts: the support of a text and of its claims by contexts.

Offsets count Unicode code points, end exclusive.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rag.core.numbers import mean

OVERALL, PASSES = "overall_pass", "passes"
"""The source of a finding that says whether a judge passes a reply, and the first word of one that does."""


@dataclass(frozen=True, slots=True)
class Case:
    """A text to judge, an answer or a single claim, and the contexts that should support it; `question` may be empty."""

    text: str
    contexts: tuple[str, ...]
    question: str = ""


@dataclass(frozen=True, slots=True)
class QuotedPassage:
    """The characters [start, end) of context number `context`, from 1 as in citations."""

    context: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The characters [start, end) of a judged text, and their support by the contexts in [0, 1].

    `evidence` are passages for it, best first. `lacking` are words of the claim that no context has and that make it doubtful:
    numbers, names, a negation. `failure` is the reason why the claim could not be judged; its support is then NaN.
    """

    start: int
    end: int
    support: float
    evidence: tuple[QuotedPassage, ...] = ()
    lacking: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The claims of a text in reading order.

    `whole` is the probability that the whole text follows from its contexts, for judges that measure it. A text that declines
    to answer has no claims and `abstained`: it is not unfaithful, and it has no faithfulness.
    """

    claims: tuple[Claim, ...] = ()
    abstained: bool = False
    whole: float | None = None

    @property
    def failures(self) -> int:
        """The number of claims that could not be judged."""
        return sum(bool(claim.failure) for claim in self.claims)

    @property
    def faithfulness(self) -> float:
        """`whole`, or else the mean support of the judged claims; NaN for an abstention or without a judged claim.

        It is not the share of claims above a threshold: a support is a probability, and a threshold would lose the difference
        between claims near to it.
        """
        return mean(self._supports()) if self.whole is None else self.whole

    @property
    def support(self) -> float:
        """The support of the text as a whole: `whole`, or else the least support of a claim; NaN as for `faithfulness`."""
        return min(self._supports(), default=math.nan) if self.whole is None else self.whole

    def _supports(self) -> list[float]:
        return [claim.support for claim in self.claims if not claim.failure]


LONGEST = 160
"""The most characters of a failure that are shown: it may quote a long reply."""


def first_failure(verdicts: Iterable[Verdict]) -> str:
    """The failure of the first claim that could not be judged; empty if there is none."""
    failure = next((claim.failure for verdict in verdicts for claim in verdict.claims if claim.failure), "")
    return " ".join(failure.split())[:LONGEST]


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of prompts and replies, and US dollars, NaN if unknown."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        """The sums of tokens and dollars."""
        return Spent(self.tokens + other.tokens, self.cost + other.cost)

    def share(self, parts: int) -> "Spent":
        """One of so many equal parts, in whole tokens."""
        return Spent(round(self.tokens / parts), self.cost / parts)


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence of a reply, its characters [start, end), and the contexts that it cites.

    `support` is that by all cited contexts together, NaN if it cites none or could not be judged. `needed` has a value for
    each of `contexts`: whether it alone supports the sentence, or the others do not support it without this one.
    """

    start: int
    end: int
    contexts: tuple[int, ...]
    support: float
    needed: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """How right an answer is, in [0, 1], and the name of the rule that says so; NaN if a judge failed, with its `failure`.

    `recall` is the support of the claims of the reference by the answer, `precision` that of the claims of the answer by the
    reference; NaN where a rule decided.
    """

    value: float
    rule: str
    recall: float = math.nan
    precision: float = math.nan
    failure: str = ""


REFERENCE = "reference"
PARTS = ("verdict", "relevance", "contexts", "citations", REFERENCE)
"""The parts of an assessment; a metric names those that it reads in `needs`."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The judgement of an answer; parts that no metric needs keep their defaults.

    `verdict` is the support of its claims by its contexts; `relevance` is that of the answer to the question, `contexts` that
    of each context, in [0, 1], NaN if it could not be judged; `citations` has one entry per sentence; `reference` is None where
    correctness does not apply.
    """

    threshold: float
    verdict: Verdict | None = None
    relevance: float = math.nan
    contexts: tuple[float, ...] = ()
    citations: tuple[Cited, ...] = ()
    reference: Compared | None = None
    tokens: int = 0
    cost: float = 0.0
