"""Two ways to put what was said into few words: sentences that are picked, and words of a model."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from rag.components.memories.statements import pieces, read_statement
from rag.core.errors import ConfigError
from rag.core.models.chat import Given, ask, spent
from rag.core.records import Message, Query, Request, Turn
from rag.core.roles import Generator, fingerprint
from rag.core.text.tokens import borders, count

FILLED = re.compile(r"\{(?:summary|turns)\}")
SHORTEST = 3
"""Characters of the shortest reply that can be a summary."""


@dataclass(frozen=True)
class Older:
    """What was known before, and the turns to add to it."""

    summary: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Summary:
    """A new summary; `note` says what was fallen back to, `tokens` and `cost` (US dollars) are what a model took."""

    text: str
    note: str = ""
    tokens: int = 0
    cost: float = 0.0


@runtime_checkable
class Summarizer(Protocol):
    """Adds turns to summaries."""

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        """A summary of at most so many tokens for each; it depends on nothing else."""
        ...


@dataclass(frozen=True)
class PickedSentences:
    """Keeps the sentences that say most, in the order in which they were said, one on each line; no model.

    A sentence is worth the share of its stems that others hold too, and 1 for each value (number, id, name) that no later
    sentence repeats, up to 3.
    """

    stemmer: str = "english"
    turn_format: str = "{role}: {text}"

    def __post_init__(self) -> None:
        if "{text}" not in self.turn_format:
            raise ConfigError("memory.turn_format", "has no place for what was said", "write {text} where it belongs")

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        """The sentences of the old summary and of the turns that are worth most."""
        return [Summary(self._picked(older, tokens)) for older in olders]

    def _picked(self, older: Older, tokens: int) -> str:
        new = [turn_line(self.turn_format, turn.role, piece) for turn in older.turns for piece in pieces(turn.text)]
        lines = list(dict.fromkeys([*filter(None, older.summary.splitlines()), *new]))
        worth = self._worth(lines)
        room, kept = tokens, set[int]()
        for place in sorted(range(len(lines)), key=lambda place: (-worth[place], -place)):
            length = count(lines[place])
            if length <= room:
                room -= length
                kept.add(place)
        return "\n".join(lines[place] for place in sorted(kept)) if kept else cut("\n".join(lines), tokens)

    def _worth(self, lines: Sequence[str]) -> list[float]:
        read = [read_statement(line, self.stemmer) for line in lines]
        shared = Counter(stem for one in read for stem in one.stems)
        worth = []
        for place, one in enumerate(read):
            later = frozenset[str]().union(*(other.values for other in read[place + 1 :]))
            central = sum(shared[stem] > 1 for stem in one.stems) / max(len(one.stems), 1)
            worth.append(central + min(3, len(one.values - later)))
        return worth


@dataclass(frozen=True)
class ModelSummary:
    """A chat model writes the summary anew from the old one and the turns; where it fails, sentences are picked.

    `instruction` is the system message, `prompt` the user's, with the places {summary} and {turns}; a turn is laid out by
    `turn_format`, with {role} and {text}. `nothing` stands for a summary that there is not yet.
    """

    generator: Generator
    instruction: str
    prompt: str
    turn_format: str = "{role}: {text}"
    nothing: str = "(none)"
    stemmer: str = "english"
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("memory.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        for place in ("summary", "turns"):
            if f"{{{place}}}" not in self.prompt:
                raise ConfigError("memory.prompt", f"has no place for {place}", f"write {{{place}}} where it belongs")
        self._picking  # noqa: B018 - checks the format

    @property
    def _picking(self) -> PickedSentences:
        return PickedSentences(self.stemmer, self.turn_format)

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        """What the model makes of each; a longer reply is cut."""
        replies = ask(self.generator, [self._request(older) for older in olders])
        picked = self._picking.summarise(olders, tokens)
        return [_summary(reply, instead.text, tokens) for reply, instead in zip(replies, picked, strict=True)]

    def _request(self, older: Older) -> Request:
        turns = "\n".join(turn_line(self.turn_format, turn.role, turn.text) for turn in older.turns)
        parts = {"{summary}": older.summary or self.nothing, "{turns}": turns}
        # In one pass: what a person wrote in braces is text.
        prompt = FILLED.sub(lambda found: parts[found[0]], self.prompt)
        messages = [Message("system", self.instruction)] if self.instruction else []
        return Request(Query("summary", ""), (), (*messages, Message("user", prompt)))


def _summary(reply: Given, instead: str, tokens: int) -> Summary:
    text = "" if isinstance(reply, str) else reply.text.strip()
    if len(text) < SHORTEST:
        why = reply if isinstance(reply, str) else "the reply was empty"
        return Summary(instead, f"sentences were picked: {why}", *spent(reply))
    return Summary(cut(text, tokens), "", *spent(reply))


def turn_line(form: str, role: str, text: str) -> str:
    """A turn, laid out on one line."""
    parts = {"{role}": role, "{text}": " ".join(text.split())}
    return re.sub(r"\{role\}|\{text\}", lambda found: parts[found[0]], form)


def cut(text: str, tokens: int) -> str:
    """The beginning of a text that holds so many tokens."""
    ends = borders(text)
    return text if len(ends) <= tokens else text[: ends[tokens - 1]] if tokens else ""
