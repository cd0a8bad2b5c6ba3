"""Counts of records: how many have each field, why the others do not, and how they were joined with a roster."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from rag.core.records.sets import RecordSet, RecordTable

LISTED = 200
"""The most failures, and joins that are no match, that are listed one by one."""


def summary(records: RecordSet) -> dict[str, Any]:
    """As JSON values: fields by table, counts of failures and joins, and LISTED of these one by one, mismatches first."""
    failed = Counter(each.field for each in records.failures)
    unmatched = [each for each in records.reconciled if each.status != "match"]
    unmatched.sort(key=lambda each: (each.status != "mismatch", not each.near))
    return {
        "tables": [
            {"name": each.name, "records": len(each.records), "fields": _fields(each, failed)} for each in records.tables
        ],
        "failed": len(records.failures),
        "failures": [asdict(each) for each in records.failures[:LISTED]],
        "reconciled": dict(Counter(each.status for each in records.reconciled)),
        "unmatched": [asdict(each) for each in unmatched[:LISTED]],
    }


def _fields(table: RecordTable, failed: Counter[str]) -> list[dict[str, Any]]:
    filled = [sum(record.values[place] is not None for record in table.records) for place in range(len(table.fields))]
    rows = zip(table.fields, filled, strict=True)
    types = {each.name: f"{each.type}, inferred" if each.inferred else each.type for each in table.fields}
    return [{"name": each.name, "type": types[each.name], "filled": count, "failed": failed[each.name]} for each, count in rows]
