"""Stems, and in addition ids and compounds as a whole, their parts, and pairs of characters of scripts without blanks."""

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from functools import cache
from itertools import chain

from rag.components.analysers.words import Numbered, WordAnalyser, numbered

ODD = {0x2010: "-", 0x2011: "-", 0x2212: "-", **dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))}
"""Other hyphens and the minus sign become `-`; soft hyphens and zero-width characters are left out."""
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts that are written without blanks, or with blanks between phrases: Thai, Lao, Burmese, Khmer, kana, Han, Hangul."""
JOINTS = re.compile(r"[-./:@_+&#\\,]")
HYPHENED = re.compile(r"[^\W\d_]+(?:[-/&][^\W\d_]+)+")
"""Letters that are joined by hyphens, slashes or `&`: a compound of words and no id."""
CHANGES = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
"""The places in a word where a capital follows a small letter, or where digits begin or end."""
LONGEST = 5
"""The most parts of a run that is a term of its own; a whole id is one at any length."""
MOST = 8
"""The most parts of a word that is also cut at CHANGES: a hash is not."""


@cache
def _token() -> re.Pattern[str]:
    """Words with the marks of scripts that write vowels as marks, joined by single JOINTS; commas join digits only."""
    marks = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
    return re.compile(rf"[\w{marks}]+(?:(?:[-./:@+&#\\]|(?<=\d),(?=\d))[\w{marks}]+)*")


class CompoundAnalyser(WordAnalyser):
    r"""The terms of WordAnalyser, and in addition ids and compounds as a whole, so that `HB-702` finds that id alone.

    A word is a run of letters and digits, or several joined by one of `- . / : @ _ + & # \\`, or digits joined by commas:
    part numbers, versions, e-mail addresses, paths. Its terms are the whole in lower case, the stems of its parts, and runs of
    up to LONGEST parts, so that `BMS-986158` is found in `BMS-986158/placebo`. A change of case or from letters to digits also
    ends a part. A question searches for the longest runs of an id that the index has: for its parts only if no chunk has the
    id. Letters joined by hyphens are no id: a question with `well-known` searches for whole and parts.

    With `words` the words themselves are terms in addition to their stems. Runs of scripts without blanks become pairs of
    characters, as in Lucene's CJKAnalyzer, and single characters. Texts are compared after NFKC and case folding.
    """

    def __init__(
        self,
        shortest: int = 2,
        stemmer: str | None = "english",
        stopwords: str | Sequence[str] | None = "english",
        words: bool = False,
    ) -> None:
        super().__init__(shortest, stemmer, stopwords)
        self.words = words

    def number(self, texts: Sequence[str]) -> Numbered:
        """The terms of every text as numbers, and the terms by their number."""
        return numbered(texts, _cut, lambda words: map(self._indexed, words))

    def terms(self, text: str, known: Container[str] | None = None) -> list[str]:
        """The terms of a question, those of an index with the terms `known`, or all."""
        if known is None:
            return list(chain.from_iterable(map(self._indexed, _cut(text))))
        return [term for word in _cut(text) for term in self._asked(word, known) if term in known]

    def _indexed(self, word: str) -> list[str]:
        """The terms of a word in a text, each once."""
        if UNSPACED.match(word):
            return list(dict.fromkeys([*word, *_pairs(word)]))
        parts = _parts(word)
        if len(parts) == 1:
            return self._simple(word)
        runs = () if HYPHENED.fullmatch(word) else _runs(word, parts)
        own = chain.from_iterable(self._simple(word[start:end]) for start, end in parts)
        return list(dict.fromkeys([word.casefold(), *runs, *own]))

    def _asked(self, word: str, known: Container[str]) -> Iterator[str]:
        """The terms of a word in a question."""
        parts = _parts(word)
        if UNSPACED.match(word):
            yield from _pairs(word) or [word]
        elif len(parts) == 1 or HYPHENED.fullmatch(word):
            yield from self._indexed(word)
        elif word.casefold() in known:
            yield word.casefold()
        else:
            first = 0
            while first < len(parts):
                start, end = parts[first]
                ends = [end for _, end in parts[first + 1 : first + LONGEST]]
                longest = next((end for end in reversed(ends) if word[start:end].casefold() in known), None)
                yield from [word[start:longest].casefold()] if longest else self._simple(word[start:end])
                first = next((place for place, (begin, _) in enumerate(parts) if begin >= (longest or end)), len(parts))

    def _simple(self, word: str) -> list[str]:
        """The terms of a word without joints: its stem, and itself with `words`; none of a short word or a stop word."""
        folded = word.casefold()
        if len(word) < self.shortest or folded in self._stop:
            return []
        stem = self._stemmer.stemWord(folded) if self._stemmer else folded
        return [stem, folded] if self.words and stem != folded else [stem]


def _cut(text: str) -> list[str]:
    """The words of a text as they are written, after NFKC."""
    plain = unicodedata.normalize("NFKC", text).translate(ODD)
    return _token().findall(UNSPACED.sub(r" \g<0> ", plain))


def _parts(word: str) -> list[tuple[int, int]]:
    """The parts of a word as places in it."""
    if word.isalpha() and (word.islower() or word[1:].islower()):
        return [(0, len(word))]
    joints = [found.span() for found in JOINTS.finditer(word)]
    changes = [(found.start(), found.start()) for found in CHANGES.finditer(word)]
    if len(joints) + len(changes) < MOST:
        joints = sorted([*joints, *changes])
    starts, ends = [0, *(end for _, end in joints)], [*(start for start, _ in joints), len(word)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _runs(word: str, parts: Sequence[tuple[int, int]]) -> Iterator[str]:
    """All runs of two to LONGEST parts of a word in lower case."""
    for first, (start, _) in enumerate(parts):
        for _, end in parts[first + 1 : first + LONGEST]:
            yield word[start:end].casefold()


def _pairs(word: str) -> list[str]:
    return [word[place : place + 2] for place in range(len(word) - 1)]
