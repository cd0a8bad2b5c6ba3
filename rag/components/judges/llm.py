"""A chat model as a judge: it is shown the contexts and the numbered claims of a text, and says of each whether it follows.

Zheng et al. 2023, "Judging LLM-as-a-Judge". What it is told stands in the config; the model is any Generator, so that its
retries, limits, prices and stored replies are those of answering.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rag.components.judges.assertions import claims, refusals, without_markers
from rag.components.judges.replies import ClaimReply, majority, place, relevance, verdicts
from rag.components.judges.votes import VoteRequest, ask
from rag.core.assessments import Case, Claim, QuotedPassage, Spent, Verdict
from rag.core.errors import ConfigError
from rag.core.records import Message
from rag.core.roles import Generator, fingerprint
from rag.core.text.sentences import Piece

PLACES: Mapping[str, tuple[str, ...]] = {"prompt": ("contexts", "claims"), "relevance": ("question", "text")}
"""What stands in braces in each prompt."""
FILLED = re.compile(r"\{(question|contexts|claims|text)\}")


@dataclass(frozen=True)
class LlmJudge:
    """Support is the share of `votes` that call a claim supported, relevance the mean of the grades.

    Votes differ only where the generator's temperature is above 0.

    `instruction` is the system message, `prompt` the user's, with the places {question}, {contexts} and {claims}; `relevance`,
    with {question} and {text}, asks for a grade from 0 to 3. A reply that is not the JSON it asks for is answered with `again`,
    up to `attempts` replies per vote; what has no vote is a failure. `abstentions` are further regular expressions for
    sentences that say that nothing can be said.
    """

    generator: Generator
    instruction: str
    prompt: str
    relevance: str
    again: str
    votes: int = 1
    attempts: int = 2
    threshold: float = 0.5
    abstentions: Sequence[str] = ()
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("judge.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        for prompt, places in PLACES.items():
            if missing := [name for name in places if f"{{{name}}}" not in getattr(self, prompt)]:
                remedy = f"write {{{missing[0]}}} where they belong"
                raise ConfigError(f"judge.{prompt}", f"has no place for {missing[0]}", remedy)
        for name in ("votes", "attempts"):
            if getattr(self, name) < 1:
                raise ConfigError(f"judge.{name}", f"is {getattr(self, name)}", "1 or more")
        if not 0 <= self.threshold <= 1:
            raise ConfigError("judge.threshold", f"is {self.threshold}", "a support from 0 to 1")
        self._patterns  # noqa: B018 - checks the expressions

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return refusals(self.abstentions)

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case; a ServiceError of the generator ends the batch."""
        return [verdict for verdict, _ in self.judge_spending(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The mean grade of each text."""
        return [value for value, _ in self.relate_spending(pairs)]

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, and what each took."""
        found = [claims(case.text, self._patterns) for case in cases]
        asked = [self._about(case, spans) for case, (spans, _) in zip(cases, found, strict=True)]
        ask(self.generator, [one for one in asked if one], self.votes, self.attempts, self.again)
        rows = zip(cases, found, asked, strict=True)
        return [
            (Verdict(tuple(_claim(one, case, number, *span) for number, span in enumerate(spans)), abstained), one.spent)
            if one
            else (Verdict((), abstained), Spent())
            for case, (spans, abstained), one in rows
        ]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The relevance of each text, NaN without a vote, and what it took."""
        asked = [
            VoteRequest(self._messages(self.relevance, question=question, text=text), relevance) for question, text in pairs
        ]
        ask(self.generator, asked, self.votes, self.attempts, self.again)
        return [(math.fsum(one.votes) / len(one.votes) if one.votes else math.nan, one.spent) for one in asked]

    def _about(self, case: Case, spans: Sequence[Piece]) -> VoteRequest[list[ClaimReply]] | None:
        """What is asked of a case; nothing where it claims nothing."""
        if not spans:
            return None
        texts = [without_markers(case.text[start:end]) for start, end in spans]
        parts = {"question": case.question, "contexts": _numbered(case.contexts), "claims": _numbered(texts)}
        return VoteRequest(self._messages(self.prompt, **parts), lambda reply: verdicts(reply, len(spans)))

    def _messages(self, prompt: str, **parts: str) -> tuple[Message, Message]:
        # In one pass: what a context holds in braces is text.
        told = FILLED.sub(lambda found: parts.get(found[1], found[0]), prompt)
        return Message("system", self.instruction), Message("user", told)


def _numbered(texts: Sequence[str]) -> str:
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def _claim(one: VoteRequest[list[ClaimReply]], case: Case, number: int, start: int, end: int) -> Claim:
    if not one.votes:
        return Claim(start, end, math.nan, failure=one.wrong)
    support, said = majority([vote[number] for vote in one.votes])
    contexts = case.contexts
    where = place(said.quote, contexts[said.context - 1]) if 1 <= said.context <= len(contexts) else None
    return Claim(start, end, support, (QuotedPassage(said.context, *where),) if where else ())
