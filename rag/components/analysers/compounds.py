"""Stems, and in addition ids and compounds as a whole, their parts, and pairs of characters of scripts without blanks."""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
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


Place = tuple[int, int]
"""The characters [start, end) of a word."""


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
    ends a part. Letters joined by hyphens, slashes or `&` are a compound and no id: they have no runs.

    A question of ids alone searches for the longest runs that the index has: for parts only if no chunk has the id. Any other
    question searches for all terms of its ids, and for the parts of its compounds.

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
        return numbered(texts, words_of, lambda words: map(self._indexed, words))

    def terms(self, text: str, known: Container[str] | None = None) -> list[str]:
        """The terms of a question to an index with the terms `known`, or all terms of a text."""
        words = words_of(text)
        if known is None:
            return list(chain.from_iterable(map(self._indexed, words)))
        is_lookup = all(_is_id(word) for word in words if self._indexed(word))
        asked = (self._longest(word, known) if is_lookup else self._asked(word) for word in words)
        return [term for term in chain.from_iterable(asked) if term in known]

    def _indexed(self, word: str) -> list[str]:
        """The terms of a word in a text, each once."""
        if UNSPACED.match(word):
            return list(dict.fromkeys([*word, *_pairs(word)]))
        parts = _parts(word)
        if len(parts) == 1:
            return self._simple(word)
        runs = _runs(word, parts) if _is_id(word) else ()
        return list(dict.fromkeys([word.casefold(), *runs, *self._stems(word, parts)]))

    def _asked(self, word: str) -> Iterable[str]:
        """The terms of a word in a question that has more than ids."""
        if UNSPACED.match(word):
            return _pairs(word) or [word]
        return self._stems(word, _parts(word)) if HYPHENED.fullmatch(word) else self._indexed(word)

    def _longest(self, word: str, known: Container[str]) -> Iterator[str]:
        """The longest runs of an id that are known, and the stems of the other parts."""
        if word.casefold() in known:
            yield word.casefold()
            return
        parts, first = _parts(word), 0
        while first < len(parts):
            start = parts[first][0]
            sizes = range(min(LONGEST, len(parts) - first), 1, -1)
            size = next((size for size in sizes if word[start : parts[first + size - 1][1]].casefold() in known), 1)
            run = word[start : parts[first + size - 1][1]]
            yield from [run.casefold()] if size > 1 else self._simple(run)
            first += size

    def _stems(self, word: str, parts: Sequence[Place]) -> Iterator[str]:
        return chain.from_iterable(self._simple(word[start:end]) for start, end in parts)

    def _simple(self, word: str) -> list[str]:
        """The terms of a word without joints: its stem, and itself with `words`; none of a short word or a stop word."""
        folded = word.casefold()
        if len(word) < self.shortest or folded in self._stop:
            return []
        stem = self._stemmer.stemWord(folded) if self._stemmer else folded
        return [stem, folded] if self.words and stem != folded else [stem]


def words_of(text: str) -> list[str]:
    """The words of a text as they are written, after NFKC."""
    plain = unicodedata.normalize("NFKC", text).translate(ODD)
    return _token().findall(UNSPACED.sub(r" \g<0> ", plain))


def _is_id(word: str) -> bool:
    """True for a word of several parts that is no compound of words."""
    return not HYPHENED.fullmatch(word) and not UNSPACED.match(word) and len(_parts(word)) > 1


def _parts(word: str) -> list[Place]:
    """The parts of a word as places in it."""
    if word.isalpha() and (word.islower() or word[1:].islower()):
        return [(0, len(word))]
    joints = [found.span() for found in JOINTS.finditer(word)]
    changes = [(found.start(), found.start()) for found in CHANGES.finditer(word)]
    if len(joints) + len(changes) < MOST:
        joints = sorted([*joints, *changes])
    starts, ends = [0, *(end for _, end in joints)], [*(start for start, _ in joints), len(word)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _runs(word: str, parts: Sequence[Place]) -> Iterator[str]:
    """All runs of two to LONGEST parts of a word in lower case."""
    for first, (start, _) in enumerate(parts):
        for _, end in parts[first + 1 : first + LONGEST]:
            yield word[start:end].casefold()


def _pairs(word: str) -> list[str]:
    return [word[place : place + 2] for place in range(len(word) - 1)]
