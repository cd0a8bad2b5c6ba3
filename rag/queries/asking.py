"""Asking a chat model about questions, so that one that fails, or says nothing of use, never stands in the way of a search."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.errors import ConfigError, MissingExtraError, StoreError
from rag.records import Message, Query, Reply, Request, Turn
from rag.roles import Generator

PATIENCE = 3
"""Failures in a row after which a generator is not asked again in the same batch: it is the server that fails."""

SHORTEST = 3
"""Characters of the shortest reply that can be a question."""

PLACES = ("history", "question")
FILLED = re.compile("|".join(rf"\{{{name}\}}" for name in PLACES))
FENCES = re.compile(r"^\s*`{3,}.*$", re.MULTILINE)
LISTED = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.):])\s+")
QUOTES = "\"'“”‘’„«»`*"


@dataclass(frozen=True)
class Asking:
    """What a model is told: a system message, and a user's message with the places {history} and {question}.

    {history} becomes the last `turns` messages, each cut to `turn_chars` characters and laid out by `turn_format`, which has
    the places {role} and {text}. `label` is what the prompt ends with and some models repeat.
    """

    instruction: str
    prompt: str
    label: str
    turns: int
    turn_chars: int
    turn_format: str

    def __post_init__(self) -> None:
        if "{question}" not in self.prompt:
            raise ConfigError("queries.prompt", "has no place for the question", "write {question} where it belongs")
        if "{text}" not in self.turn_format:
            raise ConfigError("queries.turn_format", "has no place for what was said", "write {text} where it belongs")
        for name in ("turns", "turn_chars"):
            if getattr(self, name) < 1:
                raise ConfigError(f"queries.{name}", f"is {getattr(self, name)}", "1 or more")

    def request(self, query: Query) -> Request:
        """The messages for one question."""
        parts = {"history": "\n".join(map(self._turn, query.history[-self.turns :])), "question": query.text}
        # In one pass: what a person wrote in braces is text.
        prompt = FILLED.sub(lambda found: parts[found[0][1:-1]], self.prompt)
        said = [Message("system", self.instruction)] if self.instruction else []
        return Request(query, (), (*said, Message("user", prompt)))

    def _turn(self, turn: Turn) -> str:
        parts: Mapping[str, str] = {"{role}": turn.role, "{text}": " ".join(turn.text.split())[: self.turn_chars]}
        return re.sub(r"\{role\}|\{text\}", lambda found: parts[found[0]], self.turn_format)

    def lines(self, reply: str) -> list[str]:
        """The lines of a reply, without fences, list markers, quotes and the label; too short ones left out."""
        lines = (self._bare(line) for line in FENCES.sub("", reply).splitlines())
        return [line for line in lines if len(line) >= SHORTEST]

    def _bare(self, line: str) -> str:
        label = self.label.strip().lower()
        line = LISTED.sub("", line.strip()).strip()
        if label and line.lower().startswith(label):
            line = line[len(label) :].strip()
        return line.strip(QUOTES).strip()


def ask(generator: Generator, requests: Sequence[Request]) -> list[Reply | str]:
    """One reply per request, or what kept it from being given. A config that cannot work is an error all the same."""
    if not requests:
        return []
    try:
        replies = _whole(generator.generate(requests), len(requests))
    except (ConfigError, MissingExtraError, StoreError):
        raise
    except Exception as error:  # Whatever a generator raises, the question can be searched for as it was typed.
        return [_reason(error)] if len(requests) == 1 else _one_by_one(generator, requests)
    return [reply if isinstance(reply, Reply) else "no reply" for reply in replies]


def _one_by_one(generator: Generator, requests: Sequence[Request]) -> list[Reply | str]:
    found: list[Reply | str] = []
    for request in requests:
        last = found[-PATIENCE:]
        given_up = len(last) == PATIENCE and all(isinstance(one, str) for one in last)
        found += [last[-1]] if given_up else ask(generator, [request])
    return found


def _whole(replies: Sequence[Reply], expected: int) -> Sequence[Reply]:
    if len(replies) != expected:
        raise ValueError(f"{len(replies)} replies to {expected} requests")
    return replies


def _reason(error: Exception) -> str:
    return str(getattr(error, "what", "") or error or type(error).__name__)[:200]


def spent(reply: Reply | str) -> tuple[int, float]:
    """Tokens and US dollars; what failed is not billed as far as is known."""
    if isinstance(reply, str):
        return 0, 0.0
    return reply.prompt_tokens + reply.completion_tokens, reply.cost if not math.isnan(reply.cost) else math.nan
