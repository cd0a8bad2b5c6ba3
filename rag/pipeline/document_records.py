"""The records of documents as JSON values, in the shapes of `rag.pipeline.json_shapes`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rag.core.errors import UserError, closest
from rag.core.record_sets import Cell, Record, RecordSet, RecordTable
from rag.pipeline.json_shapes import DocumentRecord, RecordCell


def by_document(records: RecordSet) -> Mapping[str, Sequence[DocumentRecord]]:
    """The records of every document that has some, in their order: its own record, if it has one, has its name as id."""
    found = defaultdict[str, list[DocumentRecord]](list)
    for table in records.tables:
        for record in table.records:
            found[record.doc_id].append(_json(table, record))
    return found


def own_values(doc_id: str, records: Sequence[DocumentRecord]) -> dict[str, RecordCell]:
    """The values of the record of a document itself, without those of rows in its tables."""
    return next((one["values"] for one in records if one["record"] == doc_id), {})


def table_rows(records: RecordSet, name: str = "") -> Iterator[dict[str, object]]:
    """A row per record of a table, of the first one without a name; UserError for a table that does not exist."""
    table = records.table(name) if name else next(iter(records.tables), None)
    if table is None:
        known = [each.name for each in records.tables]
        what = f"there is no table {name!r}" if name else "there are no records"
        raise UserError("records", what, closest(name, known) if known else "open a pipeline with, for example, enrich=rules")
    for record in table.records:
        place = {"record": record.record_id, "doc_id": record.doc_id, "start": record.start, "end": record.end}
        yield place | {f.name: v for f, v in zip(table.fields, record.values, strict=True) if f.name not in place}


def _json(table: RecordTable, record: Record) -> DocumentRecord:
    values = {field.name: _cell(value) for field, value in zip(table.fields, record.values, strict=True)}
    return {"table": table.name, "record": record.record_id, "start": record.start, "end": record.end, "values": values}


def _cell(value: Cell) -> RecordCell:
    return list(value) if isinstance(value, tuple) else value
