"""The words by which a document differs from the others of its corpus, and its first sentences."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rag.core.headings import sections
from rag.core.text.languages import stop_words
from rag.core.text.sentences import Piece, blocks, is_heading, sentences
from rag.core.text.stems import Stems

HEADED, SHORTEST, FEWEST, SUMMARY = 3, 3, 7, 300
"""The weight of a word in a heading, least letters of a keyword, least words of a sentence, and most letters of a summary."""
NO_PROSE = re.compile(r"\||[^.:]{1,30}:\s")
"""Rows of tables, and lines such as `Owner: People Office`."""


class Keywords:
    """Counts the documents that have each stem; a stem is shown as the form that stands in most of them."""

    def __init__(self, texts: Iterable[str], language: str) -> None:
        self._stems, self._stop = Stems(language), stop_words("english_plus" if language == "english" else language)
        self._count, self._documents, self._forms = 0, Counter[str](), dict[str, Counter[str]]()
        for text in texts:
            self._count += 1
            for stem, forms in self._read(text).items():
                self._documents[stem] += 1
                self._forms.setdefault(stem, Counter()).update(dict.fromkeys(forms, 1))

    def of(self, text: str, most: int) -> list[str]:
        """The words of a text that are frequent in it and in at most half of all documents, the most telling first."""
        weights = {
            stem: sum(forms.values()) * math.log(self._count / self._documents[stem])
            for stem, forms in self._read(text).items()
            if 2 * self._documents[stem] <= self._count and (self._documents[stem] > 1 or sum(forms.values()) > 1)
        }
        best = sorted(weights, key=lambda stem: (-weights[stem], stem))[:most]
        return [min(self._forms[stem].items(), key=lambda form: (-form[1], form[0]))[0] for stem in best]

    def _read(self, text: str) -> Mapping[str, Counter[str]]:
        """Stem → its forms in a text, in lower case, with their weights."""
        found = dict[str, Counter[str]]()
        headings = " ".join(text[each.start : each.body] for each in sections(text)[1:])
        for part, weight in ((text, 1), (headings, HEADED - 1)):
            words = [word.lower() for word in self._stems.terms(part) if word.isalpha() and len(word) >= SHORTEST]
            words = [word for word in words if word not in self._stop]
            for word, stem in zip(words, self._stems.stems(words), strict=True):
                found.setdefault(stem, Counter())[word] += weight
        return found


def first_sentences(text: str, most: int, language: str) -> tuple[str, Piece] | None:
    """The first sentences of the first paragraph of prose, and its place; None where there is none."""
    for block in blocks(text):
        plain = not is_heading(text, block[0]) and not NO_PROSE.match(text, block[0])
        found: Sequence[Piece] = [*sentences(text, block, language)][:most] if plain else []
        if found and text[found[0][1] - 1] in ".!?…。" and len(text[found[0][0] : found[0][1]].split()) >= FEWEST:
            place = found[0][0], min(found[-1][1], found[0][0] + SUMMARY)
            return text[slice(*place)], place
    return None
