"""What the guidance of a section asks for, and what of it a text does not state: by words, or by the reply of a model."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag.components.policies.actions import search_texts
from rag.core.models.chat import Given
from rag.core.text.passage_statements import statements
from rag.core.text.stems import Stems
from rag.core.text.templates import fill
from rag.core.text.values.numbers import numbers
from rag.core.types import Chunk, Message

LONGEST = 300
"""Characters of a gap that a model names."""


class GapCheck:
    """Compares sections with their guidance; `texts` are those of conf/write.yaml, which says how."""

    def __init__(self, texts: Mapping[str, Any], language: str = "english") -> None:
        words = {name: list.split() for name, list in texts["languages"].get(language, {}).items()}
        joins, begins = ("|".join(map(re.escape, words.get(name, ()))) or "(?!)" for name in ("joins", "begins"))
        border = rf"[.;:!?]+\s+|\n+|,\s+(?:(?:{joins})\s+)?|\s+(?:{joins})\s+(?=(?:{begins})\b)"
        self._texts, self._language, self._stems = texts, language, Stems(language)
        self._border = re.compile(border, re.IGNORECASE)
        lists = ((*words.get("silent", ()), *words.get("begins", ())), words.get("measures", ()))
        self._silent, self._measures = (frozenset(self._stems.stems(each)) for each in lists)

    def requirements(self, guidance: str) -> list[str]:
        """The clauses of a guidance with words of content, in order, each once."""
        clauses = dict.fromkeys(part.strip(" .!?-*•") for part in self._border.split(guidance))
        return [clause for clause in clauses if self._stems.of(clause) - self._silent]

    def uncovered(self, wanted: Sequence[str], heading: str, said: Iterable[str], contexts: Sequence[Chunk]) -> list[str]:
        """The requirements that no text of `said` covers. Words of the heading count only where a requirement has no others.

        A sentence that is quoted from a context also has the words of the headings above it, and of the header of its table.
        """
        read = [each for chunk in contexts for each in statements(chunk, self._language)]
        own, above = [self._stems.of(each.text) for each in read], {each.text: f"{each.path} {each.header}" for each in read}
        answers = (text for text in said if not text.endswith("?"))
        stated = [(self._stems.of(f"{text} {above.get(text, '')}"), bool(numbers(text))) for text in answers]
        common, topic = Counter(stem for stems in own for stem in stems), self._stems.of(heading)

        def covers(clause: str) -> bool:
            asked = self._stems.of(clause) - self._silent
            stems = asked - self._measures - topic or asked - self._measures or asked
            weight = {stem: math.log(1 + (len(own) - common[stem] + 0.5) / (common[stem] + 0.5)) for stem in stems}
            fitting = (found for found, counts in stated if counts or not asked & self._measures)
            best = max((sum(weight[stem] for stem in stems & found) for found in fitting), default=0.0)
            return best > 0 and best >= self._texts["covered"] * sum(weight.values())

        return [clause for clause in wanted if not covers(clause)]

    def messages(self, **values: str) -> tuple[Message, ...]:
        """The request to a model, with heading, guidance, text and the words for missing data."""
        system, user = (fill(self._texts[name], values) for name in ("instruction", "prompt"))
        return Message("system", system), Message("user", user)


def gaps_in(given: Given) -> list[str]:
    """The gaps in the reply of a model, each once; ValueError for a reply of another form, and for none."""
    if isinstance(given, str):
        raise ValueError(f"did not come: {given}")
    return list(dict.fromkeys(search_texts(given.text, "gaps", LONGEST)))
