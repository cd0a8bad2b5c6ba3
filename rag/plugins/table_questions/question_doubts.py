"""Reasons not to trust the query of a question: its result is not one clear answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

from rag.core.records.checks import MEASURED
from rag.core.records.database import RecordDatabase
from rag.core.records.queries import Condition, RecordQuery, Result
from rag.core.records.sets import Record, RecordTable
from rag.core.records.sql import folded, has_words
from rag.plugins.table_questions.question_parts import Misfit
from rag.plugins.table_questions.question_reading import Reading

FEWEST = 2
"""The least number of addends of a sum."""
LISTED = ("list", "top_n", "lookup")
"""Intents whose values must not be missing."""
NAME, PLURAL = 3, re.compile(r"[^iusIUS][sS]\W*$")
"""The most words of a name, and a header of several names."""
FEW, MANY, ROUNDED = 3, 6, 1e-6
"""The least number of records among which one that is as large as all others together may be their total."""


class Doubt(Misfit):
    """The parts make a query that fits, but its answer is not sure; nor is that of another reading then."""


def clear_result(query: RecordQuery, reading: Reading, database: RecordDatabase, is_single: bool) -> Result:
    """The result of a query that has one clear answer; Misfit or Doubt for another one, UserError as `RecordDatabase.run`.

    With a single table (`is_single`) the answer may be in one record.
    """
    result, taken = database.run(query), _Taken(query, reading, database)
    for error, checks in ((Misfit, _misfits(taken, result, is_single)), (Doubt, _doubts(taken, result))):
        if why := next((why for why, is_so in checks.items() if is_so), ""):
            raise error(why)
    return result


class _Taken:
    """The records and cells of a query: `places` are its fields, `tested` those compared, `order` is -1 without one."""

    def __init__(self, query: RecordQuery, reading: Reading, database: RecordDatabase) -> None:
        self.query, self.reading, self.table = query, reading, reading.lexicon.table
        self.is_sum = query.intent in ("sum", "average")
        operands = [query, query.other] if query.intent in ("difference", "change") and query.other else [query]
        self.operands = [database.selected(each) for each in operands]
        self.records = self.operands[0]
        self.places = [self.table.column(name) for name in query.fields]
        self.order = self.table.column(query.order) if query.order else -1
        compared = [self.table.column(test.field) for test in query.where if test.operator in ("<", "<=", ">", ">=")]
        self.tested = {self.order, *compared} - {-1}
        pairs = zip(operands, self.operands, strict=True)
        self.cells = [(record, self.table.column(name)) for each, own in pairs for record in own for name in each.fields]


def _misfits(taken: _Taken, result: Result, is_single: bool) -> Mapping[str, object]:
    query, count = taken.query, len(taken.records)
    ranked = query.n if query.intent in ("top_n", "group_by") else 0
    is_one = len(result.sources) == 1 and query.intent not in ("exists", "difference", "change", "group_by")
    has_numbers = any(taken.reading.type(place) == "number" for place in taken.places)
    return {
        "no records": (query.intent == "count" and result.value == "0") or not (result.value or result.values),
        "equal records": ranked and len(result.rows) != ranked,
        "not one record": query.intent == "lookup"
        and (len(set(result.values)) != 1 or not result.value or (count > 1 and has_numbers)),
        "a missing value": any(value is None for row in result.rows for value in row)
        if query.intent == "top_n"
        else query.intent in LISTED and any(record.values[place] is None for record, place in taken.cells),
        "one record, as in a passage": is_one and not is_single,
        "another number of records": any(claim not in (count, len(taken.places)) for claim in taken.reading.claims)
        or (1 in taken.reading.claims and count != 1 and len(result.values) != 1),
        "one number": taken.is_sum and not taken.reading.is_counted and count * len(taken.places) < FEWEST,
        "not two numbers": query.intent in ("difference", "change") and any(len(records) != 1 for records in taken.operands),
    }


def _doubts(taken: _Taken, result: Result) -> Mapping[str, object]:
    query, table, lexicon = taken.query, taken.table, taken.reading.lexicon
    texts = [name for name, place in zip(query.fields, taken.places, strict=True) if taken.reading.type(place) == "text"]
    sums = [(table.records, taken.tested), (taken.records, {*taken.places} if taken.is_sum else set[int]())]
    tested = ((each.values[place], each.shown[place]) for each in table.records if each.shown for place in taken.tested)
    repeated = (place for place in taken.places if len({each.values[place] for each in taken.records}) < len(taken.records))
    is_most = query.intent == "top_n" and query.descending and taken.order >= 0
    return {
        "a cell that may say more": query.intent in LISTED
        and any(
            "(" in value or value.casefold().startswith(lexicon.sides) or (PLURAL.search(name) and len(value.split()) > NAME)
            for name in texts
            for value in result.values
        ),
        "no person": taken.reading.all("operation", "who")
        and query.intent != "group_by"
        and any(any(map(str.isdigit, value)) for value in (*result.values, result.value)),
        "a number that is not read": any(value is None and any(map(str.isdigit, shown)) for value, shown in tested),
        "a sign that may be none": query.intent in MEASURED
        and all(record.shown and record.shown[place].strip("$£€ ").startswith("(") for record, place in taken.cells),
        "a record that may be the total": any(
            _has_total([*_numbers(records, place)]) for records, places in sums for place in places
        )
        or (is_most and _is_most([*_numbers(taken.records, taken.order)])),
        "another total": query.intent == "sum" and _is_other(taken, float(result.rows[0][0])),  # type: ignore[arg-type]
        "numbers of one thing": taken.is_sum and _repeats(query, taken.records, table),
        "a value of some records and not of others": query.intent == "list"
        and any(test.operator == "!=" for test in query.where)
        and not all(map(lexicon.is_key, taken.places)),
        "a thing in several records": query.intent == "top_n"
        and taken.order not in (-1, *lexicon.years)
        and any(place != taken.order for place in repeated),
        "a value within other cells": query.intent == "count" and any(_is_within(test, table) for test in query.where),
    }


def _numbers(records: Sequence[Record], place: int) -> Iterator[float]:
    return (value for record in records if not record.total and isinstance(value := record.values[place], int | float))


def _has_total(numbers: Sequence[float]) -> bool:
    """True if a number is the sum of all above or below it."""
    return any(
        abs(total - number) < ROUNDED * abs(number)
        for way in (numbers, numbers[::-1])
        for total, number in islice(zip(accumulate(way), way[1:], strict=False), FEW - 1, None)
    )


def _is_other(taken: _Taken, added: float) -> bool:
    """True if all numbers of a field are added, and no total line has this sum."""
    lines = [record for record in taken.table.records if record.total]
    totals = [number for line in lines for place in taken.places if isinstance(number := line.values[place], int | float)]
    is_all = len(taken.records) + len(lines) == len(taken.table.records)
    return is_all and bool(totals) and not any(abs(total - added) <= ROUNDED * abs(total) for total in totals)


def _is_most(numbers: Sequence[float]) -> bool:
    """True if the highest of many numbers is as large as all others."""
    return len(numbers) >= MANY and 2 * max(numbers) >= sum(numbers)


def _is_within(test: Condition, table: RecordTable) -> bool:
    """True if the values of a condition are words of other cells, too."""
    values = {folded(value) for value in test.value} if isinstance(test.value, tuple) else set()
    place = table.column(test.field)
    others = {folded(record.values[place]) for record in table.records} - values
    texts = [value for value in values if isinstance(value, str)]
    return any(isinstance(other, str) and has_words(other, value) for value in texts for other in others)


def _repeats(query: RecordQuery, records: Sequence[Record], table: RecordTable) -> bool:
    """True if records with the same value of a condition have the same numbers: it may be one thing in several records."""
    named = [table.column(test.field) for test in query.where if test.operator == "in" and len(test.value or ()) > 1]  # type: ignore[arg-type]
    places = [*named, *map(table.column, query.fields)]
    return bool(named) and len({tuple(record.values[place] for place in places) for record in records}) < len(records)
