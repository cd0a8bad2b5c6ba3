"""Two summarizers of earlier turns: one picks sentences, one asks a chat model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Protocol, runtime_checkable

from rag.core.models.chat import Given, ask, spent
from rag.core.roles import Generator
from rag.core.text.languages import check_language
from rag.core.text.statements import fitting, pieces, read_statement
from rag.core.text.templates import check_template, fill
from rag.core.text.tokens import borders
from rag.core.types import Message, Query, Request, Turn

SHORTEST = 3
"""Characters of the shortest reply that can be a summary."""


@dataclass(frozen=True)
class Older:
    """An earlier summary, and the turns to add to it."""

    summary: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Summary:
    """A new summary; `note` names a fallback, `tokens` and `cost` (US dollars) are what the model used."""

    text: str
    note: str = ""
    tokens: int = 0
    cost: float = 0.0


@runtime_checkable
class Summarizer(Protocol):
    """Adds turns to summaries."""

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        """One summary of at most `tokens` tokens for each of `olders`, which depends on that one alone."""


@dataclass(frozen=True)
class PickedSentences:
    """Keeps the most important sentences in the order of the conversation, one on each line; no model.

    The worth of a sentence is the share of its stems that other sentences contain too, plus 1 for each value (number, id, name)
    that no later sentence repeats, up to 3.
    """

    language: str = "english"
    turn_format: str = "{role}: {text}"

    def __post_init__(self) -> None:
        check_template("memory.turn_format", self.turn_format, ("text",))
        check_language("memory.language", self.language)

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        """The most important sentences of each old summary and its turns."""
        return [Summary(self._picked(older, tokens)) for older in olders]

    def _picked(self, older: Older, tokens: int) -> str:
        new = [turn_line(self.turn_format, turn, piece) for turn in older.turns for piece in pieces(turn.text, self.language)]
        lines = list(dict.fromkeys([*filter(None, older.summary.splitlines()), *new]))
        return "\n".join(fitting(lines, self._worth(lines), tokens)) or truncate("\n".join(lines), tokens)

    def _worth(self, lines: Sequence[str]) -> list[float]:
        contents = [read_statement(line, self.language) for line in lines]
        shared = Counter(stem for content in contents for stem in content.stems)
        worth = []
        for place, content in enumerate(contents):
            later = frozenset[str]().union(*(other.values for other in contents[place + 1 :]))
            central = sum(shared[stem] > 1 for stem in content.stems) / max(len(content.stems), 1)
            worth.append(central + min(3, len(content.values - later)))
        return worth


@dataclass(frozen=True)
class ModelSummary:
    """A chat model rewrites the summary from the old one and the turns; if it fails, PickedSentences is used instead.

    `instruction` is the system message, `prompt` the user message with the placeholders {summary} and {turns}; `turn_format`
    lays out a turn, with {role} and {text}. `nothing` replaces {summary} where there is none yet.
    """

    generator: Generator
    instruction: str
    prompt: str
    turn_format: str = "{role}: {text}"
    nothing: str = "(none)"
    language: str = "english"
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_template("memory.prompt", self.prompt, ("summary", "turns"))
        self._fallback  # noqa: B018 - checks the format

    @property
    def _fallback(self) -> PickedSentences:
        return PickedSentences(self.language, self.turn_format)

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        """The summaries of the model, cut to `tokens` tokens."""
        replies = ask(self.generator, [self._request(older) for older in olders])
        picked = self._fallback.summarise(olders, tokens)
        return [_summary(reply, instead.text, tokens) for reply, instead in zip(replies, picked, strict=True)]

    def _request(self, older: Older) -> Request:
        turns = "\n".join(turn_line(self.turn_format, turn, turn.text) for turn in older.turns)
        prompt = fill(self.prompt, {"summary": older.summary or self.nothing, "turns": turns})
        system = [Message("system", self.instruction)] if self.instruction else []
        return Request(Query("summary", ""), (), (*system, Message("user", prompt)))


def _summary(reply: Given, instead: str, tokens: int) -> Summary:
    text = "" if isinstance(reply, str) else reply.text.strip()
    if len(text) < SHORTEST:
        why = reply if isinstance(reply, str) else "the reply was empty"
        return Summary(instead, f"sentences were picked: {why}", *spent(reply))
    return Summary(truncate(text, tokens), "", *spent(reply))


def turn_line(template: str, turn: Turn, text: str) -> str:
    """A text of a turn, laid out on one line."""
    said = "" if turn.at is None else datetime.fromtimestamp(turn.at, UTC).strftime("%Y-%m-%d %H:%M")
    known = {"role": turn.role, "time": said, "tag": turn.tag, "source": turn.source}
    return fill(template, {**known, "text": " ".join(text.split())})


def truncate(text: str, tokens: int) -> str:
    """The first `tokens` tokens of a text."""
    ends = borders(text)
    return text if len(ends) <= tokens else text[: ends[tokens - 1]] if tokens else ""
