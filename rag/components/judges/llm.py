"""A chat model as a judge: it gets the contexts and the numbered claims of a text, and says which claims are supported.

Zheng et al. 2023, "Judging LLM-as-a-Judge".
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.components.judges.claim_judge import ModelJudge
from rag.components.judges.replies import ClaimReply, majority, place, relevance, verdicts
from rag.components.judges.votes import VoteRequest, ask
from rag.core.assessments import Case, Claim, QuotedPassage, Spent, Verdict
from rag.core.checks import check_whole
from rag.core.text.citations import without_markers
from rag.core.text.refusals import claims
from rag.core.text.sentences import Piece
from rag.core.text.templates import check_template, fill
from rag.core.types import Message

PLACES: Mapping[str, tuple[str, ...]] = {"prompt": ("contexts", "claims"), "relevance": ("question", "text")}
"""The placeholders that each prompt needs."""


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
        requests = [self._claims_request(case, own) for case, (own, _) in zip(cases, spans, strict=True)]
        ask(self.generator, [request for request in requests if request], self.votes, self.attempts, self.again)
        return [
            (Verdict(tuple(_claim(request, case, number, *span) for number, span in enumerate(own)), abstained), request.spent)
            if request
            else (Verdict((), abstained), Spent())
            for case, (own, abstained), request in zip(cases, spans, requests, strict=True)
        ]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The relevance of each text, NaN without a vote, with tokens and cost."""
        prompts = (self._messages(self.relevance, question=question, text=text) for question, text in pairs)
        requests = [VoteRequest(messages, relevance) for messages in prompts]
        ask(self.generator, requests, self.votes, self.attempts, self.again)
        means = (math.fsum(request.votes) / len(request.votes) if request.votes else math.nan for request in requests)
        return [(mean, request.spent) for mean, request in zip(means, requests, strict=True)]

    def _claims_request(self, case: Case, spans: Sequence[Piece]) -> VoteRequest[list[ClaimReply]] | None:
        """The request for votes about the claims of a case; None without claims."""
        if not spans:
            return None
        texts = [without_markers(case.text[start:end]) for start, end in spans]
        values = {"question": case.question, "contexts": _numbered(case.contexts), "claims": _numbered(texts)}
        return VoteRequest(self._messages(self.prompt, **values), lambda reply: verdicts(reply, len(spans)))

    def _messages(self, prompt: str, **values: str) -> tuple[Message, Message]:
        return Message("system", self.instruction), Message("user", fill(prompt, values))


def _numbered(texts: Sequence[str]) -> str:
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def _claim(request: VoteRequest[list[ClaimReply]], case: Case, number: int, start: int, end: int) -> Claim:
    if not request.votes:
        return Claim(start, end, math.nan, failure=request.wrong)
    support, reply = majority([vote[number] for vote in request.votes])
    contexts = case.contexts
    where = place(reply.quote, contexts[reply.context - 1]) if 1 <= reply.context <= len(contexts) else None
    return Claim(start, end, support, (QuotedPassage(reply.context, *where),) if where else ())
