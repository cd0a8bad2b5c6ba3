"""The content of turns: their sentences, the stems of their topic, and the values that can contradict other turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag.core.text.languages import stop_words
from rag.core.text.sentences import blocks, sentences
from rag.core.text.tokens import count
from rag.core.text.values.numbers import Number, numbers, values
from rag.core.text.values.words import Word, words
from rag.core.types import Turn

Exchange = tuple[Turn, ...]
"""A message of the user and the answer to it."""


@dataclass(frozen=True)
class Statement:
    """What a text says: the stems of its topic, and its `names`, codes and numbers, which can contradict other statements.

    `known` are the numbers in all their readings, `values` the names, and the numbers that are certainly some. It `asks` if it
    ends with a question mark, and is `negated` if it denies.
    """

    text: str
    stems: frozenset[str]
    names: frozenset[str]
    numbers: tuple[Number, ...]
    known: frozenset[str]
    values: frozenset[str]
    negated: bool
    asks: bool

    def contradicts(self, other: "Statement") -> bool:
        """True if one of both denies, or each has a number, or each a name, that the other does not have.

        A newer statement on the same matter then replaces an older one. A question contradicts nothing.
        """
        ours = any(not number.among(other.known) for number in self.numbers)
        theirs = any(not number.among(self.known) for number in other.numbers)
        named = bool(self.names - other.names and other.names - self.names)
        return not (self.asks or other.asks) and (self.negated != other.negated or (ours and theirs) or named)


def exchanges(history: Sequence[Turn]) -> list[Exchange]:
    """A history cut before each message of the user."""
    parts: list[list[Turn]] = []
    for turn in history:
        if turn.role == "user" or not parts:
            parts.append([])
        parts[-1].append(turn)
    return [tuple(part) for part in parts]


def pieces(text: str, language: str) -> list[str]:
    """The sentences of a text, each on one line."""
    return [" ".join(text[start:end].split()) for block in blocks(text) for start, end in sentences(text, block, language)]


def fitting(lines: Sequence[str], worth: Sequence[float], tokens: int) -> list[str]:
    """The lines of greatest worth that fit into `tokens` tokens, in their order; the later of two equal ones comes first."""
    room, chosen = tokens, set[int]()
    for place in sorted(range(len(lines)), key=lambda place: (-worth[place], -place)):
        length = count(lines[place])
        if length <= room:
            room -= length
            chosen.add(place)
    return [lines[place] for place in sorted(chosen)]


@lru_cache(maxsize=1 << 14)
def read_statement(text: str, language: str, denying: frozenset[str] = frozenset()) -> Statement:
    """The content of a text; `denying` are words that deny, besides those that are known for English."""
    known, counted = words(text, language), tuple(number for number in numbers(text) if not number.doubt)
    read = [word for word in known if word.kind != "negation" and text[word.start : word.end].lower() not in denying]
    names = frozenset(word.stem for word in read if word.kind == "name" and not word.doubt)
    return Statement(
        text,
        frozenset(word.stem for word in read if _is_topic(word, text, language)) - names,
        names,
        counted,
        values(text),
        names | {" ".join(number.readings[0]) for number in counted},
        len(read) < len(known),
        text.rstrip().endswith("?"),
    )


def _is_topic(word: Word, text: str, language: str) -> bool:
    stop = stop_words("english_plus" if language == "english" else language)
    base = text[word.start : word.end].lower().replace("’", "'").removesuffix("'s")
    return word.kind in ("word", "name") and len(base) > 1 and base not in stop
