"""Gold characters of questions in the chunks of a corpus: the part of matching that does not depend on a ranking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from rag.core.arrays import Flags, Floats, Ints
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.core.types import ALL, Anchor, Arrays, Evidence, Example, Place, Span, document_of, spans_of
from rag.evaluation.overlaps import ranges, shared_chars

WHOLE = -1
"""The place of the document of an alternative that is a span."""


@dataclass(frozen=True)
class ArrayTable:
    """A record whose fields are arrays."""

    def to_arrays(self) -> Arrays:
        """The fields as named arrays, for a store."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The record from the arrays of `to_arrays`."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class Gold(ArrayTable):
    """The gold of n questions in the chunks of one corpus, for `rag.evaluation.gold_matching.judge`.

    All documents are concatenated to one line of characters. The borders of chunks cut it into *segments*: a chunk is a
    range of segments, a union of chunks a set of segments. The borders of gold spans cut the segments of one question into
    *pieces*. A *pair* is a piece and a span that contains it. A quote in several places (`rag.core.questions.Anchor`) counts
    as one span, the union of its places, and a lost one as a span that no chunk has. `relevant` and `judged` hold sorted
    keys: question × chunks + position. Of a question that is `complete` every chunk is judged.
    """

    documents: Ints
    chunk_document: Ints
    chunk_chars: Ints
    chunk_first: Ints
    chunk_last: Ints
    segment_chars: Ints
    by_document: Flags
    in_characters: Flags
    group_question: Ints
    group_column: Ints
    group_grade: Floats
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
    complete: Flags


def gold_table(corpus: Corpus, examples: Sequence[Example], coverage: float = 0.5) -> Gold:
    """The gold of every example in the chunks of a corpus, in the order of the examples.

    Groups with a grade of 0 or less are not gold; their places count as judged. Questions that records answer have no gold.
    Gold in documents that are missing in the corpus counts as gold that no ranking can find. Raises ConfigError for a coverage
    outside (0, 1], and DataError for a group without alternatives and for a span that is empty or outside its document.
    """
    if not 0 < coverage <= 1:
        raise ConfigError("coverage", f"{coverage} is not a valid share of a span's characters", "above 0, at most 1, like 0.5")
    line = _Line.of(corpus, examples)
    groups, alternatives, places, known, judged = _numbered(examples, line)
    group, document = alternatives.T
    question = groups[group, 0]
    is_span = document == WHOLE
    spans, wholes = np.flatnonzero(is_span), np.flatnonzero(~is_span)
    has_span, has_whole = (np.bincount(question[kind], minlength=len(examples)) > 0 for kind in (is_span, ~is_span))
    span = np.searchsorted(spans, places[:, 0])
    placed = (question[places[:, 0]], line.base[places[:, 1]] + places[:, 2], line.base[places[:, 1]] + places[:, 3])
    chars = np.bincount(span, placed[2] - placed[1], len(spans)).astype(np.int64)
    within = line.chunks_in_spans(span, question[spans], *placed[1:], chars, coverage)
    relevant = np.unique(np.concatenate([line.chunks_of_documents(question[wholes], document[wholes]), within]))
    apart = known[:, 0], line.base[known[:, 1]] + known[:, 2], line.base[known[:, 1]] + known[:, 3]
    seen = line.chunks_in_spans(np.arange(len(known)), *apart, apart[2] - apart[1], coverage)
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
        alternative_document=np.where(is_span, WHOLE, question * len(line.base) + document),
        span_alternative=spans,
        span_chars=chars,
        span_needed=_share(coverage, chars),
        **line.pieces(span, *placed),
        relevant=relevant,
        judged=np.unique(np.concatenate([relevant, seen, line.chunks_of_documents(judged[:, 0], judged[:, 1])])),
        complete=np.array([ALL in example.judged for example in examples], np.bool_),
    )


