"""Whether a query fits the records: its table, fields, operators and values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from sys import float_info
from typing import get_args

from rag.core.errors import DataError, UserError, closest
from rag.core.records.queries import Condition, Intent, Joint, Operator, RecordQuery
from rag.core.records.sets import Field, FieldType, RecordSet, RecordTable

OPERATORS: Mapping[FieldType, tuple[Operator, ...]] = {
    "text": ("=", "!=", "<", "<=", ">", ">=", "contains", "in", "missing", "present"),
    "number": ("=", "!=", "<", "<=", ">", ">=", "in", "missing", "present"),
    "date": ("=", "!=", "<", "<=", ">", ">=", "in", "missing", "present"),
    "boolean": ("=", "!=", "missing", "present"),
    "list": ("=", "!=", "contains", "in", "missing", "present"),
}
ISO = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
MOST_CONDITIONS, MOST_VALUES, DEPTH = 20, 1000, 4
"""The most conditions of a query, values of `in`, and queries within each other."""
MEASURED = ("sum", "average", "difference", "change")
"""Intents that reckon with the numbers of `fields`."""


def check_query(query: RecordQuery, records: RecordSet) -> RecordTable:
    """The table of a query; UserError that names the first part that does not fit."""
    for problem in _problems(query, records, DEPTH):
        raise problem
    return next(table for table in records.tables if table.name == query.table)


def _problems(query: RecordQuery, records: RecordSet, depth: int) -> Iterator[UserError]:
    table = records.table(query.table)
    if table is None:
        yield _unknown("records", "table", query.table, (each.name for each in records.tables))
        return
    where = f"records.{table.name}"
    fields = {field.name: field for field in table.fields}
    if query.intent not in get_args(Intent):
        yield _unknown(where, "intent", query.intent, get_args(Intent))
    for name in (*query.fields, *filter(None, (query.group, query.order, query.across)), *(test.field for test in query.where)):
        if name not in fields:
            yield _unknown(where, "field", name, fields)
            return
    yield from _shape(query, where, fields)
    if len(query.where) > MOST_CONDITIONS:
        yield DataError(where, f"{len(query.where)} conditions", f"use {MOST_CONDITIONS} at most")
    for test in query.where:
        yield from _condition(test, fields[test.field], f"{where}.{test.field}")
    if query.other:
        if depth <= 1:
            yield DataError(where, "queries within queries are too deep", f"use {DEPTH} at most")
            return
        yield from _problems(query.other, records, depth - 1)


def _shape(query: RecordQuery, where: str, fields: Mapping[str, Field]) -> Iterator[UserError]:
    """The parts that an intent needs."""
    needs = query.intent in ("difference", "change")
    two = query.other is not None and query.other.table != query.table
    problems = {
        f"{query.joint} needs a second query; give `other`": query.joint is not None and query.other is None,
        f"{query.joint} is no set operation; there are {', '.join(get_args(Joint))}": query.joint
        not in (None, *get_args(Joint)),
        "union of two tables; ask each of them": query.joint == "union" and two,
        "a list or count of two tables needs a field of each; name one in `fields` of both queries": (
            query.joint is not None and two and not (query.fields and query.other and query.other.fields)
        ),
        "across needs a list of one field, and no list to go across; give `fields`": query.across
        and (query.intent != "list" or len(query.fields) != 1 or fields[query.across].type == "list"),
        f"group_by needs a field; give `group`, one of {', '.join(fields)}": query.intent == "group_by" and not query.group,
        f"{query.intent} needs a second query with fields; give `other`, and no set operation": needs
        and (query.joint is not None or query.other is None or not query.other.fields),
        f"top_n needs a number; give `n` of 1 or more, not {query.n}": query.intent == "top_n" and query.n < 1,
        f"n is {query.n}, shift {query.shift}; give n from 0, and both below a billion": not abs(query.shift)
        < 10**9
        > query.n
        >= 0,
        f"{query.intent} needs a field with numbers; give `fields`": query.intent in MEASURED and not query.fields,
    }
    for problem, found in problems.items():
        if found:
            yield DataError(where, *problem.split("; ", 1))
    measured = query.fields if query.intent in (*MEASURED, "group_by") else ()
    other = query.other.fields if needs and query.other else ()
    numbers = [field.name for field in fields.values() if field.type == "number"]
    for name in (*measured, *(other if query.other and not two else ())):
        if name in fields and name not in numbers:
            yield DataError(f"{where}.{name}", f"{query.intent} of a {fields[name].type} field", closest(name, numbers))
    if query.order and fields[query.order].type == "list":
        yield DataError(f"{where}.{query.order}", "a list has no order", "order by another field")


def _condition(test: Condition, field: Field, where: str) -> Iterator[UserError]:
    if test.operator not in get_args(Operator):
        yield _unknown(where, "operator", test.operator, OPERATORS[field.type])
    elif test.operator not in OPERATORS[field.type]:
        yield DataError(where, f"{test.operator!r} does not fit a {field.type} field", closest("", OPERATORS[field.type]))
    elif (test.operator == "in") != isinstance(test.value, tuple):
        yield DataError(where, f"{test.value!r} is not what {test.operator!r} takes", "give a list for `in`, else one value")
    elif isinstance(test.value, tuple) and len(test.value) > MOST_VALUES:
        yield DataError(where, f"{len(test.value)} values", f"use {MOST_VALUES} at most")
    elif test.operator not in ("missing", "present"):
        values = test.value if isinstance(test.value, tuple) else (test.value,)
        if wrong := next((value for value in values if not _fits(value, field)), None):
            yield DataError(where, f"{wrong!r} is not a {field.type}", REMEDIES.get(field.type, "give a text"))
        elif not values or any(value is None for value in values):
            yield DataError(where, f"{test.operator!r} needs a value", "give `value`")


REMEDIES = {"number": "give a number", "date": "give a date as 2025, 2025-03 or 2025-03-14", "boolean": "give true or false"}


def _fits(value: object, field: Field) -> bool:
    if value is None:
        return True
    if field.type == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max
    if field.type == "boolean":
        return isinstance(value, bool)
    return isinstance(value, str) and (field.type != "date" or ISO.fullmatch(value) is not None)


def _unknown(where: str, what: str, name: str, known: Iterable[str]) -> UserError:
    return DataError(where, f"there is no {what} {name!r}", closest(str(name), known))
