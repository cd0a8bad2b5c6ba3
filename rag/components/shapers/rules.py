"""The shape of a question by its first words and by the titles of documents; no model."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from rag.core.checks import check_number
from rag.core.errors import ConfigError
from rag.core.look_checks import LABEL, check_shape, one_line
from rag.core.looks import Shape
from rag.core.roles.looking import Asked, Shaped
from rag.core.text.languages import check_language
from rag.core.text.stems import Stems
from rag.core.text.templates import check_template, fill

CLAUSE = re.compile(r"\s*[,.;:!?]+\s+")
NAMED = 2
"""The fewest words of a longer title that a text shares with it to name it."""


@dataclass(frozen=True, kw_only=True)
class RulesShaper:
    """The intent is the one with the longest of `phrases` in the question: `… versus` may be anywhere, others begin a clause.

    A word of `leading` may be before them.

    The domain is the title of a document. Before the search it is the title that shares most words with the question, or else
    with the last turn of the user; of several, the words of the first that are in this text. After it, it is the title of
    passages with the share `share` of all weights, 1 / rank, or stays. With a domain `search` is also searched for, unless the
    question has all words of the title. `headers` are the lines of the prompt by intent.
    """

    phrases: Mapping[str, Sequence[str]]
    headers: Mapping[str, Mapping[str, str]]
    leading: Sequence[str] = ()
    search: str = "{question} {domain}"
    share: float = 0.5
    language: str = "english"
    languages: Sequence[str] = ("english",)
    reads: ClassVar[tuple[str, ...]] = ("conversation",)

    def __post_init__(self) -> None:
        check_number("shape.share", self.share, 0, 1)
        check_language("shape.language", self.language)
        check_template("shape.search", self.search, ("question", "domain"), ("question", "domain"))
        for intent, lines in self.headers.items():
            try:
                check_shape(Shape(intent, "", tuple(lines.items())))
            except ValueError as error:
                raise ConfigError(f"shape.headers.{intent}", str(error), "a few short lines") from error

    def shape(self, asked: Sequence[Asked]) -> list[Shaped]:
        """The shapes of questions."""
        stems = Stems(self.language)
        return [self._shaped(one, stems) for one in asked]

    def _shaped(self, asked: Asked, stems: Stems) -> Shaped:
        if asked.before:
            intent, domain = asked.before.intent, self._found(asked.sources) or asked.before.domain
        else:
            intent, domain = self._intent(asked.question), self._named(asked, stems)
        new = domain and stems.of(domain) - stems.of(asked.question)
        search = fill(self.search, {"question": asked.question, "domain": domain}) if new else ""
        return Shaped(Shape(intent, domain, tuple(self.headers.get(intent, {}).items())), search)

    def _intent(self, question: str) -> str:
        text = f"{' '.join(question.casefold().split())} "
        clauses = [f"{part} " for part in CLAUSE.split(text)]
        clauses += [rest for first, _, rest in (part.partition(" ") for part in clauses) if first in self.leading]
        fits = [
            (len(phrase), intent)
            for intent, phrases in self.phrases.items()
            for phrase in phrases
            if (f"{phrase[1:]} " in text if phrase[0] == "…" else any(part.startswith(f"{phrase} ") for part in clauses))
        ]
        return max(fits, default=(0, ""))[1]

    def _named(self, asked: Asked, stems: Stems) -> str:
        """The title that a question, or the turn before it, names."""
        known = _stems_of(asked.titles, self.language)
        said = [turn.text for turn in asked.recalled.turns if turn.role == "user"]
        for text in (asked.question, *said[-1:]):
            own = stems.of(text)
            shared = {title: len(words & own) for title, words in known.items() if len(words & own) >= min(NAMED, len(words))}
            best = [title for title, count in shared.items() if count and count == max(shared.values())]
            if best:
                part = " ".join(word.strip(",.:;()") for word in best[0].split() if stems.of(word) & own)
                return one_line(best[0] if len(best) == 1 else part, LABEL)
        return ""

    def _found(self, titles: Sequence[str]) -> str:
        """The title of most of the passages."""
        weights = Counter[str]()
        for rank, title in enumerate(titles, 1):
            weights.update({title: 1 / rank})
        title = max(weights, key=weights.__getitem__, default="")
        return one_line(title, LABEL) if title and weights[title] >= self.share * sum(weights.values()) else ""


@lru_cache(maxsize=8)
def _stems_of(titles: tuple[str, ...], language: str) -> Mapping[str, frozenset[str]]:
    stems = Stems(language)
    return {title: stems.of(title) for title in titles}
