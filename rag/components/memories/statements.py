"""What turns of a conversation say: their sentences, the words that carry a topic, and values that can contradict others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag.core.records import Turn
from rag.core.text.sentences import blocks, sentences

WORD = re.compile(r"[^\W_]+(?:[-.’'/:][^\W_]+)*")
SENTENCE_ENDS = re.compile(r"[.?!:;]\s*$")

Exchange = tuple[Turn, ...]
"""A message of the person and what was answered to it."""


@dataclass(frozen=True)
class Statement:
    """The stems of a text that carry a topic, and its values: numbers, ids and names; `asks` if it ends with a question."""

    stems: frozenset[str]
    values: frozenset[str]
    asks: bool = False


def exchanges(history: Sequence[Turn]) -> list[Exchange]:
    """A history cut before each message of the person."""
    found: list[list[Turn]] = []
    for turn in history:
        if turn.role == "user" or not found:
            found.append([])
        found[-1].append(turn)
    return [tuple(exchange) for exchange in found]


def pieces(text: str) -> list[str]:
    """The sentences of a text, each on one line."""
    return [" ".join(text[start:end].split()) for block in blocks(text) for start, end in sentences(text, block)]


def read_statement(text: str, stemmer: str) -> Statement:
    """What a text says, as far as words tell; numbers and names are values and no part of the topic."""
    stems, values = set(), set()
    for word in WORD.finditer(text):
        plain = _plain(word[0])
        if is_value(text, word):
            values.add(plain)
        elif len(plain) > 1 and plain not in _stop_words():
            stems.add(plain)
    return Statement(frozenset(_stemmer(stemmer).stemWords(sorted(stems))), frozenset(values), text.rstrip().endswith("?"))


def is_value(text: str, word: re.Match[str]) -> bool:
    """Whether a word is a number, an id, or has a capital inside a sentence."""
    if any(letter.isdigit() for letter in word[0]):
        return True
    first = word.start() == 0 or SENTENCE_ENDS.search(text[: word.start()])
    return word[0][0].isupper() and not first and _plain(word[0]) not in _stop_words()


def _plain(word: str) -> str:
    """In small letters; without a possessive ending, for Holm's gate and the gate at Holm are in one place."""
    plain = word.lower().replace("’", "'")
    return plain if plain in _stop_words() else plain.removesuffix("'s")


@lru_cache(maxsize=8)
def _stemmer(name: str) -> Any:
    from Stemmer import Stemmer

    return Stemmer(name)


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)
