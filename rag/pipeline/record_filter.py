"""The values of records by document, for conditions on documents."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.core.record_sets import Cell, Record, RecordSet, RecordTable
from rag.core.records import Document, Value
from rag.pipeline.metadata_filter import Condition, fitting


def fitting_documents(
    where: str, key: str, condition: Condition, documents: Sequence[Document], records: RecordSet
) -> NDArray[np.bool_] | None:
    """Which documents, sorted by doc_id, fulfil a condition, shape (documents,); None if no document has a value of `key`.

    Where a document has a record of its own with that field, its metadata do not count. The values of the rows of its tables
    are added: one that fulfils the condition is enough. UserError as `fitting`.
    """
    rows = {document.doc_id: row for row, document in enumerate(documents)}
    values = [(rows[doc_id], value) for doc_id, value in _values(key, documents, records) if doc_id in rows]
    if not values:
        return None
    found = np.zeros(len(documents), dtype=bool)
    places = np.array([row for row, _ in values])
    found[places[fitting(where, condition, [value for _, value in values])]] = True
    return found


def record_fields(records: RecordSet) -> set[str]:
    """The names of the fields of all tables."""
    return {field.name for table in records.tables for field in table.fields}


def _values(key: str, documents: Sequence[Document], records: RecordSet) -> Iterator[tuple[str, Value]]:
    """The values of a key, each with its document."""
    own = set[str]()
    for table in (table for table in records.tables if key in {field.name for field in table.fields}):
        for record, cell in _cells(table, key):
            if record.record_id == record.doc_id:
                own.add(record.doc_id)
            yield from ((record.doc_id, value) for value in _each(cell))
    for document in documents:
        if document.doc_id not in own and key in document.metadata:
            yield document.doc_id, document.metadata[key]


def _cells(table: RecordTable, key: str) -> Iterable[tuple[Record, Cell]]:
    column = table.column(key)
    return ((record, record.values[column]) for record in table.records)


def _each(cell: Cell) -> tuple[Value, ...]:
    return () if cell is None else cell if isinstance(cell, tuple) else (cell,)
