"""What the words of a question are good for: those that say what it is about, and those that lean on what was said before."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WORD = re.compile(r"[^\W_]+(?:[-.’'/][^\W_]+)*")
"""Words with what joins their parts: K-212, don't, and/or."""

POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"[.?!:;]\s*$")
SMALL_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True)
class Term:
    """A word that says what a question is about, as written and as a stem; `named` if it is a name, a number or an id."""

    text: str
    stem: str
    named: bool


@dataclass(frozen=True)
class Language:
    """The words of a language: `light` ones say nothing of a topic, `hints` stand for something that was said before.

    A question that begins with one of `openers` goes on where another one ended.
    """

    light: frozenset[str]
    hints: frozenset[str]
    openers: tuple[str, ...]
    stemmer: str

    @cached_property
    def _stemmer(self) -> Any:
        from Stemmer import Stemmer

        return Stemmer(self.stemmer)

    def runs(self, text: str) -> list[list[Term]]:
        """The terms of a text, those that stand side by side together."""
        found: list[list[Term]] = [[]]
        before = 0
        for word in WORD.finditer(text):
            closed = text[before : word.start()].strip() or self._is_light(word[0])
            if closed and found[-1]:
                found.append([])
            if not self._is_light(word[0]):
                found[-1].append(self._term(text, word))
            before = word.end()
        return [run for run in found if run]

    def terms(self, text: str) -> list[Term]:
        """The terms of a text in reading order."""
        return [term for run in self.runs(text) for term in run]

    def hinted(self, text: str, enough: int) -> bool:
        """Whether a text leans on something before it, plainly: by its first words, or by a hint.

        A hint that stands behind a name, or behind `enough` terms, of the same text is taken to stand for those.
        """
        words = [_plain(word[0]) for word in WORD.finditer(text)]
        start = " ".join(words)
        if any(start == opener or start.startswith(f"{opener} ") for opener in self.openers):
            return True
        named = {_plain(term.text): term.named for term in self.terms(text)}
        for place, word in enumerate(words):
            before = {earlier for earlier in words[:place] if earlier in named}
            # Behind other words, `that` begins a clause.
            if word in self.hints and (word != "that" or not place):
                return len(before) < enough and not any(named[earlier] for earlier in before)
        return False

    def _is_light(self, word: str) -> bool:
        return len(word) < 2 or _plain(word) in self.light

    def _term(self, text: str, word: re.Match[str]) -> Term:
        written = POSSESSIVE.sub("", word[0])
        return Term(written, self._stemmer.stemWord(_plain(word[0])), _named(text, word))


def language(light: str, hints: str, openers: Sequence[str], stemmer: str) -> Language:
    """From lists of words as they stand in a config: with blanks between them; hints are light."""
    leaning = frozenset(hints.lower().split())
    return Language(frozenset(light.lower().split()) | leaning, leaning, tuple(map(str.lower, openers)), stemmer)


def _plain(word: str) -> str:
    return POSSESSIVE.sub("", word.lower()).replace("’", "'")


def _named(text: str, word: re.Match[str]) -> bool:
    """A capital inside a sentence, capitals all through, or a digit; numbers below 100 are too common to name something."""
    written = word[0]
    if any(letter.isdigit() for letter in written):
        return not SMALL_NUMBER.fullmatch(written)
    first = word.start() == 0 or SENTENCE_ENDS.search(text[: word.start()])
    return written.isupper() or (written[0].isupper() and not first)
