"""Words as terms: plain, without stop words, or stemmed."""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property
from itertools import chain, count
from typing import Any

from rag.core.checks import check_whole
from rag.core.text.languages import STOP_WORDS, check_language, stemmer, stop_words

Numbered = tuple[list[list[int]], list[str]]
"""The terms of every text as numbers, and the terms by their number."""


def numbered(
    texts: Sequence[str], cut: Callable[[str], list[str]], terms_of: Callable[[Sequence[str]], Iterable[Sequence[str]]]
) -> Numbered:
    """The terms of the words that `cut` finds in each text, numbered as they first occur.

    `terms_of` gets each different word once, however often it occurs.
    """
    seen: defaultdict[str, int] = defaultdict(count().__next__)
    found = [list(map(seen.__getitem__, cut(text))) for text in texts]
    terms: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = [[terms[term] for term in own] for own in terms_of(list(seen))]
    return [list(chain.from_iterable(map(numbers.__getitem__, words))) for words in found], list(terms)


class WordAnalyser:
    """Lower-cased words of at least `shortest` characters (letters, digits, underscore), without `stopwords`, stemmed.

    `stemmer` is a language with a Snowball stemmer, `stopwords` a language or a list of words; None for none.
    """

    def __init__(
        self, shortest: int = 2, stemmer: str | None = "english", stopwords: str | Sequence[str] | None = "english"
    ) -> None:
        check_whole("analyser.shortest", shortest, 1, hint="characters of the shortest word")
        if stemmer is not None:
            check_language("analyser.stemmer", stemmer)
        if isinstance(stopwords, str) and stopwords not in STOP_WORDS:
            check_language("analyser.stopwords", stopwords)
        self.shortest, self.stemmer, self.stopwords = shortest, stemmer, stopwords

    @cached_property
    def _stemmer(self) -> Any:
        return stemmer(self.stemmer) if self.stemmer else None

    @cached_property
    def _stop(self) -> frozenset[str]:
        known = isinstance(self.stopwords, str)
        return stop_words(str(self.stopwords)) if known else frozenset(word.lower() for word in self.stopwords or ())

    @cached_property
    def _find(self) -> re.Pattern[str]:
        return re.compile(rf"\b\w{{{self.shortest},}}\b")

    def _words(self, text: str) -> list[str]:
        return self._find.findall(text.lower())

    def _terms_of(self, words: Sequence[str]) -> list[Sequence[str]]:
        stems = self._stemmer.stemWords(list(words)) if self._stemmer else words
        return [() if word in self._stop else (stem,) for word, stem in zip(words, stems, strict=True)]

    def number(self, texts: Sequence[str]) -> Numbered:
        """The terms of every text as numbers, and the terms by their number."""
        return numbered(texts, self._words, self._terms_of)

    def terms(self, text: str, known: Container[str] | None = None) -> list[str]:
        """The terms of a text in reading order, repeats included: those that are in `known`, or all."""
        terms = chain.from_iterable(self._terms_of(self._words(text)))
        return [term for term in terms if known is None or term in known]
