"""What a chat model is told of a question, and what is made of its reply: nothing stands in the way of a search."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.core.errors import ConfigError
from rag.core.models.chat import Given, ask, spent
from rag.core.records import Message, Query, Request, Sought, Turn
from rag.core.roles import Generator, fingerprint

SHORTEST = 3
"""Characters of the shortest reply that can be a question."""

FILLED = re.compile(r"\{(?:history|question)\}")
FENCES = re.compile(r"^\s*`{3,}.*$", re.MULTILINE)
LISTED = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.):])\s+")
QUOTES = "\"'“”‘’„«»`*"
ASKS, STATES = ("?", "？", "؟"), (".", "!", "。")
"""How a sentence ends that asks, and one that states."""


@dataclass(frozen=True)
class Asking:
    """What a model is told: a system message, and a user's message with the places {history} and {question}.

    {history} becomes the last `turns` messages, each cut to `turn_chars` characters and laid out by `turn_format`, which has
    the places {role} and {text}. `label` is what the prompt ends with and some models repeat. `longest` is the number of
    characters from which a line of a reply is no question: models that answer are recognised by it.
    """

    generator: Generator
    instruction: str
    prompt: str
    label: str = ""
    turns: int = 8
    turn_chars: int = 400
    turn_format: str = "{role}: {text}"
    longest: int = 300
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("queries.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        if "{question}" not in self.prompt:
            raise ConfigError("queries.prompt", "has no place for the question", "write {question} where it belongs")
        if "{text}" not in self.turn_format:
            raise ConfigError("queries.turn_format", "has no place for what was said", "write {text} where it belongs")
        for name, least in (("turns", 1), ("turn_chars", 1), ("longest", SHORTEST)):
            if getattr(self, name) < least:
                raise ConfigError(f"queries.{name}", f"is {getattr(self, name)}", f"{least} or more")

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def replies(self, queries: Sequence[Query]) -> list[Given]:
        """What the model says of each question."""
        return ask(self.generator, [self.request(query) for query in queries])

    def request(self, query: Query) -> Request:
        """The messages for one question."""
        parts = {"{history}": "\n".join(map(self._turn, query.history[-self.turns :])), "{question}": query.text}
        # In one pass: what a person wrote in braces is text.
        prompt = FILLED.sub(lambda found: parts[found[0]], self.prompt)
        said = [Message("system", self.instruction)] if self.instruction else []
        return Request(query, (), (*said, Message("user", prompt)))

    def _turn(self, turn: Turn) -> str:
        parts: Mapping[str, str] = {"{role}": turn.role, "{text}": " ".join(turn.text.split())[: self.turn_chars]}
        return re.sub(r"\{role\}|\{text\}", lambda found: parts[found[0]], self.turn_format)

    def lines(self, query: Query, reply: Given) -> list[str]:
        """The different lines of a reply that can be questions, without fences, list markers, quotes and the label.

        Small models answer instead, or repeat what they were shown. A line that states something where something was asked is
        not used, nor one that stands in the examples of the prompt or was answered before.
        """
        lines = map(self.bare, [] if isinstance(reply, str) else FENCES.sub("", reply.text).splitlines())
        shown = self._shown(query)
        fitting = (line for line in dict.fromkeys(lines) if SHORTEST <= len(line) <= self.longest and line not in shown)
        return [line for line in fitting if not (query.text.rstrip().endswith(ASKS) and line.endswith(STATES))]

    def _shown(self, query: Query) -> set[str]:
        """The lines of the prompt and the answers of the history, without the question itself."""
        said = (turn.text for turn in query.history if turn.role == "assistant")
        return {self.bare(text) for text in (*self.prompt.splitlines(), *said)} - {self.bare(query.text)}

    def bare(self, text: str) -> str:
        """A text without a list marker, the label and quotes around it."""
        label = self.label.strip().lower()
        text = LISTED.sub("", text.strip()).strip()
        if label and text.lower().startswith(label):
            text = text[len(label) :].strip()
        return text.strip(QUOTES).strip()


def as_typed(query: Query, reply: Given | None = None) -> Sought:
    """The question as it was typed, and, where a model was asked, what was wrong with its reply."""
    if reply is None:
        return Sought(query.text, (query.text,))
    why = reply if isinstance(reply, str) else f"the reply is of no use: {reply.text.strip()[:80]!r}"
    return Sought(query.text, (query.text,), f"searched for as typed: {why}", *spent(reply))
