"""Answers without contexts: the baseline that shows what retrieval adds to a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.core.checks import check_whole
from rag.core.roles import CostEstimate, Generator
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Reply, Request

QUESTION = 200
"""The tokens that are assumed for a question with its instruction."""


@dataclass(frozen=True)
class ClosedBookGenerator:
    """Asks `generator` with its own prompt and no context; retrieval and prompt of the trial have no effect.

    `instruction` is the system message, none if it is empty; `prompt` is the user message with the placeholder {question}. The
    last `turns` messages of the conversation are between them. Replies have no citations.
    """

    generator: Generator
    instruction: str
    prompt: str
    turns: int = 4

    def __post_init__(self) -> None:
        check_template("generator.prompt", self.prompt, ("question",))
        check_whole("generator.turns", self.turns, 0)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request."""
        replies = self.generator.generate([self._closed(request) for request in requests])
        return [replace(reply, citations=()) for reply in replies]

    def stream(self, request: Request) -> Iterator[str]:
        """The reply in pieces."""
        return self.generator.stream(self._closed(request))

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """The estimate of the generator for questions without contexts; (0, 0.0) if it has none."""
        if not isinstance(self.generator, CostEstimate):
            return 0, 0.0
        return self.generator.spending(requests, min(prompt, QUESTION), reply)

    def _closed(self, request: Request) -> Request:
        system = [Message("system", self.instruction)] if self.instruction else []
        history = request.query.history[max(len(request.query.history) - self.turns, 0) :]
        turns = [Message(turn.role, turn.text) for turn in history]
        question = Message("user", fill(self.prompt, {"question": request.query.text}))
        return Request(request.query, (), (*system, *turns, question), sample=request.sample)
