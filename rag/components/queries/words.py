"""The words of a question: terms of its topic, and hints such as pronouns that refer to earlier turns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rag.core.text.languages import stemmer

WORD = re.compile(r"[^\W_]+(?:[-.’'/][^\W_]+)*")
"""Words, including compounds: K-212, don't, and/or."""

POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"[.?!:;]\s*$")
SMALL_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True)
class Term:
    """A word of the topic, as written and as a stem; `named` if it is a name, a number or an id."""

    text: str
    stem: str
    named: bool


@dataclass(frozen=True)
class Language:
    """The words of a language: `light` words have no topic, `hints` refer to something in earlier turns.

    A question that begins with one of `openers` continues an earlier one. `articles` are hints where no term comes next.
    `counts` are words that count or list, `whole` words before what is counted or listed for each of its kind. Without
    `capitals`, a capital begins any noun, and no name.
    """

    light: frozenset[str]
    hints: frozenset[str]
    openers: tuple[str, ...]
    articles: frozenset[str]
    counts: frozenset[str]
    whole: frozenset[str]
    capitals: bool
    stemmer: str

    @cached_property
    def _stemmer(self) -> Any:
        return stemmer(self.stemmer)

    def runs(self, text: str) -> list[list[Term]]:
        """The terms of a text, adjacent ones grouped."""
        runs: list[list[Term]] = [[]]
        before = 0
        for word in WORD.finditer(text):
            is_apart = bool(text[before : word.start()].strip())
            is_mark = bool(runs[-1]) and not is_apart and not word[0].islower() and word[0].lower() not in self.light
            is_light = self._is_light(word[0]) and not is_mark  # The 7 of `line 7` and the C of `vitamin C` are terms.
            if (is_apart or is_light) and runs[-1]:
                runs.append([])
            if not is_light:
                runs[-1].append(self._term(text, word))
            before = word.end()
        return [run for run in runs if run]

    def terms(self, text: str) -> list[Term]:
        """The terms of a text in reading order."""
        return [term for run in self.runs(text) for term in run]

    def hinted(self, text: str, enough: int) -> bool:
        """True if a text refers to earlier turns: by its first words, or by a hint.

        A hint after a name, or after `enough` terms, of the same text refers to those and does not count.
        """
        found = list(WORD.finditer(text))
        words = [_normalised(word[0]) for word in found]
        start = " ".join(words)
        if any(start == opener or start.startswith(f"{opener} ") for opener in self.openers):
            return True
        named = {_normalised(term.text): term.named for term in self.terms(text)}
        for place, word in enumerate(words):
            before = {earlier for earlier in words[:place] if earlier in named}
            # After other words, `that` begins a clause; a capital inside a sentence is polite, or a name: `Ihnen`, `IT`.
            if (word in self.hints or self._stands_alone(words, place)) and (word != "that" or not place):
                if place and found[place][0][0].isupper():
                    continue
                return len(before) < enough and not any(named[earlier] for earlier in before)
        return False

    def is_whole(self, text: str) -> bool:
        """True if a text counts, lists or names things, and each or all of a kind: `for each publisher`, `in both sets`."""
        words = [_normalised(word[0]) for word in WORD.finditer(text)]
        is_list = bool(words) and (not self._is_light(words[0]) or not self.counts.isdisjoint(words))
        return is_list and not self.whole.isdisjoint(words)

    def _is_light(self, word: str) -> bool:
        return len(word) < 2 or _normalised(word) in self.light

    def _term(self, text: str, word: re.Match[str]) -> Term:
        written, stem = POSSESSIVE.sub("", word[0]), _normalised(word[0])
        stem = self._stemmer.stemWord(stem) if self._stemmer else stem
        return Term(written, stem, _is_name(text, word, self.capitals))

    def _stands_alone(self, words: list[str], place: int) -> bool:
        return words[place] in self.articles and (place + 1 == len(words) or self._is_light(words[place + 1]))


def language(lists: Mapping[str, Any], stemmer: str) -> Language:
    """A Language from the word lists of a config, separated by blanks; hints and articles are light words too."""
    names = ("light", "hints", "articles", "counts", "whole")
    light, hints, articles, counts, whole = (frozenset(str(lists.get(name, "")).lower().split()) for name in names)
    openers = tuple(map(str.lower, lists.get("openers", ())))
    return Language(
        light | hints | articles, hints, openers, articles, counts, whole, bool(lists.get("capitals", True)), stemmer
    )


def _normalised(word: str) -> str:
    return POSSESSIVE.sub("", word.lower()).replace("’", "'")


def _is_name(text: str, word: re.Match[str], capitals: bool) -> bool:
    """True for a capital inside a sentence, all capitals, or a digit; numbers below 100 are too common to be names."""
    written = word[0]
    if any(letter.isdigit() for letter in written):
        return not SMALL_NUMBER.fullmatch(written)
    first = word.start() == 0 or SENTENCE_ENDS.search(text[: word.start()])
    return written.isupper() or (capitals and written[0].isupper() and not first)
