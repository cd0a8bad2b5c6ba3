"""Terms of languages that write compounds as one word: German, Dutch, the Scandinavian languages, Finnish, Hungarian."""

from collections.abc import Container, Iterator, Sequence

from rag.components.analysers.compounds import CompoundAnalyser, words_of
from rag.components.analysers.words import Numbered, numbered
from rag.core.checks import check_whole

LONGEST = 60
"""The most characters of a word that is cut: the time grows with the square of the length."""


class ClosedCompoundAnalyser(CompoundAnalyser):
    """The terms of CompoundAnalyser, and in addition the stems of the words that a compound is made of.

    The words of the texts are the dictionary (Koehn and Knight 2003): a word is cut where the stems of both parts are terms of
    the texts, and where no such place is, into three parts. Of several places the one with the longest shorter part counts. A
    part has at least `least` characters; stop words are no parts. The stemmer removes the letters that join parts, such as the
    `s` of `Verkehrsamt`. So `Fahrscheinkontrolle` is found by `Kontrolle` if any text has this word alone.
    """

    def __init__(
        self,
        shortest: int = 2,
        stemmer: str | None = "english",
        stopwords: str | Sequence[str] | None = "english",
        words: bool = False,
        least: int = 4,
    ) -> None:
        super().__init__(shortest, stemmer, stopwords, words)
        check_whole("analyser.least", least, 2, hint="characters of the shortest part")
        self.least = least

    def number(self, texts: Sequence[str]) -> Numbered:
        """The terms of every text as numbers, and the terms by their number."""
        return numbered(texts, words_of, self._with_parts)

    def terms(self, text: str, known: Container[str] | None = None) -> list[str]:
        """The terms of a question to an index with the terms `known`, or all terms of a text."""
        found = super().terms(text, known)
        dictionary = frozenset(found) if known is None else known
        return [*found, *(stem for word in words_of(text) for stem in self._parts_of(word, dictionary))]

    def _with_parts(self, words: Sequence[str]) -> Iterator[Sequence[str]]:
        own = [self._indexed(word) for word in words]
        dictionary = frozenset(term for terms in own for term in terms)
        return ([*terms, *self._parts_of(word, dictionary)] for word, terms in zip(words, own, strict=True))

    def _parts_of(self, word: str, dictionary: Container[str]) -> list[str]:
        """The stems of the parts of a word, empty for a word that is no compound."""
        if not word.isalpha() or not 2 * self.least <= len(word) <= LONGEST:
            return []
        folded = word.casefold()
        return self._cut(folded, dictionary) or self._cut(folded, dictionary, several=True)

    def _cut(self, word: str, dictionary: Container[str], several: bool = False) -> list[str]:
        """Two parts, or with `several` one and two, both in the dictionary; the longest shorter part wins."""
        places = range(self.least, len(word) - self.least + 1)
        for place in sorted(places, key=lambda place: (-min(place, len(word) - place), place)):
            first, rest = self._part(word[:place], dictionary), word[place:]
            if first and (others := self._cut(rest, dictionary) if several else self._part(rest, dictionary)):
                return [*first, *others]
        return []

    def _part(self, word: str, dictionary: Container[str]) -> list[str]:
        """The stem of a part that is in the dictionary, in a list; an empty list if it is not."""
        return [stem for stem in self._simple(word)[:1] if stem in dictionary]
