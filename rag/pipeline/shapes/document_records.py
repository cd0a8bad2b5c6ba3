"""The records of documents as JSON values."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rag.core.records.sets import RecordSet
from rag.pipeline.shapes.json_shapes import DocumentRecord


def by_document(records: RecordSet) -> Mapping[str, Sequence[DocumentRecord]]:
    """The records of every document that has some; the record of the document itself has its name as id."""
    found = defaultdict[str, list[DocumentRecord]](list)
    for table in records.tables:
        names = [field.name for field in table.fields]
        for one in table.records:
            cells = (list(value) if isinstance(value, tuple) else value for value in one.values)
            values = dict(zip(names, cells, strict=True))
            found[one.doc_id].append(
                {"table": table.name, "record": one.record_id, "start": one.start, "end": one.end, "values": values}
            )
    return found
