"""A chat model rewrites a follow-up so that it can be understood alone.

The reply is used if it can be a question; else the question is searched for as it was typed, and the note says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from rag.errors import ConfigError
from rag.queries.asking import Asking, ask, spent
from rag.records import Query, Reply, Sought
from rag.roles import Generator, fingerprint


@dataclass(frozen=True)
class ModelRewrite:
    """Searches for the first line of the model's reply; the first question of a conversation is never sent.

    A reply of fewer than three characters, or of more than `longest`, is no question: models that answer instead of rewriting
    are recognised by it. With `beside`, the question as typed is searched for too, and both rankings are fused. The other
    parameters are those of `Asking`.
    """

    generator: Generator
    instruction: str
    prompt: str
    label: str = ""
    turns: int = 8
    turn_chars: int = 400
    turn_format: str = "{role}: {text}"
    longest: int = 300
    beside: bool = False
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("queries.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        if self.longest < 3:
            raise ConfigError("queries.longest", f"is {self.longest}", "3 characters or more")
        self._asking  # noqa: B018 - checks the words

    @cached_property
    def _asking(self) -> Asking:
        return Asking(self.instruction, self.prompt, self.label, self.turns, self.turn_chars, self.turn_format)

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """What the model made of each follow-up."""
        later = [query for query in queries if query.history]
        replies = iter(ask(self.generator, [self._asking.request(query) for query in later]))
        return [self._sought(query, next(replies)) if query.history else alone(query) for query in queries]

    def _sought(self, query: Query, reply: Reply | str) -> Sought:
        tokens, cost = spent(reply)
        lines = [] if isinstance(reply, str) else self._asking.lines(reply.text)
        if not lines or len(lines[0]) > self.longest:
            why = reply if isinstance(reply, str) else f"the reply is no question: {reply.text.strip()[:80]!r}"
            return Sought(query.text, (query.text,), why, tokens, cost)
        texts = (query.text, lines[0]) if self.beside and lines[0] != query.text else (lines[0],)
        return Sought(lines[0], texts, "", tokens, cost)


def alone(query: Query) -> Sought:
    """The question as it was typed."""
    return Sought(query.text, (query.text,))
