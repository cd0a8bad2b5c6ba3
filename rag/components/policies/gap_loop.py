"""The base of loops that take a question apart, and then search for what the first passages do not say."""

import re
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rag.components.policies.trail import Trail
from rag.core.checks import check_whole
from rag.core.rankings import Rankings
from rag.core.roles.looking import Looked, Tools
from rag.core.types import Query

PARTS, GAPS = 3, 2
"""The most questions that one is taken apart into, and the most further searches of a round."""

Texts = tuple[str, ...]
"""The wordings of one search."""
Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GapLoop:
    """Searches for a question, for its parts, and for what is missing, in at most `rounds` rounds; then ranks all passages.

    `decompose` and `gaps` switch the two kinds of further searches on. A subclass makes the texts.
    """

    decompose: bool = True
    gaps: bool = True
    rounds: int = 1

    def __post_init__(self) -> None:
        check_whole("policy.rounds", self.rounds, 1, 10)

    @abstractmethod
    def parts(self, query: Query, trail: Trail) -> Sequence[Texts]:
        """The parts of a question; empty if it has one part only."""

    @abstractmethod
    def missing(self, query: Query, best: Rankings, trail: Trail) -> Sequence[Texts]:
        """Searches for what the best passages do not say; empty if they say everything."""

    def trail(self, tools: Tools) -> Trail:
        """The trail of a question."""
        return Trail(tools)

    def look(self, query: Query, tools: Tools) -> Looked:
        """The passages of all searches in one ranking against the question."""
        trail, question = self.trail(tools), tools.sought.question
        trail.search(tools.sought.texts)
        asked = {_key(text) for text in (question, *tools.sought.texts)}
        if self.decompose:
            _search(trail, self.parts(query, trail), PARTS, asked)
        for _ in range(self.rounds if self.gaps else 0):
            if trail.stopped:
                break
            best = tools.rerank(question, trail.found)
            if not _search(trail, self.missing(query, best, trail), GAPS, asked):
                break
        return trail.looked()


def _search(trail: Trail, wanted: Sequence[Texts], most: int, asked: set[Key]) -> bool:
    """Search for the first `most` whose first wording was not searched for before; False if there is none."""
    new = {_key(texts[0]): texts for texts in reversed(wanted) if _key(texts[0]) not in asked}
    chosen = list(reversed(new.items()))[:most]
    asked.update(key for key, _ in chosen)
    for _, texts in chosen:
        trail.search(texts)
    return bool(chosen)


def _key(text: str) -> Key:
    """What two wordings have in common that differ in case, quotes and punctuation."""
    return tuple(word[0].casefold() for word in WORD.finditer(text))


WORD = re.compile(r"[^\W\d_]\.(?=\s)|[^\W_]+(?:[-.'’/&][^\W_]+)*")
"""A word, or an initial with its full stop."""


def names(text: str, connecting: Collection[str], light: Collection[str]) -> list[str]:
    """The different names in reading order.

    `connecting` are words in small letters that may stand inside a name; `light` are words that neither begin nor end one.
    """
    return list(dict.fromkeys(name for run in _runs(text, connecting) if (name := _trimmed(run, {*connecting, *light}))))


def _runs(text: str, connecting: Collection[str]) -> Iterator[list[str]]:
    run, last = list[str](), 0
    for word in WORD.finditer(text):
        written, gap = word[0], text[last : word.start()]
        if run and gap.strip(" \n"):
            yield run
            run = []
        if written[0].isupper() or (run and written.lower() in connecting):
            run.append(written)
        elif run:
            yield run
            run = []
        last = word.end()
    yield run


def _trimmed(run: list[str], light: Collection[str]) -> str:
    while run and run[0].lower() in light:
        run = run[1:]
    while run and run[-1].lower() in light:
        run = run[:-1]
    return " ".join(run)
