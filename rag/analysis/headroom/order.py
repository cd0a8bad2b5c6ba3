"""The best order of the candidates of a search, without searching again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.types import Example, Place, Span, document_of, spans_of
from rag.evaluation.scoring import Gold


def pool(rankings: Sequence[Rankings]) -> Rankings:
    """The union of several rankings: the first one, then the further chunks of the others."""
    rows = (dict.fromkeys(place for each in rankings for place, _ in each.row(row)) for row in range(len(rankings[0])))
    return ranked([list(row) for row in rows])


def ranked(rows: Sequence[Sequence[int]]) -> Rankings:
    """Rankings of positions that are in order."""
    return Rankings.pack([[(position, float(-rank)) for rank, position in enumerate(row)] for row in rows])


def perfect_order(candidates: Rankings, corpus: Corpus, examples: Sequence[Example], gold: Gold) -> Rankings:
    """The candidates of every question in a greedy best order.

    The next chunk is the one that newly satisfies groups with the greatest total grade; of several the one with most new gold
    characters, then the shortest, then the first candidate. If no chunk satisfies a group alone, the smallest set that does so
    together is next (of several the one with the greatest grade; a set is built by taking most characters first). Then come
    the other relevant chunks, then the rest, in their old order.

    If no candidate has gold of two groups, and every group that the candidates can satisfy is satisfied by one alone, no order
    has a higher recall, hit, mrr, map or ndcg at any cut in ranks. This includes gold of whole documents, each in its own
    group. Otherwise, and for other metrics, a better order may exist.
    """
    placing = _Placing.of(corpus, gold)
    rows = []
    for number, example in enumerate(examples):
        row = [position for position, _ in candidates.row(number)]
        groups = example.ranked
        places = [place for group, evidence in enumerate(groups) for place in placing.places(row, group, evidence.alternatives)]
        picked = _Picking.of(row, corpus, places, [evidence.grade for evidence in groups]).all()
        relevant = [position for position in row if number * len(corpus) + position in placing.relevant]
        rows.append(list(dict.fromkeys([*picked, *relevant, *row])))
    return ranked(rows)


class _Place(NamedTuple):
    """One alternative of a group: the number of characters that are needed, and those that each candidate has.

    Characters are the bits of a number; a whole document is one bit, which all its chunks have.
    """

    group: int
    needed: int
    held: Mapping[int, int]


@dataclass(frozen=True)
class _Placing:
    """Chunks by document, keys of relevant chunks, and the characters that spans need, in the order of the gold table."""

    corpus: Corpus
    inside: Mapping[str, range]
    relevant: frozenset[int]
    needed: Iterator[int]

    @classmethod
    def of(cls, corpus: Corpus, gold: Gold) -> "_Placing":
        edges = np.searchsorted(corpus.doc, np.arange(len(corpus.documents) + 1)).tolist()
        inside = {document.doc_id: range(*edges[row : row + 2]) for row, document in enumerate(corpus.documents)}
        return cls(corpus, inside, frozenset(gold.relevant.tolist()), iter(gold.span_needed.tolist()))

    def places(self, row: Sequence[int], group: int, alternatives: Sequence[Place]) -> Iterator[_Place]:
        known = frozenset(row)
        for gold in alternatives:
            chunks = self.inside.get(document_of(gold), range(0))
            present = [position for position in chunks if position in known]
            if isinstance(gold, str):
                yield _Place(group, 1, dict.fromkeys(present, 1))
            else:
                held = {position: bits for position in present if (bits := self._bits(position, spans_of(gold)))}
                yield _Place(group, next(self.needed), held)

    def _bits(self, position: int, spans: Sequence[Span]) -> int:
        bits = shift = 0
        for span in spans:
            begin = max(int(self.corpus.start[position]), span.start) - span.start
            end = min(int(self.corpus.end[position]), span.end) - span.start
            bits |= ((1 << end) - (1 << begin)) << shift if begin < end else 0
            shift += span.end - span.start
        return bits


@dataclass
class _Picking:
    """The chunks of one question that are picked so far."""

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
        """Pick chunks until no further group can be satisfied."""
        while following := self._next():
            for position in following:
                self._pick(position)
        return self.picked

    def _next(self) -> Sequence[int]:
        left = [position for position in self.holds if position not in self.picked]
        best = max(left, key=lambda position: (*self._gain(position), *self.preference[position]), default=None)
        if best is not None and self._gain(best)[0]:
            return [best]
        unsatisfied = [number for number, place in enumerate(self.places) if place.group not in self.satisfied]
        sets = [
            (-self.grades[self.places[number].group], chunks) for number in unsatisfied if (chunks := self._together(number))
        ]
        return min(sets, key=lambda each: (len(each[1]), each[0]), default=(0, ()))[1]

    def _gain(self, position: int) -> tuple[int, int]:
        """The total grade of the groups that a chunk would satisfy, and the characters that it adds to unsatisfied groups."""
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
        """Chunks that satisfy a place together, most new characters first; empty if all of them do not."""
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
