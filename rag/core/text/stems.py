"""The meaningful words of a text, and their stems."""

import re
from collections.abc import Sequence
from typing import cast

from rag.core.text.languages import stemmer, stop_words

WORD = re.compile(r"[^\W_]+(?:[-./:_'’][^\W_]+)*")
PART = re.compile(r"[^\W_]+")
WORDS_WITHOUT_MEANING = (
    "a about after all also am an and any are as at be been before being between but by can could did do does doing done for "
    "from get give given had has have having he her here him his how i if in into is it its itself just many may me might "
    "more most much must my no nor not of on one only or other our out over own per s same shall she should so some such t "
    "tell than that the their them then there these they this those through to too under until up us very was we were what "
    "when where which while who whom whose why will with would you your"
)
STOP = frozenset(WORDS_WITHOUT_MEANING.split())


class Stems:
    """The stemmer and, in `light`, the stop words of a language; every thread needs its own."""

    def __init__(self, language: str = "english") -> None:
        self._stemmer = stemmer(language)
        self.light = STOP if language == "english" else stop_words(language)

    def terms(self, text: str) -> list[str]:
        """The words that are not stop words; a compound such as `F-12` counts as a whole and in its parts."""
        words = (word for whole in WORD.findall(text) for word in {whole: 0, **dict.fromkeys(PART.findall(whole))})
        return [word for word in words if word.lower() not in self.light]

    def stems(self, terms: Sequence[str]) -> list[str]:
        """The stem of each word, in lower case."""
        words = [term.lower() for term in terms]
        return cast(list[str], self._stemmer.stemWords(words)) if self._stemmer else words

    def of(self, text: str) -> frozenset[str]:
        """The stems of a text."""
        return frozenset(self.stems(self.terms(text)))
