"""Counts of records: how many have each field, why the others do not, and how they were joined with a roster."""

from collections import Counter
from dataclasses import asdict
from typing import Any, get_args

from rag.core.record_sets import Reconciled, RecordSet, RecordTable

LISTED = 200
"""The most failures, and joins that are no match, that are listed one by one."""
STATUSES = get_args(Reconciled.__annotations__["status"])


def summary(records: RecordSet) -> dict[str, Any]:
    """As JSON values: fields by table, counts of failures and joins, and LISTED of these one by one, mismatches first."""
    unmatched = [each for each in records.reconciled if each.status != "match"]
    unmatched.sort(key=lambda each: (each.status != "mismatch", not each.near))
    joins = Counter(each.status for each in records.reconciled)
    return {
        "tables": [_table(table, Counter(each.field for each in records.failures)) for table in records.tables],
        "failed": len(records.failures),
        "failures": [asdict(each) for each in records.failures[:LISTED]],
        "reconciled": {status: joins[status] for status in STATUSES} if records.reconciled else {},
        "unmatched": [asdict(each) for each in unmatched[:LISTED]],
        "tokens": records.tokens,
    }


def _table(table: RecordTable, failed: Counter[str]) -> dict[str, Any]:
    filled = [sum(record.values[place] is not None for record in table.records) for place in range(len(table.fields))]
    fields = [
        {"name": field.name, "type": field.type, "filled": count, "failed": failed[field.name]}
        for field, count in zip(table.fields, filled, strict=True)
    ]
    return {"name": table.name, "title": table.title, "records": len(table.records), "fields": fields}