@dataclass(frozen=True)
class _Line:
    """The line of concatenated documents: those of the corpus, then those that only gold names.

    `base`: the start of each document. `start`, `end`: the chunks by position. `borders`: all starts and ends, ascending.
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
        for gold in (gold for example in examples for gold in example.places):
            for doc_id, reach in [(document_of(gold), 0), *((span.doc_id, span.end) for span in _spans(gold))]:
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

    def pieces(self, span: Ints, question: Ints, start: Ints, end: Ints) -> dict[str, Any]:
        """Cut the places of the spans of each question at the borders of its places and of the chunks."""
        within = np.searchsorted(self.borders, start, "right"), np.searchsorted(self.borders, end)
        owner, border = ranges(*within)
        shift = question * (self.size + 1)
        points = np.unique(np.concatenate([shift + start, shift + end, shift[owner] + self.borders[border]]))
        pair_span, point = ranges(np.searchsorted(points, shift + start), np.searchsorted(points, shift + end))
        used, pair_piece = np.unique(point, return_inverse=True)
        piece_question, place = np.divmod(points[used], self.size + 1)
        segment = np.searchsorted(self.borders, place, "right") - 1
        return {
            "pair_span": span[pair_span],
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

    def chunks_in_spans(self, span: Ints, question: Ints, start: Ints, end: Ints, chars: Ints, coverage: float) -> Ints:
        """Keys of chunks that share at least `coverage` of the shorter of span and chunk with a span.

        `question` and `chars` are those of each span, `span`, `start` and `end` those of each of its places.
        """
        held, chunk, shared = shared_chars(self.start, self.end, span, start, end)
        enough: Flags = shared >= _share(coverage, np.minimum(self.end[chunk] - self.start[chunk], chars[held]))
        keys: Ints = question[held[enough]] * len(self.start) + chunk[enough]
        return keys


def _numbered(examples: Sequence[Example], line: _Line) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Groups (question, column, grade), alternatives (group, document), places of spans; judged spans and documents.

    The document of a span is WHOLE; its places are rows of (alternative, document, start, end), those that are judged apart
    from gold of (question, document, start, end).
    """
    groups: list[tuple[int, int, int]] = []
    alternatives: list[tuple[int, int]] = []
    places: list[tuple[int, int, int, int]] = []
    known: list[tuple[int, int, int, int]] = []
    judged: list[tuple[int, int]] = []
    for number, example in enumerate(examples):
        column = 0
        apart = [*example.judged, *(gold for each in example.evidence if each.grade <= 0 for gold in each.alternatives)]
        read = (span for gold in apart for span in spans_of(gold) if span.doc_id in line.place)
        known += [(number, line.place[span.doc_id], span.start, span.end) for span in read]
        judged += [(number, line.place[gold]) for gold in apart if isinstance(gold, str) and gold in line.place]
        for evidence in example.evidence if example.route != "records" else ():
            rows = list(_alternatives(example, evidence, line))
            if evidence.grade > 0:
                for whole, spans in rows:
                    places += [(len(alternatives), *span) for span in spans]
                    alternatives.append((len(groups), whole))
                groups.append((number, column, evidence.grade))
                column += 1
    tables = ((groups, 3), (alternatives, 2), (places, 4), (known, 4), (judged, 2))
    first, second, *others = (np.array(rows, np.int64).reshape(-1, width) for rows, width in tables)
    return first, second, others[0], others[1], others[2]


def _spans(gold: Place) -> tuple[Span, ...]:
    """The spans of gold; that of a lost quote is in a document of its own, which no chunk has."""
    if isinstance(gold, Anchor) and not gold.spans:
        return (Span(f"{gold.doc_id}\0{gold.asked}", 0, gold.chars),)
    return spans_of(gold)


def _alternatives(example: Example, evidence: Evidence, line: _Line) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """The document of each alternative, WHOLE for a span, and its places."""
    where = f"question {example.query.query_id!r}"
    if not evidence.alternatives:
        raise DataError(where, "has an evidence group without alternatives", "add a span or a document, or remove the group")
    for gold in evidence.alternatives:
        if isinstance(gold, str):
            yield line.place[gold], []
            continue
        places = []
        for span in _spans(gold):
            row = line.place[span.doc_id]
            size = (line.base[row + 1] if row + 1 < len(line.base) else line.size) - line.base[row]
            if not 0 <= span.start < span.end <= size:
                what = f"names [{span.start}, {span.end}) in {span.doc_id!r}, which has {size} characters"
                raise DataError(where, what, "write a span inside its document that is not empty")
            places.append((row, span.start, span.end))
        yield WHOLE, places


def _share(coverage: float, chars: Ints) -> Ints:
    """The smallest whole number of characters that is at least `coverage` of `chars`, and at least 1."""
    # 0.55 * 100 is 55.00000000000001 in binary; 55 characters must be enough.
    return np.maximum(np.ceil(np.round(coverage * chars, 6)), 1).astype(np.int64)
