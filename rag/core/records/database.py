"""Records as an in-memory SQLite database that runs validated queries.

All values are parameters. A table is `t` and its columns are `c0`, `c1`, …: no name or text of a document, a question or a
model is part of a statement. Values are stored folded; results have them as the documents write them.
"""

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from rag.core.errors import DataError
from rag.core.records.checks import MEASURED, check_query
from rag.core.records.display import amount, whole, written
from rag.core.records.queries import RecordQuery, Result
from rag.core.records.sets import Cell, Record, RecordSet
from rag.core.records.sql import Opened, Sql, digits, folded, has_words, tested

MOST_ROWS, MOST_SOURCES = 1000, 100
"""The most rows of a result, and the most records that it cites."""
STEPS, EVERY = 100_000_000, 100_000
"""The most instructions of SQLite for a query (some seconds), and how often they are counted."""
MORE = 2
"""The digits behind the point of a percentage, and those that a mean has more than its numbers."""
LOOKED_UP = ("lookup", "difference", "change")
"""Intents that may take total lines."""


class RecordDatabase:
    """Runs queries of records; a table is loaded by the first query that names it. Threads may share it."""

    def __init__(self, records: RecordSet) -> None:
        self._records = records
        self._opened: dict[str, Opened] = {}
        self._lock = threading.Lock()
        self._steps = 0
        self._sqlite = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._sqlite.create_function("has_words", 2, has_words, deterministic=True)
        self._sqlite.set_progress_handler(self._counted, EVERY)

    @property
    def records(self) -> RecordSet:
        """The records."""
        return self._records

    def selected(self, query: RecordQuery) -> list[Record]:
        """All records that a query selects, in their order; UserError as in `run`."""
        check_query(query, self._records)
        with self._lock:
            opened, (sql, parameters) = self._open(query.table), self._selected(query, query.intent in LOOKED_UP)
            return [opened.table.records[row] for (row,) in self._sqlite.execute(f"{sql} ORDER BY row", parameters)]

    def run(self, query: RecordQuery) -> Result:
        """The result; UserError for a query that does not fit the records, and for one that takes too long."""
        check_query(query, self._records)
        with self._lock:
            self._steps = 0
            try:
                return self._result(query)
            except sqlite3.OperationalError as error:
                if "interrupted" not in str(error):
                    raise
                raise DataError(f"records.{query.table}", "the query takes too long", "ask for fewer records") from None

    def _counted(self) -> bool:
        self._steps += EVERY
        return self._steps > STEPS

    def _result(self, query: RecordQuery) -> Result:
        opened = self._open(query.table)
        selected = self._selected(query, query.intent in LOOKED_UP)
        if query.intent in ("count", "exists"):
            return self._counting(query, opened, selected)
        is_list = query.intent == "list" and [opened.field(name).type for name in query.fields] == ["list"]
        if query.intent == "group_by" or query.across or (is_list and not query.order):
            return self._groups(query, opened, selected)
        if query.intent in MEASURED:
            return self._measured(query, opened, selected)
        return self._listed(query, opened, selected)

    def _open(self, name: str) -> Opened:
        if name not in self._opened:
            table = next(table for table in self._records.tables if table.name == name)
            opened = Opened(table, f"t{len(self._opened)}")
            columns = [f"c{place}" for place in range(len(table.fields))]
            self._sqlite.execute(f"CREATE TABLE {opened.name} (row INTEGER PRIMARY KEY, total, {', '.join(columns)})")
            marks = ", ".join("?" * (len(columns) + 2))
            rows = ((place, record.total, *map(folded, record.values)) for place, record in enumerate(table.records))
            self._sqlite.execute("BEGIN")
            self._sqlite.executemany(f"INSERT INTO {opened.name} VALUES ({marks})", rows)  # noqa: S608
            self._sqlite.execute("COMMIT")
            self._opened[name] = opened
        return self._opened[name]

    def _selected(self, query: RecordQuery, totals: bool) -> Sql:
        """A statement for the rows of the records that a query names."""
        opened = self._open(query.table)
        tests = [tested(test, opened) for test in query.where]
        clauses = " AND ".join(["1" if totals else "NOT total", *(sql for sql, _ in tests)])
        sql = f"SELECT row FROM {opened.name} WHERE {clauses}"  # noqa: S608
        parameters = tuple(value for _, values in tests for value in values)
        if query.shift:
            sql = f"SELECT row FROM {opened.name} WHERE NOT total AND row IN (SELECT row + ? FROM ({sql}))"  # noqa: S608
            parameters = (query.shift, *parameters)
        if query.joint is None or query.other is None:
            return sql, parameters
        other, more = self._selected(query.other, totals)
        if query.other.table == query.table:
            operation = {"union": "UNION", "intersection": "INTERSECT", "difference": "EXCEPT"}[query.joint]
            return f"SELECT row FROM ({sql}) {operation} SELECT row FROM ({other})", (*parameters, *more)  # noqa: S608
        second = self._open(query.other.table)
        key = second.column(query.other.fields[0])
        keys = f"SELECT {key} FROM {second.name} WHERE {key} IS NOT NULL AND row IN ({other})"  # noqa: S608
        sign = "NOT IN" if query.joint == "difference" else "IN"
        return f"{sql} AND {opened.column(query.fields[0])} {sign} ({keys})", (*parameters, *more)

    def _counting(self, query: RecordQuery, opened: Opened, selected: Sql) -> Result:
        columns = [opened.column(name) for name in query.fields]
        sql, parameters = selected
        if columns and query.intent == "count":
            named = f"SELECT DISTINCT {', '.join(columns)} FROM {opened.name} WHERE row IN ({sql})"  # noqa: S608
            sql = f"{named} AND coalesce({', '.join(columns)}, NULL) IS NOT NULL"
        ((number,),) = self._sqlite.execute(f"SELECT count(*) FROM ({sql})", parameters)  # noqa: S608
        return _counted(query, number, self._sources(opened, selected))

    def _groups(self, query: RecordQuery, opened: Opened, selected: Sql) -> Result:
        (sql, parameters), listed = selected, query.intent == "list"
        held_in, fields = (query.fields[0], ()) if listed else (query.group, query.fields)
        field, place = opened.field(held_in), opened.table.column(held_in)
        key, origin = (f"c{place}", opened.name) if field.type != "list" else ("value", f"{opened.name}, json_each(c{place})")
        sums = (f"coalesce(sum({opened.column(name)}), 0)" for name in fields)
        size = f"round({' + '.join(sums)}, {digits(query, opened)})" if fields else "count(*)"
        known = f"coalesce({', '.join(map(opened.column, fields))}, NULL)" if fields else key
        where = f"WHERE {key} IS NOT NULL AND {known} IS NOT NULL AND row IN ({sql}) GROUP BY 1"
        if query.across:
            kinds = f"count(DISTINCT {opened.column(query.across)})"
            where = f"{where} HAVING {kinds} = (SELECT {kinds} FROM {opened.name} WHERE row IN ({sql}))"  # noqa: S608
            parameters *= 2
        grouped = f"WITH grouped AS (SELECT {key} AS held, min(row) AS first, {size} AS size FROM {origin} {where})"  # noqa: S608
        chosen = "SELECT * FROM grouped ORDER BY first"
        if query.n and not listed:
            way, sign = ("DESC", ">=") if query.descending else ("ASC", "<=")
            last = f"SELECT size FROM grouped ORDER BY size {way} LIMIT 1 OFFSET {int(query.n) - 1}"  # noqa: S608
            chosen = f"SELECT * FROM grouped WHERE ({last}) IS NULL OR size {sign} ({last}) ORDER BY size {way}, first"  # noqa: S608
        found, left_out = self._bounded(f"{grouped} {chosen}", parameters)
        unit = opened.field(fields[0]).unit if fields else ""
        rows, shown = list[tuple[Cell, ...]](), list[str]()
        for held, first, number in found:
            record = opened.table.records[first]
            name = record.values[place]
            if isinstance(name, tuple):
                name = label = next(each for each in name if folded(each) == held)
            else:
                label = written(record, place, field)
            rows.append((name,) if listed else (name, whole(number)))
            shown.append(label if query.n or listed else f"{label} {amount(number, unit)}")
        columns = (held_in,) if listed else (held_in, ", ".join(fields) or "count")
        return Result(columns, tuple(rows), self._sources(opened, selected), _single(shown), tuple(shown), left_out)

    def _measured(self, query: RecordQuery, opened: Opened, selected: Sql) -> Result:
        numbers, sources = self._numbers(query, opened, selected)
        total, places, unit = sum(numbers, Decimal(0)), digits(query, opened), opened.field(query.fields[0]).unit
        if query.intent == "average":
            total, places = total / len(numbers), places + MORE
        elif query.other:
            second = self._open(query.other.table)
            subtracted, added = self._numbers(query.other, second, self._selected(query.other, True))
            base, sources = sum(subtracted, Decimal(0)), tuple(dict.fromkeys((*sources, *added)))
            total, places = total - base, max(places, digits(query.other, second))
            if query.intent == "change" and base <= 0:
                raise DataError(f"records.{query.table}", f"a change from {base} has no percentage", "ask for the difference")
            if query.intent == "change":
                total, places, unit = total / base * 100, MORE, "%"
        number = whole(float(round(total, places)))
        return Result((query.intent,), ((number,),), sources, amount(number, unit))

    def _numbers(
        self, query: RecordQuery, opened: Opened, selected: Sql
    ) -> tuple[list[Decimal], tuple[tuple[str, int, int], ...]]:
        """All numbers in the fields of the records; UserError if there is none, or a cell with digits that is not read."""
        sql, parameters = selected
        places = [opened.table.column(name) for name in query.fields]
        records = [opened.table.records[row] for (row,) in self._sqlite.execute(f"{sql} ORDER BY row", parameters)]
        numbers = []
        for record in records:
            for place in places:
                value, shown = record.values[place], record.shown[place] if record.shown else ""
                if isinstance(value, int | float):
                    numbers.append(Decimal(repr(value)))
                elif any(map(str.isdigit, shown)):
                    raise DataError(f"records.{query.table}", f"{shown!r} is not read as a number", "ask for other records")
        if not numbers:
            raise DataError(f"records.{query.table}", "no number fits the query", "ask for other records")
        return numbers, _cited(records)

    def _listed(self, query: RecordQuery, opened: Opened, selected: Sql) -> Result:
        sql, parameters = selected
        names = query.fields or tuple(field.name for field in opened.table.fields)
        places = [opened.table.column(name) for name in names]
        columns = ", ".join(f"c{place}" for place in places)
        order = opened.column(query.order) if query.order else "row"
        way, sign = ("DESC", ">=") if query.descending and (query.order or query.intent == "top_n") else ("ASC", "<=")
        chosen = f"FROM {opened.name} WHERE row IN ({sql})"
        if query.intent == "top_n":
            last = f"SELECT {order} {chosen} AND {order} IS NOT NULL ORDER BY {order} {way} LIMIT 1 OFFSET {int(query.n) - 1}"
            sql = f"SELECT row {chosen} AND {order} IS NOT NULL AND (({last}) IS NULL OR {order} {sign} ({last}))"
            sql, parameters = f"{sql} ORDER BY {order} {way}, row", parameters * 3
        elif query.intent == "list":
            best = "max" if way == "DESC" else "min"
            some = f"coalesce({columns}, NULL) IS NOT NULL"
            sql = f"SELECT min(row) {chosen} AND {some} GROUP BY {columns} ORDER BY {best}({order}) {way}, min(row)"
        else:
            sql = f"SELECT row {chosen} ORDER BY {order} {way}, row"
        found, left_out = self._bounded(sql, parameters)
        if query.intent == "list" and query.n:
            found, left_out = found[: query.n], 0
        records = [opened.table.records[row] for (row,) in found]
        rows = tuple(tuple(record.values[place] for place in places) for record in records)
        fields = opened.table.fields
        shown = [[written(record, place, fields[place]) for place in places] for record in records]
        # Several fields of one record are several values.
        values = tuple(shown[0] if len(shown) == 1 else (" ".join(filter(None, each)) for each in shown))
        return Result(tuple(names), rows, _cited(records), _single(values), values, left_out)

    def _bounded(self, sql: str, parameters: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
        """The first rows of a statement, and the number of the others."""
        cursor = self._sqlite.execute(sql, parameters)
        found = cursor.fetchmany(MOST_ROWS)
        return found, sum(1 for _ in cursor)

    def _sources(self, opened: Opened, selected: Sql) -> tuple[tuple[str, int, int], ...]:
        sql, parameters = selected
        found = self._sqlite.execute(f"{sql} ORDER BY row LIMIT {MOST_SOURCES}", parameters)
        return _cited(opened.table.records[row] for (row,) in found)


def _counted(query: RecordQuery, number: int, sources: tuple[tuple[str, int, int], ...]) -> Result:
    if query.intent == "exists":
        return Result(("exists",), ((number > 0,),), sources, "yes" if number else "no")
    return Result(("count",), ((number,),), sources, f"{number:,}")


def _cited(records: Iterable[Record]) -> tuple[tuple[str, int, int], ...]:
    return tuple(dict.fromkeys((record.doc_id, record.start, record.end) for record in records))[:MOST_SOURCES]


def _single(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ""
