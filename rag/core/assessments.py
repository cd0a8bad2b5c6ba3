"""What judges read and say: a text with the contexts it should follow from, and how far each of its claims does.

Offsets count Unicode code points, end exclusive, as everywhere.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A text to judge, an answer or a single claim, and the contexts it is to follow from; `question` may be empty."""

    text: str
    contexts: tuple[str, ...]
    question: str = ""


@dataclass(frozen=True, slots=True)
class QuotedPassage:
    """The characters [start, end) of context number `context`, which counts from 1 as citations do."""

    context: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """The characters [start, end) of a judged text, and how far the contexts carry them.

    `support` lies in [0, 1]. `evidence` is what was found for it, best first. `lacking` are the words of the claim that the
    contexts do not hold and that alone make it doubtful: numbers, names, a negation. `failure` says why the claim could not be
    judged; its support is then NaN.
    """

    start: int
    end: int
    support: float
    evidence: tuple[QuotedPassage, ...] = ()
    lacking: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of a text: its claims in reading order.

    `whole` is the probability that all of the text follows from its contexts, of a judge that measures texts as a whole. A text
    that says that it cannot answer has no claims and `abstained`: it is not unfaithful, and it has no faithfulness.
    """

    claims: tuple[Claim, ...] = ()
    abstained: bool = False
    whole: float | None = None

    @property
    def failures(self) -> int:
        """How many claims could not be judged."""
        return sum(bool(claim.failure) for claim in self.claims)

    @property
    def faithfulness(self) -> float:
        """`whole`, or else the mean support of the claims that were judged; NaN for an abstention and where none was judged.

        The mean of supports, not the share above a threshold: a support is a probability, and a cut loses what it says of the
        claims near the cut.
        """
        if self.whole is not None:
            return self.whole
        known = self._known()
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def support(self) -> float:
        """How far the text as a whole follows: `whole`, or else the least support of a claim. NaN as above."""
        return self.whole if self.whole is not None else min(self._known(), default=math.nan)

    def _known(self) -> list[float]:
        return [claim.support for claim in self.claims if not claim.failure]


LONGEST = 160
"""Characters of a failure that are shown: it may quote what a model said."""


def first_failure(verdicts: Iterable[Verdict]) -> str:
    """What was wrong with the first claim that could not be judged; empty where all could."""
    wrong = next((claim.failure for verdict in verdicts for claim in verdict.claims if claim.failure), "")
    return " ".join(wrong.split())[:LONGEST]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a judgement took: tokens of prompts and replies, and US dollars, NaN if unknown."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        """Both."""
        return Spent(self.tokens + other.tokens, self.cost + other.cost)


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence of a reply, the characters [start, end) of it, held against the contexts that it cites.

    `support` is its own by all the cited contexts together, NaN if it cites none or could not be judged;
    `needed` says, for each of `contexts`, whether it carries the sentence alone or the others do not without it.
    """

    start: int
    end: int
    contexts: tuple[int, ...]
    support: float
    needed: tuple[bool, ...] = ()


PARTS = ("verdict", "relevance", "contexts", "citations")
"""What a judge can be asked about an answer; a metric names those that it reads in `needs`."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a judge says of an answer, as far as it was asked.

    `verdict` holds its claims against its contexts; `relevance` is how far it speaks to the question, `contexts` how far each
    context does, in [0, 1], NaN where that could not be judged; `citations` has one entry per sentence.
    """

    threshold: float
    verdict: Verdict | None = None
    relevance: float = math.nan
    contexts: tuple[float, ...] = ()
    citations: tuple[Cited, ...] = ()
    tokens: int = 0
    cost: float = 0.0
