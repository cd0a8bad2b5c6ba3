"""A pipeline that searches only some documents, some sections, or some characters of a document."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rag.core.corpus import Corpus
from rag.core.errors import UserError
from rag.core.records.sets import Cell, RecordSet
from rag.core.types import Allowed, Document, Span, Value
from rag.pipeline.search.locked_files import locked
from rag.pipeline.search.metadata_filter import Condition, fitting, written_conditions
from rag.pipeline.search.retrieval import Narrowed

Stretches = Sequence[tuple[int, int]]
"""Characters of one document as [start, end), ascending."""


@dataclass(frozen=True)
class Scope:
    """The restrictions of a search. None does not restrict, an empty tuple leaves nothing; all restrictions apply together.

    `documents` are doc_ids. `sections` are headings, one or several in order joined by ` > `: the text under them may be read;
    an empty one is the text above the first heading. `range` are characters of one document. Passages are cut to the first and
    the last of their characters that may be read. `metadata` are conditions by key of metadata or by field of records, see
    `rag.pipeline.search.metadata_filter`. `whole` names documents that replace the search, as locked files do, in this order;
    it cannot be combined with others. `off` are agents to switch off, see `Retrieval.without`.
    """

    documents: tuple[str, ...] | None = None
    sections: tuple[str, ...] | None = None
    metadata: Mapping[str, Condition] | None = None
    range: Span | None = None
    whole: tuple[str, ...] | None = None
    off: tuple[str, ...] = ()
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    @property
    def everything(self) -> bool:
        """Whether nothing is restricted."""
        return self == EVERYTHING


EVERYTHING = Scope()


def where_scope(conditions: Sequence[str]) -> Scope:
    """The scope of conditions on metadata as `--where` takes them; UserError as `written_conditions`."""
    return Scope(metadata=written_conditions(conditions)) if conditions else EVERYTHING


def narrowed(pipeline: Narrowed, scope: Scope) -> Narrowed:
    """The pipeline inside a scope: chunks outside are removed from rankings before these are cut to their depth.

    The pipeline itself where nothing is restricted. A pinned document stays if all of it may be read. The corpus may be a new
    one, whose passages end at the edge of the scope; rankings then hold positions in it. UserError for a document, a section or
    a key of metadata that does not exist, for an agent that is not in use, and for characters beyond the end.
    """
    pipeline = pipeline.without(scope.off)
    if replace(scope, off=()).everything:
        return pipeline
    names = (*(scope.documents or ()), *(scope.whole or ()), *([scope.range.doc_id] if scope.range else ()))
    if hidden := pipeline.excluded.intersection(names):
        on = (document.doc_id for document in pipeline.corpus.documents if document.doc_id not in pipeline.excluded)
        raise _unknown("within", "document", min(hidden), on)
    if scope.whole is not None:
        return _whole(pipeline, scope)
    corpus = pipeline.corpus
    open_ = _documents(corpus, scope, pipeline.records)
    allowed = open_[corpus.doc] if pipeline.allowed is None else open_[corpus.doc] & pipeline.allowed
    if scope.sections is None and scope.range is None:
        pinned = tuple(document for document in pipeline.reading.pinned if open_[_row(corpus, document.doc_id, "pinned")])
        return replace(pipeline, allowed=allowed, reading=replace(pipeline.reading, pinned=pinned))
    corpus, allowed = _clipped(corpus, allowed, _stretches(corpus, np.flatnonzero(open_), scope))
    return replace(pipeline, corpus=corpus, allowed=allowed, reading=replace(pipeline.reading, pinned=()))


def _documents(corpus: Corpus, scope: Scope, records: RecordSet) -> NDArray[np.bool_]:
    """Which documents may be read at all, shape (documents,)."""
    open_ = np.ones(len(corpus.documents), dtype=bool)
    if scope.documents is not None:
        open_[:] = False
        open_[[_row(corpus, name, "within.documents") for name in scope.documents]] = True
    for key, condition in (scope.metadata or {}).items():
        rows, values = _stated(corpus, records, key)
        if not values:
            fields = {field.name for table in records.tables for field in table.fields}
            known = fields | {key for document in corpus.documents for key in document.metadata}
            raise _unknown("within.metadata", "key", key, known)
        fits = np.zeros_like(open_)
        fits[np.array(rows)[fitting(f"within.metadata.{key}", condition, values)]] = True
        open_ &= fits
    return open_


def _stated(corpus: Corpus, records: RecordSet, key: str) -> tuple[list[int], list[Value]]:
    """The rows of documents with a value of `key`, and these values: one that fulfils a condition is enough.

    Where a document has a record of its own with that field, its metadata do not count. Rows of its tables are added.
    """
    own, found = set[int](), list[tuple[int, Cell]]()
    for table in records.tables:
        for column in (column for column, field in enumerate(table.fields) if field.name == key):
            placed = ((corpus.place(record.doc_id), record) for record in table.records)
            rows = [(row, record) for row, record in placed if row is not None]
            own |= {row for row, record in rows if record.record_id == record.doc_id}
            cells = ((row, record.values[column]) for row, record in rows)
            found += [(row, value) for row, cell in cells for value in (cell if isinstance(cell, tuple) else (cell,))]
    found += [(row, each.metadata.get(key)) for row, each in enumerate(corpus.documents) if row not in own]
    known = [(row, value) for row, value in found if value is not None and not isinstance(value, tuple)]
    return [row for row, _ in known], [value for _, value in known]


def _row(corpus: Corpus, doc_id: str, where: str) -> int:
    row = corpus.place(doc_id)
    if row is None:
        raise _unknown(where, "document", doc_id, (document.doc_id for document in corpus.documents))
    return row


def _unknown(where: str, kind: str, name: str, known: Iterable[str]) -> UserError:
    names = list(known)
    # There may be thousands of names: show a few.
    near = get_close_matches(name, names, n=3, cutoff=0.5) or names[:3]
    remedy = f"one that exists, for example {', '.join(map(repr, near))}" if near else "leave it out: there is none"
    return UserError(where, f"there is no {kind} {name!r}", remedy)


def _stretches(corpus: Corpus, rows: NDArray[np.int64], scope: Scope) -> dict[int, Stretches]:
    """The characters that may be read, by row of their document."""
    if scope.range is not None:
        place = _row(corpus, scope.range.doc_id, "within.range.doc_id")
        _check_range(scope.range, corpus.documents[place])
        rows = rows[rows == place]
    found: dict[int, Stretches] = {int(row): [(0, len(corpus.documents[row].text))] for row in rows}
    if scope.sections is not None:
        found = _sections(corpus, rows, scope.sections)
    if scope.range is not None:
        start, end = scope.range.start, scope.range.end
        cut = {row: [(max(a, start), min(b, end)) for a, b in stretches] for row, stretches in found.items()}
        found = {row: kept for row, stretches in cut.items() if (kept := [(a, b) for a, b in stretches if a < b])}
    return found


def _check_range(span: Span, document: Document) -> None:
    if not 0 <= span.start < span.end <= len(document.text):
        what = f"[{span.start}, {span.end}) is not a range of {span.doc_id!r}"
        raise UserError("within.range", what, f"start below end, both within 0 and {len(document.text)}")


def _sections(corpus: Corpus, rows: NDArray[np.int64], names: Sequence[str]) -> dict[int, Stretches]:
    """The characters under one of these headings, by row of the documents in `rows`."""
    outlines = corpus.outlines
    known = {title for outline in outlines for _, _, title in outline}
    for name in names:
        if not any(_under(title, name) for title in known):
            headings = {heading for title in known for heading in title.split(" > ")}
            raise _unknown("within.sections", "section", name, sorted(known | headings))
    inside = {title for title in known if any(_under(title, name) for name in names)}
    found = {row: [(start, end) for start, end, title in outlines[row] if title in inside] for row in rows.tolist()}
    return {row: pieces for row, pieces in found.items() if pieces}


def _under(title: str, name: str) -> bool:
    """Whether headings, joined as in `Corpus.section`, contain these next to each other."""
    return f" > {name} > " in f" > {title} > "


def _clipped(corpus: Corpus, allowed: Allowed, stretches: Mapping[int, Stretches]) -> tuple[Corpus, Allowed]:
    """Passages cut to the first and last of their characters that may be read, and which of them are not empty."""
    start, end, inside = corpus.start.copy(), corpus.end.copy(), np.zeros(len(corpus), dtype=bool)
    for row, pieces in stretches.items():
        own = corpus.of_document(row)
        if own.start == own.stop:
            continue
        starts, ends = np.array(pieces, dtype=np.int64).T
        first = np.searchsorted(ends, start[own], "right").clip(max=len(ends) - 1)
        last = (np.searchsorted(starts, end[own], "left") - 1).clip(min=0)
        start[own], end[own] = np.maximum(start[own], starts[first]), np.minimum(end[own], ends[last])
        inside[own] = (first <= last) & (start[own] < end[own])
    kept = allowed & inside
    narrower = corpus.clipped(np.where(kept, start, corpus.start), np.where(kept, end, corpus.end))
    return narrower, kept & _without_repeats(narrower, kept)


def _without_repeats(corpus: Corpus, kept: Allowed) -> Allowed:
    """Which of the passages are neither blank nor, where passages overlap, equal to an earlier one."""
    seen: set[tuple[int, int, int]] = set()
    good = np.zeros_like(kept)
    for position in np.flatnonzero(kept).tolist():
        span = int(corpus.doc[position]), int(corpus.start[position]), int(corpus.end[position])
        good[position] = span not in seen and bool(corpus.text(position).strip())
        seen.add(span)
    return good


def _whole(pipeline: Narrowed, scope: Scope) -> Narrowed:
    """A pipeline that reads these documents from end to end and looks for nothing."""
    if scope != replace(EVERYTHING, whole=scope.whole, off=scope.off):
        raise UserError("within.whole", "is given with another restriction", "give whole documents alone, or leave them out")
    rows = [_row(pipeline.corpus, name, "within.whole") for name in dict.fromkeys(scope.whole or ())]
    return locked(replace(pipeline, reading=replace(pipeline.reading, context_tokens=None, pinned=())), rows)
