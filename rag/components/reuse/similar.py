"""Uses again what a conversation found for a similar question."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag.core.checks import check_choice, check_number
from rag.core.errors import ConfigError
from rag.core.rankings import DIGITS
from rag.core.roles.looking import Reused
from rag.core.text.languages import check_language
from rag.core.text.stems import Stems
from rag.core.types import Vectors

WORD = re.compile(r"[^\W_]+(?:['’./-][^\W_]+)*")


@dataclass(frozen=True)
class SimilarReuse:
    """Compares a question with the earlier ones by cosine, and decides by the nearest one, the newest of equals.

    From `full` on, all passages are those of the earlier question; from `half` on, the second half of them. The `guard` keeps a
    question from full reuse that differs from the earlier one: `literals` in a number, a name (a word with a capital letter
    behind the first word) or a word of `literal`, such as negations; `words` also in any other word with meaning or a word of
    `telling`, such as question words; `none` never does. Vectors of `How many days before 2024?` and `How many days before
    2025?` are nearly equal. Lists are by language.
    """

    full: float = 0.9
    half: float = 0.7
    guard: str = "words"
    language: str = "english"
    literal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    telling: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_number("reuse.full", self.full, 0, 1)
        check_number("reuse.half", self.half, 0, 1)
        if self.half > self.full:
            raise ConfigError("reuse.half", f"is {self.half}, above reuse.full={self.full}", "a cosine up to that of full")
        check_choice("reuse.guard", self.guard, ("words", "literals", "none"))
        check_language("reuse.language", self.language)

    def reuse(self, question: str, vector: Vectors, earlier: Sequence[str], vectors: Vectors) -> Reused:
        """The decision, with the cosine and, where the guard changed it, the words that differ."""
        if not earlier:
            return Reused()
        cosines = np.round((vectors @ vector[0]).astype(np.float64), DIGITS)
        nearest = len(earlier) - 1 - int(cosines[::-1].argmax())
        cosine = float(cosines[nearest])
        words = self._differences(question, earlier[nearest]) if self.guard != "none" and cosine >= self.full else []
        why = f"cosine {cosine:.2f}" + (f", but other words: {', '.join(words)}" if words else "")
        share = 0.0 if cosine < self.half else 1.0 if cosine >= self.full and not words else 0.5
        return Reused(share, nearest if share else -1, why)

    def _differences(self, question: str, other: str) -> list[str]:
        """The words, in lower case, that only one of two questions has."""
        here, there = self._words(question), self._words(other)
        return sorted({word for stem, word in (here | there).items() if stem not in here or stem not in there})

    def _words(self, text: str) -> dict[str, str]:
        """The words that decide what is asked, by stem."""
        found = [(number, word[0], word[0].lower().replace("’", "'")) for number, word in enumerate(WORD.finditer(text))]
        if self.guard == "literals":
            known = self._listed(self.literal)
            return {low: low for number, word, low in found if low in known or _is_literal(word, number == 0)}
        known = self._listed(self.literal) | self._listed(self.telling)
        stems = Stems(self.language)  # Threads cannot share a stemmer.
        terms = [term.lower() for term in stems.terms(text)]
        return dict(zip(stems.stems(terms), terms, strict=True)) | {low: low for _, _, low in found if low in known}

    def _listed(self, words: Mapping[str, Sequence[str]]) -> frozenset[str]:
        return frozenset(word.lower() for word in words.get(self.language, ()))


def _is_literal(word: str, is_first: bool) -> bool:
    """Whether a word is a number or a name by its letters."""
    return any(map(str.isdigit, word)) or any(map(str.isupper, word[is_first:]))
