"""The base of rewriters that ask a chat model: the request, and the lines of the reply that can be searched for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.core.checks import check_whole
from rag.core.models.chat import Given, ask, spent
from rag.core.roles import Generator
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request, Sought, Turn

SHORTEST = 3
"""Characters of the shortest reply that can be a question."""

FENCES = re.compile(r"^\s*`{3,}.*$", re.MULTILINE)
LISTED = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.):])\s+")
QUOTES = "\"'“”‘’„«»`*"
ASKS, STATES = ("?", "？", "؟"), (".", "!", "。")
"""The last characters of a question, and of a statement."""


@dataclass(frozen=True)
class ModelRewriter:
    """Asks a chat model for texts to search for; a subclass says what it takes from a reply.

    `instruction` is the system message, `prompt` the user message with the placeholders {history} and {question}. {history}
    becomes the last `turns` messages, each cut to `turn_chars` characters and laid out by `turn_format`, which has the
    placeholders {role} and {text}. `label` is the end of the prompt, which some models repeat. `longest` is the most characters
    of a line that is used: longer lines are answers. With `include_original` the question as typed is searched for too. Without
    `first` the model is not asked about the first question of a conversation.
    """

    generator: Generator
    instruction: str
    prompt: str
    label: str = ""
    turns: int = 8
    turn_chars: int = 400
    turn_format: str = "{role}: {text}"
    longest: int = 300
    include_original: bool = False
    first: bool = True
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_template("queries.prompt", self.prompt, ("question",))
        check_template("queries.turn_format", self.turn_format, ("text",))
        for name, lowest in (("turns", 1), ("turn_chars", 1), ("longest", SHORTEST)):
            check_whole(f"queries.{name}", getattr(self, name), lowest)

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """The texts to search for; a reply that cannot be used leaves the question as typed, with a note."""
        replies = iter(ask(self.generator, [self._request(query) for query in queries if self.rewrites(query)]))
        return [
            self._sought(query, next(replies)) if self.rewrites(query) else Sought(query.text, (query.text,))
            for query in queries
        ]

    def rewrites(self, query: Query) -> bool:
        """True if the model is asked about this question."""
        return self.first or bool(query.history)

    def texts(self, query: Query, reply: str) -> list[str]:
        """The texts of a reply to search for; an empty list if the reply cannot be used."""
        return self.lines(query, reply)

    def question(self, query: Query, texts: Sequence[str]) -> str:
        """The question by which passages are reranked."""
        return query.text

    def _sought(self, query: Query, reply: Given) -> Sought:
        texts = [] if isinstance(reply, str) else self.texts(query, reply.text)
        if not texts:
            why = reply if isinstance(reply, str) else f"the reply is of no use: {reply.text.strip()[:80]!r}"
            return Sought(query.text, (query.text,), f"searched for as typed: {why}", *spent(reply))
        searched = dict.fromkeys([query.text, *texts] if self.include_original else texts)
        return Sought(self.question(query, texts), tuple(searched), "", *spent(reply))

    def _request(self, query: Query) -> Request:
        values = {"history": "\n".join(map(self._turn, query.history[-self.turns :])), "question": query.text}
        system = [Message("system", self.instruction)] if self.instruction else []
        return Request(query, (), (*system, Message("user", fill(self.prompt, values))))

    def _turn(self, turn: Turn) -> str:
        return fill(self.turn_format, {"role": turn.role, "text": " ".join(turn.text.split())[: self.turn_chars]})

    def lines(self, query: Query, reply: str) -> list[str]:
        """The different lines of a reply that can be questions, without fences, list markers, quotes and the label.

        Small models answer the question, or repeat the prompt. So three kinds of lines are left out: statements in reply to a
        question, lines of the prompt, and answers of the history.
        """
        lines = map(self.bare, FENCES.sub("", reply).splitlines())
        repeated = self._repeated(query)
        fitting = (line for line in dict.fromkeys(lines) if SHORTEST <= len(line) <= self.longest and line not in repeated)
        return [line for line in fitting if not (query.text.rstrip().endswith(ASKS) and line.endswith(STATES))]

    def _repeated(self, query: Query) -> set[str]:
        """The lines of the prompt and the answers of the history, without the question itself."""
        answers = (turn.text for turn in query.history if turn.role == "assistant")
        return {self.bare(text) for text in (*self.prompt.splitlines(), *answers)} - {self.bare(query.text)}

    def bare(self, text: str) -> str:
        """A text without a list marker, the label and quotes around it."""
        label = self.label.strip().lower()
        text = LISTED.sub("", text.strip()).strip()
        if label and text.lower().startswith(label):
            text = text[len(label) :].strip()
        return text.strip(QUOTES).strip()
