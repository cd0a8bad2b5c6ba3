"""Reasons not to trust the query of a question: its result is not one clear answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

from rag.components.routers.question_parts import Misfit
from rag.components.routers.question_reading import Reading
from rag.core.record_checks import MEASURED
from rag.core.record_database import RecordDatabase
from rag.core.record_queries import RecordQuery, Result
from rag.core.record_sets import Record

FEWEST = 2
"""The least number of addends of a sum."""
LISTED = ("list", "top_n", "lookup")
"""Intents whose values must not be missing."""
NAME, PLURAL = 3, re.compile(r"[^iusIUS][sS]\W*$")
"""The most words of a name, and a header of several names."""
FEW, MANY, ROUNDED = 3, 6, 1e-6
"""The least number of records among which one that is as large as all others together may be their total."""


def clear_result(query: RecordQuery, reading: Reading, database: RecordDatabase, is_single: bool) -> Result:
    """The result of a query that has one clear answer; Misfit for another one, UserError as `RecordDatabase.run`.

    With a single table (`is_single`) the answer may be in one record.
    """
    result = database.run(query)
    for why, is_so in (_of_result(query, result, reading, is_single) | _of_records(query, reading, database)).items():
        if is_so:
            raise Misfit(why)
    return result


def _of_result(query: RecordQuery, result: Result, reading: Reading, is_single: bool) -> Mapping[str, object]:
    texts = [name for name in query.fields if reading.type(reading.lexicon.table.column(name)) == "text"]
    ranked = query.n if query.intent in ("top_n", "group_by") else 0
    is_one = len(result.sources) == 1 and query.intent not in ("exists", "difference", "change", "group_by")
    return {
        "no records": (query.intent == "count" and result.value == "0") or not (result.value or result.values),
        "equal records": ranked and len(result.rows) != ranked,
        "not one record": query.intent == "lookup" and (len(set(result.values)) != 1 or not result.value),
        "a missing value": query.intent == "top_n" and any(value is None for row in result.rows for value in row),
        "a cell that may say more": query.intent in LISTED
        and any(
            "(" in value or (PLURAL.search(name) and len(value.split()) > NAME) for name in texts for value in result.values
        ),
        "one record, as in a passage": is_one and not is_single,
    }


def _of_records(query: RecordQuery, reading: Reading, database: RecordDatabase) -> Mapping[str, object]:
    table, selected = reading.lexicon.table, database.selected(query)
    places = [table.column(name) for name in query.fields]
    order = table.column(query.order) if query.order else -1
    operands = [query, query.other] if query.intent in ("difference", "change") and query.other else []
    tested = [table.column(test.field) for test in query.where if test.operator in ("<", "<=", ">", ">=")]
    cells = [
        (record, table.column(name))
        for each in operands or [query]
        for record in database.selected(each)
        for name in each.fields
    ]
    return {
        "another number of records": any(claim not in (len(selected), len(places)) for claim in reading.claims),
        "a value that is not there": query.intent in ("list", "lookup")
        and any(record.values[place] is None for record, place in cells),
        "one number": query.intent in ("sum", "average") and len(selected) * len(places) < FEWEST,
        "not two numbers": any(len(database.selected(each)) != 1 for each in operands),
        "a number that is not read": any(
            record.values[place] is None and any(map(str.isdigit, record.shown[place] if record.shown else ""))
            for record in reading.lexicon.table.records
            for place in (order, *tested)
            if place >= 0
        ),
        "a sign that may be none": query.intent in MEASURED
        and all(record.shown and record.shown[place].strip("$£€ ").startswith("(") for record, place in cells),
        "a record that may be the total": any(
            map(_has_total, ([*_numbers(table.records, place)] for place in {order, *tested} - {-1}))
        )
        or (query.intent == "top_n" and query.descending and order >= 0 and _is_most([*_numbers(selected, order)])),
        "numbers of one thing": query.intent in ("sum", "average") and _repeats(query, selected, reading),
        "a value of some records and not of others": query.intent == "list"
        and any(test.operator == "!=" for test in query.where)
        and not all(map(reading.lexicon.is_key, places)),
        "a thing in several records": query.intent == "top_n"
        and order not in (-1, *reading.lexicon.years)
        and any(len({record.values[place] for record in selected}) < len(selected) for place in places if place != order),
        "numbers of several records": query.intent == "lookup"
        and len(selected) > 1
        and any(reading.type(place) == "number" for place in places),
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


def _is_most(numbers: Sequence[float]) -> bool:
    """True if the highest of many numbers is as large as all others."""
    return len(numbers) >= MANY and 2 * max(numbers) >= sum(numbers)


def _repeats(query: RecordQuery, records: list[Record], reading: Reading) -> bool:
    """True if records with the same value of a condition have the same numbers: it may be one thing in several records."""
    table = reading.lexicon.table
    named = [table.column(test.field) for test in query.where if test.operator == "in" and len(test.value or ()) > 1]  # type: ignore[arg-type]
    places = [*named, *map(table.column, query.fields)]
    return bool(named) and len({tuple(record.values[place] for place in places) for record in records}) < len(records)
