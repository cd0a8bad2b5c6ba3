"""A chat model as a judge: it is shown the contexts and the numbered claims of a text, and says of each whether it follows.

Zheng et al. 2023, "Judging LLM-as-a-Judge". What it is told stands in the config; the model is any Generator, so that its
retries, limits, prices and stored replies are those of answering.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from rag.claims import Case, Claim, Passage, Verdict
from rag.errors import ConfigError
from rag.judges.assertions import claims, refusals, without_markers
from rag.judges.replies import Said, majority, place, verdicts
from rag.records import Chunk, Message, Query, Request, Span
from rag.roles import Generator, fingerprint
from rag.sentences import Piece

PLACES = ("question", "contexts", "claims")
FILLED = re.compile("|".join(rf"\{{{name}\}}" for name in PLACES))


@dataclass
class _Asked:
    """A case while it is judged: its claims, what every vote said, and what was wrong with the last reply that failed."""

    case: Case
    spans: list[Piece]
    abstained: bool
    votes: list[list[Said]] = field(default_factory=list)
    wrong: str = ""


@dataclass(frozen=True)
class LlmJudge:
    """Support is the share of `votes` that call a claim supported.

    Votes differ only where the generator's temperature is above 0.

    `instruction` is the system message, `prompt` the user's, with the places {question}, {contexts} and {claims}. A reply that
    is not the JSON it asks for is asked for again, up to `attempts` times per vote; claims without a single vote are failures.
    Of the question the model sees what the config shows it. `abstentions` are further regular expressions for sentences that
    say that nothing can be said.
    """

    generator: Generator
    instruction: str
    prompt: str
    votes: int = 1
    attempts: int = 2
    threshold: float = 0.5
    abstentions: Sequence[str] = ()
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("judge.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        if missing := [name for name in ("contexts", "claims") if f"{{{name}}}" not in self.prompt]:
            raise ConfigError("judge.prompt", f"has no place for {missing[0]}", f"write {{{missing[0]}}} where they belong")
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
        asked = [_Asked(case, *claims(case.text, self._patterns)) for case in cases]
        for vote in range(self.votes):
            waiting = [one for one in asked if one.spans]
            for attempt in range(self.attempts):
                waiting = self._again(waiting, f"{vote}.{attempt}") if waiting else []
        return [_verdict(one) for one in asked]

    def _again(self, waiting: Sequence[_Asked], name: str) -> list[_Asked]:
        """Ask for one vote on each case; those whose reply cannot be read are returned."""
        replies = self.generator.generate([self._request(one, name) for one in waiting])
        unread = []
        for one, reply in zip(waiting, replies, strict=True):
            try:
                one.votes.append(verdicts(reply.text, len(one.spans)))
            except ValueError as error:
                one.wrong = f"the reply {error}"
                unread.append(one)
        return unread

    def _request(self, one: _Asked, name: str) -> Request:
        case = one.case
        texts = [without_markers(case.text[start:end]) for start, end in one.spans]
        parts = {"question": case.question, "contexts": _numbered(case.contexts), "claims": _numbered(texts)}
        # In one pass: what a context holds in braces is text.
        prompt = FILLED.sub(lambda found: parts[found[0][1:-1]], self.prompt)
        chunks = tuple(Chunk(Span(str(n), 0, len(text)), text) for n, text in enumerate(case.contexts, 1))
        return Request(Query(name, case.question), chunks, (Message("system", self.instruction), Message("user", prompt)))


def _numbered(texts: Sequence[str]) -> str:
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def _verdict(one: _Asked) -> Verdict:
    return Verdict(tuple(_claim(one, number, *span) for number, span in enumerate(one.spans)), one.abstained)


def _claim(one: _Asked, number: int, start: int, end: int) -> Claim:
    if not one.votes:
        return Claim(start, end, float("nan"), failure=one.wrong)
    support, said = majority([vote[number] for vote in one.votes])
    contexts = one.case.contexts
    where = place(said.quote, contexts[said.context - 1]) if 1 <= said.context <= len(contexts) else None
    return Claim(start, end, support, (Passage(said.context, *where),) if where else ())
