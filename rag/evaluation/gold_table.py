"""Which characters of which chunks answer which question: everything about gold that does not depend on a ranking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.core.records import Arrays, Evidence, Example, Span

Ints = NDArray[np.int64]

WHOLE = -1
"""The start and the end of an alternative that is a whole document."""


@dataclass(frozen=True)
class Gold:
    """The gold of n questions laid over the chunks of one corpus, for `rag.evaluation.gold_matching.judge`.

    All documents stand behind each other on one line of characters. The borders of chunks cut it into *segments*, so that a
    chunk is a range of whole segments and a union of chunks is a set of them. The borders of gold spans cut the segments of
    one question further, into *pieces*. A *pair* says that a piece belongs to a span. `relevant` and `judged` hold sorted keys:
    question × chunks + position, and question × documents + document.
    """

    documents: Ints
    chunk_document: Ints
    chunk_chars: Ints
    chunk_first: Ints
    chunk_last: Ints
    segment_chars: Ints
    by_document: NDArray[np.bool_]
    in_characters: NDArray[np.bool_]
    group_question: Ints
    group_column: Ints
    group_grade: NDArray[np.float64]
    alternative_group: Ints
    alternative_document: Ints
    span_alternative: Ints
    span_chars: Ints
    span_needed: Ints
    pair_span: Ints
    pair_piece: Ints
    piece_question: Ints
    piece_segment: Ints
    piece_chars: Ints
    relevant: Ints
    judged: Ints

    def to_arrays(self) -> Arrays:
        """The table as named arrays, for a store."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Gold":
        """The table that `to_arrays` gave away."""
        values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls)}
        return cls(**values)


def gold_table(corpus: Corpus, examples: Sequence[Example], coverage: float = 0.5) -> Gold:
    """Lay the gold of every example over the chunks of a corpus, in the order of the examples.

    Groups of a grade of 0 or less are no gold; their documents count as judged. Gold in documents that the corpus does not
    hold stays gold that nothing can find. Raises ConfigError for a coverage outside (0, 1], and DataError for a group without
    alternatives or a span that is empty or ends outside its document.
    """
    if not 0 < coverage <= 1:
        raise ConfigError(
            "coverage", f"{coverage} is not a share of a span's characters", "write one above 0, at most 1, like 0.5"
        )
    line = _Line.of(corpus, examples)
    groups, alternatives, judged = _listed(examples, line)
    group, document, start, end = alternatives.T
    question = groups[group, 0]
    spans = np.flatnonzero(start != WHOLE)
    has_span, has_whole = (_flags(question[kind], len(examples)) for kind in (start != WHOLE, start == WHOLE))
    spoken = (question[spans], line.base[document[spans]] + start[spans], line.base[document[spans]] + end[spans])
    wholes = np.flatnonzero(start == WHOLE)
    relevant = line.chunks_of_documents(question[wholes], document[wholes]), line.chunks_in_spans(*spoken, coverage)
    return Gold(
        documents=np.array(len(line.base)),
        chunk_document=corpus.doc.astype(np.int64),
        chunk_chars=line.end - line.start,
        **line.segments(),
        by_document=has_whole & ~has_span,
        in_characters=has_span & ~has_whole,
        group_question=groups[:, 0],
        group_column=groups[:, 1],
        group_grade=groups[:, 2].astype(np.float64),
        alternative_group=group,
        alternative_document=np.where(start == WHOLE, question * len(line.base) + document, WHOLE),
        span_alternative=spans,
        span_chars=spoken[2] - spoken[1],
        span_needed=_share(coverage, spoken[2] - spoken[1]),
        **line.pieces(*spoken),
        relevant=np.unique(np.concatenate(relevant)),
        judged=np.unique(judged[:, 0] * len(line.base) + judged[:, 1]),
    )


def ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Every integer of every range [first[i], last[i]), with the i that it came from: (i, integer)."""
    sizes = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)


@dataclass(frozen=True)
class _Line:
    """Documents behind each other, first those of the corpus, then those that only gold knows.

    `start`, `end`: the chunks by position. `borders`: where any chunk or the line starts or ends, ascending.
    """

    place: dict[str, int]
    base: Ints
    size: int
    start: Ints
    end: Ints
    document: Ints
    borders: Ints

    @classmethod
    def of(cls, corpus: Corpus, examples: Sequence[Example]) -> "_Line":
        sizes = {document.doc_id: len(document.text) for document in corpus.documents}
        known = frozenset(sizes)
        for gold in (gold for example in examples for group in example.evidence for gold in group.alternatives):
            doc_id, reach = (gold.doc_id, gold.end) if isinstance(gold, Span) else (gold, 0)
            if doc_id not in known:
                sizes[doc_id] = max(reach, sizes.get(doc_id, 0))
        ends = np.cumsum(np.fromiter(sizes.values(), np.int64, len(sizes)))
        base = np.concatenate([[0], ends])[: len(sizes)].astype(np.int64)
        size = int(ends[-1]) if len(ends) else 0
        start, end = base[corpus.doc] + corpus.start, base[corpus.doc] + corpus.end
        borders = np.unique(np.concatenate([[0, size], start, end]))
        place = {doc_id: row for row, doc_id in enumerate(sizes)}
        return cls(place, base, size, start, end, corpus.doc.astype(np.int64), borders)

    def segments(self) -> dict[str, Any]:
        first, last = np.searchsorted(self.borders, self.start), np.searchsorted(self.borders, self.end)
        return {"chunk_first": first, "chunk_last": last, "segment_chars": np.diff(self.borders)}

    def pieces(self, question: Ints, start: Ints, end: Ints) -> dict[str, Any]:
        """Cut the spans of each question at the borders of all its spans and of the chunks."""
        within = np.searchsorted(self.borders, start, "right"), np.searchsorted(self.borders, end)
        owner, border = ranges(*within)
        shift = question * (self.size + 1)
        points = np.unique(np.concatenate([shift + start, shift + end, shift[owner] + self.borders[border]]))
        pair_span, point = ranges(np.searchsorted(points, shift + start), np.searchsorted(points, shift + end))
        used, pair_piece = np.unique(point, return_inverse=True)
        piece_question, place = np.divmod(points[used], self.size + 1)
        segment = np.searchsorted(self.borders, place, "right") - 1
        return {
            "pair_span": pair_span,
            "pair_piece": pair_piece,
            "piece_question": piece_question,
            "piece_segment": piece_question * (len(self.borders) - 1) + segment,
            "piece_chars": points[used + 1] - points[used] if len(used) else used,
        }

    def chunks_of_documents(self, question: Ints, document: Ints) -> Ints:
        order = np.argsort(self.document, kind="stable")
        rows = self.document[order]
        owner, row = ranges(np.searchsorted(rows, document), np.searchsorted(rows, document, "right"))
        return question[owner] * len(order) + order[row]

    def chunks_in_spans(self, question: Ints, start: Ints, end: Ints, coverage: float) -> Ints:
        """Chunks that share at least `coverage` of the shorter of span and chunk with a span."""
        order = np.argsort(self.start, kind="stable")
        # The running maximum makes the ends ascend even where chunks are nested: a superset, thinned out by `shared` below.
        reach = np.maximum.accumulate(self.end[order])
        owner, row = ranges(np.searchsorted(reach, start, "right"), np.searchsorted(self.start[order], end))
        chunk = order[row]
        shared = np.minimum(self.end[chunk], end[owner]) - np.maximum(self.start[chunk], start[owner])
        shorter = np.minimum(self.end[chunk] - self.start[chunk], end[owner] - start[owner])
        kept = shared >= _share(coverage, shorter)
        return question[owner[kept]] * len(order) + chunk[kept]


def _listed(examples: Sequence[Example], line: _Line) -> tuple[Ints, Ints, Ints]:
    """Groups (question, column, grade), alternatives (group, document, start, end) and judged (question, document)."""
    groups: list[tuple[int, int, int]] = []
    alternatives: list[tuple[int, int, int, int]] = []
    judged: list[tuple[int, int]] = []
    for number, example in enumerate(examples):
        column = 0
        judged += [(number, line.place[doc_id]) for doc_id in example.judged if doc_id in line.place]
        for evidence in example.evidence:
            rows = list(_alternatives(example, evidence, line))
            judged += [(number, document) for document, _, _ in rows]
            if evidence.grade > 0:
                alternatives += [(len(groups), *row) for row in rows]
                groups.append((number, column, evidence.grade))
                column += 1
    return _table(groups, 3), _table(alternatives, 4), _table(judged, 2)


def _alternatives(example: Example, evidence: Evidence, line: _Line) -> Iterator[tuple[int, int, int]]:
    where = f"question {example.query.query_id!r}"
    if not evidence.alternatives:
        raise DataError(
            where, "has an evidence group without alternatives", "name a span or a document, or leave the group out"
        )
    for gold in evidence.alternatives:
        if isinstance(gold, str):
            yield line.place[gold], WHOLE, WHOLE
            continue
        row = line.place[gold.doc_id]
        size = (line.base[row + 1] if row + 1 < len(line.base) else line.size) - line.base[row]
        if not 0 <= gold.start < gold.end <= size:
            found = f"names [{gold.start}, {gold.end}) in {gold.doc_id!r}, which has {size} characters"
            raise DataError(where, found, "give a span inside its document that is not empty")
        yield row, gold.start, gold.end


def _share(coverage: float, chars: Ints) -> Ints:
    """The least whole number of characters that is at least `coverage` of `chars`, and at least 1."""
    # 0.55 * 100 is 55.00000000000001 in binary, and must need 55 characters, not 56.
    return np.maximum(np.ceil(np.round(coverage * chars, 6)), 1).astype(np.int64)


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _flags(rows: Ints, size: int) -> NDArray[np.bool_]:
    flags = np.zeros(size, dtype=np.bool_)
    flags[rows] = True
    return flags
