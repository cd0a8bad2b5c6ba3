"""The content of turns: their sentences, the stems of their topic, and the values that can contradict other turns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag.core.text.languages import stemmer, stop_words
from rag.core.text.sentences import blocks, sentences
from rag.core.text.tokens import count
from rag.core.types import Turn

WORD = re.compile(r"[^\W_]+(?:[-.’'/:][^\W_]+)*")
SENTENCE_ENDS = re.compile(r"[.?!:;]\s*$")

Exchange = tuple[Turn, ...]
"""A message of the user and the answer to it."""


@dataclass(frozen=True)
class Statement:
    """The topic stems of a text, and its values: numbers, ids and names; `asks` if it ends with a question mark."""

    stems: frozenset[str]
    values: frozenset[str]
    asks: bool = False


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


def read_statement(text: str, language: str) -> Statement:
    """The content of a text; numbers and names are values and no part of the topic."""
    words, values, stop = set(), set(), _stop_words(language)
    for word in WORD.finditer(text):
        normalised = _normalised(word[0], stop)
        if is_value(text, word, stop):
            values.add(normalised)
        elif len(normalised) > 1 and normalised not in stop:
            words.add(normalised)
    stem = _stemmer(language)
    stems = stem.stemWords(sorted(words)) if stem else words
    return Statement(frozenset(stems), frozenset(values), text.rstrip().endswith("?"))


def is_value(text: str, word: re.Match[str], stop: frozenset[str]) -> bool:
    """True for a word with a digit, or with a capital inside a sentence."""
    if any(letter.isdigit() for letter in word[0]):
        return True
    first = word.start() == 0 or SENTENCE_ENDS.search(text[: word.start()])
    return word[0][0].isupper() and not first and _normalised(word[0], stop) not in stop


def _normalised(word: str, stop: frozenset[str]) -> str:
    """The word in lower case without a possessive ending: Holm's and Holm are one name."""
    normalised = word.lower().replace("’", "'")
    return normalised if normalised in stop else normalised.removesuffix("'s")


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Any:
    return stemmer(language)


def _stop_words(language: str) -> frozenset[str]:
    return stop_words("english_plus" if language == "english" else language)
