"""Answers from what a model knows by itself: the same model without any context, to see what retrieval adds."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.core.errors import ConfigError
from rag.core.records import Message, Reply, Request
from rag.core.roles import CostEstimate, Generator, fingerprint

QUESTION = 200
"""Tokens that a question with its instruction is taken for."""


@dataclass(frozen=True)
class ClosedBookGenerator:
    """Asks `generator` with its own words: no context is shown, whatever was found and whatever prompt was chosen.

    `instruction` is the system message, none if it is empty; `prompt` the user's, with the place {question}. The last `turns`
    messages of the conversation stand between them. A reply cites nothing.
    """

    generator: Generator
    instruction: str
    prompt: str
    turns: int = 4

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("generator.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        if "{question}" not in self.prompt:
            raise ConfigError("generator.prompt", "has no place for the question", "write {question} where it belongs")
        if self.turns < 0:
            raise ConfigError("generator.turns", f"is {self.turns}", "0 messages or more")

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request."""
        replies = self.generator.generate([self._closed(request) for request in requests])
        return [replace(reply, citations=()) for reply in replies]

    def stream(self, request: Request) -> Iterator[str]:
        """The reply as it comes."""
        return self.generator.stream(self._closed(request))

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """What the generator says of questions without contexts."""
        if not isinstance(self.generator, CostEstimate):
            return 0, 0.0
        return self.generator.spending(requests, min(prompt, QUESTION), reply)

    def _closed(self, request: Request) -> Request:
        before = [Message("system", self.instruction)] if self.instruction else []
        history = request.query.history[max(len(request.query.history) - self.turns, 0) :]
        said = [Message(turn.role, turn.text) for turn in history]
        # In one pass: what a question holds in braces is text.
        asked = re.sub(r"\{question\}", lambda _: request.query.text, self.prompt)
        return Request(request.query, (), (*before, *said, Message("user", asked)), sample=request.sample)
