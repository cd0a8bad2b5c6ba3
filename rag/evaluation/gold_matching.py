"""Match the rankings of many questions with their gold: the numbers that ranking metrics read.

A span is covered at the first rank at which the union of the chunks so far covers its share of characters. There are no loops
over questions, ranks or spans: all hits of all questions are in one row, and a hit is identified by its place there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.arrays import Flags, Floats, Ints
from rag.core.rankings import NOTHING, Rankings
from rag.core.roles import Judgements
from rag.evaluation.gold_table import ArrayTable, Gold
from rag.evaluation.overlaps import ranges

DENSE = 1 << 22
"""The number of possible keys above which sorting the present keys is faster than a lookup table."""


@dataclass(frozen=True)
class Judged(ArrayTable, Judgements):
    """What ranking metrics read, for n questions at once: fits `rag.core.roles.Judgements`, which gives the shapes.

    If all gold of a question is whole documents, its items are documents: the ranking of chunks becomes a ranking of documents
    by first occurrence, and `chars_seen` and `chars_read` at a document's rank count the chunks up to and including the first
    one of that document. Otherwise items are hits, each with the chunks that a selector added to it, which share the
    rank of their hit. Any chunk of a whole gold document satisfies its group.

    An item is relevant if one of its chunks is: the chunk shares at least `coverage` of the shorter of the two with a gold
    span, or belongs to a whole gold document. Judged are relevant items, and those that share so much with a place of `judged`
    or belong to a document there. What else is in a document of a quote is not judged.

    Gold characters are those of one alternative per group, the one that the whole ranking covers best (the first of several),
    counted once where spans overlap. A question with a whole document in its gold has no gold characters.
    """

    def __len__(self) -> int:
        return len(self.items)


def judge(rankings: Rankings, gold: Gold) -> Judged:
    """Match every ranking with its gold; row i of `rankings` belongs to example i of the gold table."""
    if len(rankings) != len(gold.by_document):
        raise ValueError(f"{len(rankings)} rankings for {len(gold.by_document)} questions")
    hits = Hits.of(rankings)
    fresh_chars, piece_hit = _segments(hits, gold)
    new_document, document_hit = _documents(hits, gold)
    covering_hit, share = _coverage(piece_hit, len(hits), gold)
    chosen = _chosen_pieces(share, gold)
    gold_chars = np.bincount(piece_hit[chosen], gold.piece_chars[chosen], len(hits) + 1)[:-1].astype(np.int64)
    items = _Items.of(hits, new_document, gold.by_document)
    group_ranks, grades = _groups(covering_hit, document_hit, items, gold)
    return Judged(
        group_ranks=group_ranks,
        grades=grades,
        relevant=items.flags(_among(hits, hits.position, gold.relevant, len(gold.chunk_chars))),
        judged=items.flags(_among(hits, hits.position, gold.judged, len(gold.chunk_chars)) | gold.complete[hits.question]),
        gold_seen=items.totals(gold_chars),
        chars_seen=items.totals(fresh_chars),
        chars_read=items.totals(read_chars(hits, gold)),
        gold_chars=np.bincount(gold.piece_question[chosen], gold.piece_chars[chosen], hits.questions).astype(np.int64),
        items=items.table(items.rank[items.end]).max(axis=1),
        answerable=group_ranks[:, 0] >= 0,
    )


@dataclass(frozen=True)
class Hits:
    """All hits in one row, question after question, best first. The place `len(hits)` stands for "no hit".

    `first` is the place of the first hit of the same question, `rank` the rank of a hit and of the chunks added to it, and
    `fresh` marks the first hit of each rank. Hits with the same number in `passage` are read as one text; None if none are.
    """

    questions: int
    width: int
    question: Ints
    position: Ints
    first: Ints
    rank: Ints
    fresh: Flags
    passage: Ints | None = None

    @classmethod
    def of(cls, rankings: Rankings) -> "Hits":
        """The hits of rankings."""
        used = rankings.positions != NOTHING
        question, _ = np.nonzero(used)
        counts = used.sum(axis=1)
        first = (np.cumsum(counts) - counts)[question]
        rank = np.arange(len(question)) - first + 1 if rankings.ranks is None else rankings.ranks[used].astype(np.int64)
        width = max(used.shape[1], int(rank.max(initial=1)))
        fresh = np.append(True, (np.diff(rank) != 0) | (np.diff(question) != 0))[: len(question)]
        passage = None
        if rankings.joined is not None:
            passage = np.where(rankings.joined[used], np.cumsum(fresh) - 1, len(question) + np.arange(len(question)))
        return cls(len(used), width, question, rankings.positions[used].astype(np.int64), first, rank, fresh, passage)

    def __len__(self) -> int:
        return len(self.question)

    def running(self, values: Ints) -> Ints:
        """Running sums of a value per hit, from the first hit of its question."""
        totals = np.cumsum(values)
        sums: Ints = totals - (totals - values)[self.first]
        return sums


@dataclass(frozen=True)
class _Items:
    """The items of the rankings: the rank of every hit, the first and last hit of each item, and its place in a table."""

    hits: Hits
    rank: Ints
    start: Ints
    end: Ints
    place: Ints

    @classmethod
    def of(cls, hits: Hits, new_document: Flags, by_document: Flags) -> "_Items":
        """Items are new documents for questions `by_document`, else hits with the chunks added to them."""
        own = by_document[hits.question]
        rank = np.where(own, hits.running(new_document.astype(np.int64)), hits.rank)
        start = np.flatnonzero(np.where(own, new_document, hits.fresh))
        end = np.flatnonzero(np.where(own, new_document, np.append(hits.fresh[1:], True)[: len(hits)]))
        return cls(hits, rank, start, end, hits.question[end] * hits.width + rank[end] - 1)

    def flags(self, values: Flags) -> Flags:
        """True if any hit of an item has the flag, as a table by rank."""
        flagged = np.append(0, np.cumsum(values))
        return self.table(flagged[self.end + 1] > flagged[self.start])

    def totals(self, values: Ints) -> Ints:
        """Running sums of a number per hit, as a table by rank; after the last item the sum stays constant."""
        table: Ints = np.maximum.accumulate(self.table(self.hits.running(values)[self.end]), axis=1)
        return table

    def table(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value per item as a table by question and rank; 0 where there is no item."""
        table = np.zeros(self.hits.questions * self.hits.width, values.dtype)
        table[self.place] = values
        return table.reshape(self.hits.questions, self.hits.width)


