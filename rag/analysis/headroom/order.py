"""The best order of what was found: nothing is searched for again, it is only laid out better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Example, Span
from rag.evaluation.scoring import Gold


def pool(found: Sequence[Rankings]) -> Rankings:
    """Everything that any of several rankings holds, each chunk once: the first ranking, then what the others add to it."""
    rows = (dict.fromkeys(position for one in found for position, _ in one.row(row)) for row in range(len(found[0])))
    return ranked([list(row) for row in rows])


def ranked(rows: Sequence[Sequence[int]]) -> Rankings:
    """Rankings of positions that are in their order already."""
    return Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(row)] for row in rows])


def perfect_order(candidates: Rankings, corpus: Corpus, examples: Sequence[Example], gold: Gold) -> Rankings:
    """The candidates of every question in the best order that can be found step by step.

    Always next is the chunk that newly satisfies groups of the greatest grade together; of several the one with most new gold
    characters, of these the shortest, of these the first candidate. Where no chunk satisfies a group by itself, the smallest
    set that does so together is next (of several that of the greatest grade; a set is found by taking most characters first).
    Then come the other relevant chunks, then the rest, each in the order that they had.

    Where no candidate holds gold of two groups, and every group that the candidates can satisfy has one that does so alone, no
    order has a higher recall, hit, mrr, map or ndcg at any cut in ranks. So it is where gold is whole documents, each in a
    group of its own. Elsewhere, and for other metrics, it is one order among all, and the best may score higher.
    """
    placing = _Placing.of(corpus, gold)
    rows = []
    for number, example in enumerate(examples):
        row = [position for position, _ in candidates.row(number)]
        groups = [evidence for evidence in example.evidence if evidence.grade > 0]
        places = [place for group, evidence in enumerate(groups) for place in placing.places(row, group, evidence.alternatives)]
        picked = _Picking.of(row, corpus, places, [evidence.grade for evidence in groups]).all()
        relevant = [position for position in row if number * len(corpus) + position in placing.relevant]
        rows.append(list(dict.fromkeys([*picked, *relevant, *row])))
    return ranked(rows)


class _Place(NamedTuple):
    """One alternative of a group: how many of its characters are needed, and which of them each candidate holds.

    Characters are the bits of a number; a whole document is one bit, which all its chunks hold.
    """

    group: int
    needed: int
    held: Mapping[int, int]


@dataclass(frozen=True)
class _Placing:
    """Chunks by document, what is relevant to whom, and what spans need, in the order in which the gold table lists them."""

    corpus: Corpus
    inside: Mapping[str, range]
    relevant: frozenset[int]
    needed: Iterator[int]

    @classmethod
    def of(cls, corpus: Corpus, gold: Gold) -> "_Placing":
        edges = np.searchsorted(corpus.doc, np.arange(len(corpus.documents) + 1)).tolist()
        inside = {document.doc_id: range(*edges[row : row + 2]) for row, document in enumerate(corpus.documents)}
        return cls(corpus, inside, frozenset(gold.relevant.tolist()), iter(gold.span_needed.tolist()))

    def places(self, row: Sequence[int], group: int, alternatives: Sequence[Span | str]) -> Iterator[_Place]:
        known = frozenset(row)
        for gold in alternatives:
            chunks = self.inside.get(gold.doc_id if isinstance(gold, Span) else gold, range(0))
            found = [position for position in chunks if position in known]
            if isinstance(gold, Span):
                held = {position: bits for position in found if (bits := self._bits(position, gold))}
                yield _Place(group, next(self.needed), held)
            else:
                yield _Place(group, 1, dict.fromkeys(found, 1))

    def _bits(self, position: int, gold: Span) -> int:
        begin = max(int(self.corpus.start[position]), gold.start) - gold.start
        end = min(int(self.corpus.end[position]), gold.end) - gold.start
        return (1 << end) - (1 << begin) if begin < end else 0


@dataclass
class _Picking:
    """Chunks of one question, picked one after the other."""

    places: Sequence[_Place]
    grades: Sequence[int]
    holds: Mapping[int, Sequence[int]]
    preference: Mapping[int, tuple[int, int]]
    have: list[int]
    satisfied: set[int] = field(default_factory=set)
    picked: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, row: Sequence[int], corpus: Corpus, places: Sequence[_Place], grades: Sequence[int]) -> "_Picking":
        holds: dict[int, list[int]] = {}
        for number, place in enumerate(places):
            for position in place.held:
                holds.setdefault(position, []).append(number)
        ranks = {position: rank for rank, position in enumerate(row)}
        chars = {position: int(corpus.end[position] - corpus.start[position]) for position in holds}
        preference = {position: (-chars[position], -ranks[position]) for position in holds}
        return cls(places, grades, holds, preference, [0] * len(places))

    def all(self) -> list[int]:
        """Chunks until nothing more can be satisfied."""
        while following := self._next():
            for position in following:
                self._pick(position)
        return self.picked

    def _next(self) -> Sequence[int]:
        left = [position for position in self.holds if position not in self.picked]
        best = max(left, key=lambda position: (*self._gain(position), *self.preference[position]), default=None)
        if best is not None and self._gain(best)[0]:
            return [best]
        sets = [(number, found) for number in self._open() if (found := self._together(number))]
        return min(sets, key=lambda one: (len(one[1]), -self.grades[self.places[one[0]].group]), default=(0, ()))[1]

    def _open(self) -> list[int]:
        return [number for number, place in enumerate(self.places) if place.group not in self.satisfied]

    def _gain(self, position: int) -> tuple[int, int]:
        """The grades of all groups that a chunk would satisfy, and the characters that it would add to groups that are open."""
        groups, chars = set(), 0
        for number in self.holds[position]:
            place, have = self.places[number], self.have[number]
            if place.group not in self.satisfied:
                both = (have | place.held[position]).bit_count()
                chars += both - have.bit_count()
                if both >= place.needed:
                    groups.add(place.group)
        return sum(self.grades[group] for group in groups), chars

    def _together(self, number: int) -> list[int]:
        """Chunks that satisfy a place together, most new characters first; none where all of them do not."""
        place, have, chosen = self.places[number], self.have[number], list[int]()
        while have.bit_count() < place.needed:
            added = {position: (have | bits).bit_count() for position, bits in place.held.items()}
            best = max(added, key=lambda position: (added[position], *self.preference[position]), default=None)
            if best is None or added[best] == have.bit_count():
                return []
            have |= place.held[best]
            chosen.append(best)
        return chosen

    def _pick(self, position: int) -> None:
        self.picked.append(position)
        for number in self.holds[position]:
            place = self.places[number]
            self.have[number] |= place.held[position]
            if self.have[number].bit_count() >= place.needed:
                self.satisfied.add(place.group)
