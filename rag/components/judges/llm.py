"""A chat model as a judge: it gets the contexts and the numbered claims of a text, and says which claims are supported.

Zheng et al. 2023, "Judging LLM-as-a-Judge".
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rag.components.judges.claim_judge import ModelJudge
from rag.core.assessments import Case, Claim, QuotedPassage, Spent, Verdict
from rag.core.checks import check_whole
from rag.core.models.typed_reply import Typed, ask_typed, json_object
from rag.core.text.citations import without_markers
from rag.core.text.refusals import claims
from rag.core.text.sentences import Piece
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request

RELEVANT = 3
"""The best grade of relevance."""


@dataclass(frozen=True)
class ClaimReply:
    """The verdict of a model on one claim; `context` counts from 1, 0 for none, `quote` are the words of the context."""

    supported: bool
    context: int = 0
    quote: str = ""


def verdicts(reply: str, claims: int) -> list[ClaimReply]:
    """One verdict per claim, in order; a reply must have exactly one for each."""
    rows = json_object(reply).get("verdicts")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("holds no list of verdicts")
    replies: dict[int, ClaimReply] = {}
    for row in rows:
        number, supported = row.get("claim"), row.get("supported")
        if type(number) is not int or not 1 <= number <= claims or number in replies:
            raise ValueError(f"speaks of claim {number!r}")
        if not isinstance(supported, bool):
            raise ValueError(f"says {supported!r} of claim {number}, which is neither true nor false")
        context = row.get("context")
        replies[number] = ClaimReply(supported, context if type(context) is int else 0, str(row.get("quote") or ""))
    if len(replies) != claims:
        raise ValueError(f"speaks of {len(replies)} of {claims} claims")
    return [replies[number] for number in range(1, claims + 1)]


def relevance(reply: str) -> float:
    """A grade from 0 to RELEVANT as a share of RELEVANT."""
    grade = json_object(reply).get("relevance")
    if type(grade) is not int or not 0 <= grade <= RELEVANT:
        raise ValueError(f"gives {grade!r}, which is not a whole number from 0 to {RELEVANT}")
    return grade / RELEVANT


def place(quote: str, context: str) -> tuple[int, int] | None:
    """The place of a quote in a context, white space and case ignored; None without one."""
    parts = [re.escape(part) for part in quote.split()]
    match = re.search(r"\s+".join(parts), context, re.IGNORECASE) if parts else None
    return match.span() if match else None


def majority(votes: Sequence[ClaimReply]) -> tuple[float, ClaimReply]:
    """The share of votes for support, and the first vote of the majority (unsupported if they are even)."""
    share = sum(vote.supported for vote in votes) / len(votes)
    return share, next(vote for vote in votes if vote.supported == (share > 0.5))


PLACES: Mapping[str, tuple[str, ...]] = {"prompt": ("contexts", "claims"), "relevance": ("question", "text")}
"""The placeholders that each prompt needs."""
Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class LlmJudge(ModelJudge):
    """Support is the share of `votes` that call a claim supported, relevance the mean of the grades.

    `instruction` is the system message, `prompt` the user message with the placeholders {question}, {contexts} and {claims};
    `relevance`, with {question} and {text}, asks for a grade from 0 to 3. A claim without a valid vote is a failure. Votes
    differ only if the temperature of the generator is above 0.
    """

    instruction: str
    prompt: str
    relevance: str
    votes: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, needed in PLACES.items():
            check_template(f"judge.{name}", getattr(self, name), needed)
        check_whole("judge.votes", self.votes, 1)

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, with the tokens and cost of each."""
        spans = [claims(case.text, self.patterns) for case in cases]
        asked = [number for number, (own, _) in enumerate(spans) if own]
        votes = self._votes([self._claims_request(cases[number], spans[number][0]) for number in asked])
        found = dict(zip(asked, votes, strict=True))
        return [
            (
                Verdict(tuple(_claim(found[number], cases[number], *each) for each in enumerate(own)), abstained),
                sum((vote.spent for vote in found.get(number, ())), Spent()),
            )
            for number, (own, abstained) in enumerate(spans)
        ]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The relevance of each text, NaN without a vote, with tokens and cost."""
        found = self._votes([(self._messages(self.relevance, question=one, text=text), relevance) for one, text in pairs])
        grades = ([vote.value for vote in votes if vote.value is not None] for votes in found)
        means = (math.fsum(each) / len(each) if each else math.nan for each in grades)
        return [(mean, sum((vote.spent for vote in votes), Spent())) for mean, votes in zip(means, found, strict=True)]

    def _votes(self, asked: Sequence[tuple[tuple[Message, ...], Callable[[str], Read]]]) -> list[list[Typed[Read]]]:
        """The votes for each prompt with the parser of its replies."""
        rounds = [
            [Typed(Request(Query(str(vote), ""), (), messages, sample=vote), read) for messages, read in asked]
            for vote in range(self.votes)
        ]
        for requests in rounds:
            ask_typed(self.generator, requests, self.attempts, self.again, falls_back=False)
        return [list(votes) for votes in zip(*rounds, strict=True)]

    def _claims_request(
        self, case: Case, spans: Sequence[Piece]
    ) -> tuple[tuple[Message, ...], Callable[[str], list[ClaimReply]]]:
        texts = [without_markers(case.text[start:end]) for start, end in spans]
        values = {"question": case.question, "contexts": _numbered(case.contexts), "claims": _numbered(texts)}
        return self._messages(self.prompt, **values), lambda reply: verdicts(reply, len(spans))

    def _messages(self, prompt: str, **values: str) -> tuple[Message, Message]:
        return Message("system", self.instruction), Message("user", fill(prompt, values))


def _numbered(texts: Sequence[str]) -> str:
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def _claim(votes: Sequence[Typed[list[ClaimReply]]], case: Case, number: int, span: Piece) -> Claim:
    start, end = span
    if not (valid := [vote.value[number] for vote in votes if vote.value]):
        return Claim(start, end, math.nan, failure=votes[-1].wrong)
    support, reply = majority(valid)
    contexts = case.contexts
    where = place(reply.quote, contexts[reply.context - 1]) if 1 <= reply.context <= len(contexts) else None
    return Claim(start, end, support, (QuotedPassage(reply.context, *where),) if where else ())
