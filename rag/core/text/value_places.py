"""The places of a value in an answer: whether it is denied there, one of two options, or a part of another name."""

import re
from collections.abc import Sequence
from itertools import pairwise

from rag.core.text.facts import Fact
from rag.core.text.stated import Stated
from rag.core.text.values.words import NEGATION

SPARE = 2
"""The most other facts among those of a value: `Richard (Dick) Trevithick`."""
LIMITED = re.compile(r"\b(?:until|only|just|merely|but|before|after|since)\b", re.IGNORECASE)
"""`not until 1606` states 1606."""
DENIED = re.compile(r"\W*(?:is|was|are|were|does|did|has|had|can|will)(?: not\b|n't\b)", re.IGNORECASE)
REACH = 6
"""The most words between a negation and the value that it denies."""
OPTIONS = re.compile(r"\beither\b(?:(?![.!?]\s).)*\bor\b(?:(?![.!?]\s).)*", re.IGNORECASE | re.DOTALL)
BEFORE = re.compile(r"\b(?:either|or)\b", re.IGNORECASE)
NAME_GAP = re.compile(r"[\s.'-]+(?:(?:of|the|de|la|van|von|for)\s+)*", re.IGNORECASE)
"""The text between the words of one name."""


def value_places(given: Stated, new: Sequence[Fact]) -> list[tuple[Fact, ...]]:
    """The shortest runs of facts in a text with all facts of a value."""
    shared, found = set(given.shared(new)), dict[Fact, tuple[Fact, ...]]()
    for at, fact in enumerate(given.facts):
        runs = (given.facts[at : at + size] for size in range(1, len(new) + SPARE + 1) if fact in shared)
        if run := next((run for run in runs if run[-1] in shared and all(map(Stated("", run).has, new))), ()):
            found[run[-1]] = run
    return list(found.values())


def is_denied(asked: Stated, given: Stated, wanted: Stated, place: Sequence[Fact]) -> bool:
    """True if a clause denies a value that neither question nor reference denies.

    In a clause that repeats no word of the question, a negation there does not count: `It is W, not R`.
    """
    start, clause = place[0].start, given.clause_of(place[0])
    contrast = not any(map(asked.has, given.clauses[clause])) and any(not wanted.has(fact) for fact in given.facts)
    if NEGATION.search(wanted.text if contrast else f"{asked.text}\n{wanted.text}"):
        return False
    last = next(reversed(list(NEGATION.finditer(given.text, clause, start))), None)
    if last and len(given.text[last.end() : start].split()) <= REACH and not LIMITED.search(given.text, last.end(), start):
        return True
    return any(fact.kind != "word" for fact in place) and bool(DENIED.match(given.text, place[-1].end))


def is_option(given: Stated, wanted: Stated, place: Sequence[Fact]) -> bool:
    """True for one of two values: `either R or W`, where the reference has no `or`."""
    if re.search(r"\bor\b", wanted.text):
        return False
    first = place[0].start
    found = [mark for mark in OPTIONS.finditer(given.text) if mark.start() < first and place[-1].end <= mark.end()]
    ends = [[word.end() for word in BEFORE.finditer(given.text, mark.start(), first)][-1] for mark in found]
    return any(not any(end <= fact.start < first for fact in given.facts) for end in ends)


def is_name(wanted: Stated) -> bool:
    """True for a value that is one name, such as `William T. Anderson`."""
    gaps = (wanted.text[one.end : other.start] for one, other in pairwise(wanted.facts))
    return all(fact.kind == "name" for fact in wanted.facts) and all(map(NAME_GAP.fullmatch, gaps))


def is_another(asked: Stated, given: Stated, wanted: Stated, place: Sequence[Fact]) -> bool:
    """True for a name with another word in the place of one that it lacks: `Vistula Murray` for `Vistula River`."""
    first, last = given.facts.index(place[0]), given.facts.index(place[-1])
    row = given.facts[max(first - 1, 0) : last + 2]
    joined = [pair for pair in pairwise(row) if NAME_GAP.fullmatch(given.text, pair[0].end, pair[1].start)]
    name = {fact for pair in joined for fact in pair}
    if all(map(Stated("", (*place, *name)).has, wanted.facts)):
        return False
    return any(fact.kind == "name" and not fact.weak and not asked.has(fact) and not wanted.has(fact) for fact in name)