def _segments(hits: Hits, gold: Gold) -> tuple[Ints, Ints]:
    """For each hit the characters that no earlier hit of its question has; for each piece the first hit that has it."""
    owner, segment = ranges(gold.chunk_first[hits.position], gold.chunk_last[hits.position])
    size = len(gold.segment_chars)
    keys = hits.question[owner] * size + segment
    fresh, place = _first(keys, gold.piece_segment, hits.questions * size)
    chars = np.bincount(owner[fresh], gold.segment_chars[segment[fresh]], len(hits)).astype(np.int64)
    return chars, np.append(owner, len(hits))[place]


def read_chars(hits: Hits, gold: Gold) -> Ints:
    """For each hit the characters that it adds to what is read: all, or those that no earlier chunk of its passage has."""
    if hits.passage is None:
        return gold.chunk_chars[hits.position]
    owner, segment = ranges(gold.chunk_first[hits.position], gold.chunk_last[hits.position])
    size, none = len(gold.segment_chars), np.zeros(0, np.int64)
    fresh, _ = _first(hits.passage[owner] * size + segment, none, 2 * len(hits) * size)
    return np.bincount(owner[fresh], gold.segment_chars[segment[fresh]], len(hits)).astype(np.int64)


def _documents(hits: Hits, gold: Gold) -> tuple[Flags, Ints]:
    """Flags of the first hits of documents; for each alternative the first hit of its document, none for a span."""
    wholes = np.flatnonzero(gold.alternative_document >= 0)
    first = np.full(len(gold.alternative_document), len(hits))
    if not len(wholes):
        return np.zeros(len(hits), np.bool_), first
    size = int(gold.documents)
    keys = hits.question * size + gold.chunk_document[hits.position]
    fresh, first[wholes] = _first(keys, gold.alternative_document[wholes], hits.questions * size)
    return fresh, first


def _first(keys: Ints, wanted: Ints, size: int) -> tuple[Flags, Ints]:
    """Flags of keys that do not occur earlier in `keys`; the first place of each wanted key, `len(keys)` if it is missing."""
    if size > DENSE:
        distinct, inverse = np.unique(np.concatenate([keys, wanted]), return_inverse=True)
        keys, wanted, size = inverse[: len(keys)], inverse[len(keys) :], len(distinct)
    places = np.arange(len(keys))
    table = np.empty(size, np.int64)  # only entries that are set below are read
    table[wanted] = len(keys)
    table[keys[::-1]] = places[::-1]  # the first place is written last, so it stays
    return table[keys] == places, table[wanted]


def _coverage(piece_hit: Ints, none: int, gold: Gold) -> tuple[Ints, Floats]:
    """For each span the hit that covers it, and the share of its characters in all hits."""
    hit = piece_hit[gold.pair_piece]
    order = np.argsort(gold.pair_span * (none + 1) + hit)
    span, hit = gold.pair_span[order], hit[order]
    chars = np.where(hit < none, gold.piece_chars[gold.pair_piece[order]], 0)
    first = np.searchsorted(span, np.arange(len(gold.span_chars)))
    total = np.cumsum(chars)
    so_far = total - (total - chars)[first][span]
    covering = np.where(so_far >= gold.span_needed[span], hit, none)
    if not len(first):
        return first, np.zeros(0)
    return np.minimum.reduceat(covering, first), np.maximum.reduceat(so_far, first) / gold.span_chars


def _chosen_pieces(share: Floats, gold: Gold) -> Flags:
    """Flags of the gold pieces: of each group the alternative with the greatest share, the first of several."""
    group = gold.alternative_group[gold.span_alternative]
    spans = np.lexsort((-share, group))
    best = np.ones(len(spans), np.bool_)
    best[1:] = group[spans[1:]] != group[spans[:-1]]
    is_gold = np.zeros(len(spans), np.bool_)
    is_gold[spans[best]] = gold.in_characters[gold.group_question[group[spans[best]]]]
    chosen = np.zeros(len(gold.piece_chars), np.bool_)
    chosen[gold.pair_piece[is_gold[gold.pair_span]]] = True
    return chosen


def _groups(covering: Ints, document_hit: Ints, items: _Items, gold: Gold) -> tuple[NDArray[np.int32], Floats]:
    """Ranks and grades of groups, shape (questions, most groups of a question, at least 1)."""
    shape = len(gold.by_document), int(gold.group_column.max(initial=0)) + 1
    ranks, grades = np.full(shape, -1, np.int32), np.zeros(shape)
    if len(gold.group_question):
        hit = document_hit.copy()
        hit[gold.span_alternative] = covering
        first = np.searchsorted(gold.alternative_group, np.arange(len(gold.group_question)))
        best = np.minimum.reduceat(hit, first)
        ranks[gold.group_question, gold.group_column] = np.append(items.rank, 0)[best]
        grades[gold.group_question, gold.group_column] = gold.group_grade
    return ranks, grades


def _among(hits: Hits, values: Ints, members: Ints, size: int) -> Flags:
    """True for each hit whose key (question, value) is among the ascending `members`; values are below `size`."""
    keys = hits.question * size + values
    if hits.questions * size <= DENSE:
        table = np.zeros(hits.questions * size, np.bool_)
        table[members] = True
        known: Flags = table[keys]
        return known
    place = np.searchsorted(members, keys)
    member: Flags = np.append(members, -1)[place] == keys
    return member
