"""A question as parts that a table explains, and the query that they make."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rag.components.routers.record_words import Lexicon
from rag.core.documents import Value
from rag.core.record_queries import Condition, Operator, RecordQuery

MOST_VALUES = 200
"""The most values of a field that some words of a question may mean."""


@dataclass(frozen=True)
class Part:
    """Words of a question with one meaning.

    kind: `operation`, `order`, `comparison`, `number`, `value`, `field`, `rows`, `title` or `stop`. `meaning` is the operation,
    the order or the operator; `place` the field; `rows` the rows with a value.
    """

    kind: str
    start: int
    end: int
    meaning: str = ""
    place: int = -1
    rows: frozenset[int] = frozenset()
    number: float = 0.0
    fields: tuple[int, ...] = ()


class Misfit(Exception):  # noqa: N818
    """The parts make no query; the text says why."""


@dataclass
class Reading:
    """Makes the query of one reading of a question; every part must be used."""

    parts: Sequence[Part]
    lexicon: Lexicon
    years: dict[str, Operator]
    left: set[int] = field(default_factory=set)
    claims: tuple[float, ...] = ()

    def query(self) -> RecordQuery:
        """The query; Misfit if the parts make none, or if one is left over."""
        self.left = {number for number, part in enumerate(self.parts) if part.kind not in ("stop", "title", "rows")}
        across = self._take("operation", ("all",))
        made = self._made()
        self._drop(("all",))
        claimed = [part for part in self._all("number") if self._is_left(part) and self._use(part)]
        self.claims = tuple(part.number for part in claimed)
        if self.left:
            raise Misfit("words are left over")
        return self._current(made, bool(across))

    def _current(self, query: RecordQuery, across: bool) -> RecordQuery:
        """The query for current editions; Misfit if several tables are one and none is named."""
        names = {each.name for each in self.lexicon.table.fields} & {"source", "superseded"}
        named = {test.field for test in query.where}
        if "superseded" in names - named:
            return replace(query, where=(*query.where, Condition("superseded", "=", False)))
        if "source" in names - named and not across:
            raise Misfit("several tables")
        return query

    def _made(self) -> RecordQuery:
        table = self.lexicon.table.name
        where = self._compared()
        if found := self._take("operation", ("change", "difference")):
            return self._difference(found.meaning)
        orders = [part for part in self._all("order")]
        if not orders and (moved := self._moved()):
            return moved
        where += self._values()
        if orders:
            return self._ordered(orders, where)
        group = self._take("operation", ("group",))
        if group and (by := self._next(group, "field")):
            counted = self._take("operation", ("count",))
            sums = () if counted and not self._take("operation", ("sum",)) else self._numbers()
            self._head()
            return RecordQuery("group_by", table, sums, where, self._name(by.place))
        if counted := self._take("operation", ("count",)):
            return self._count(counted, where)
        for intent in ("sum", "average"):
            if self._take("operation", (intent,)):
                self._drop(("ask", "sum", "between", "from", "to"))
                return RecordQuery(intent, table, self._numbers(required=True), where)  # type: ignore[arg-type]
        if self._take("operation", ("exists",)):
            return RecordQuery("exists", table, where=self._needed(where))
        target = self._head()
        fields = tuple(self._name(part.place) for part in self._fields())
        fields = fields or ((self._name(target),) if target >= 0 else ())
        if not fields:
            raise Misfit("nothing is asked for")
        if {test.field for test in where} & set(fields) and not any(test.operator != "in" for test in where):
            raise Misfit("what is asked for is given")
        return RecordQuery("list", table, fields, self._needed(where))

    def _count(self, counted: Part, where: tuple[Condition, ...]) -> RecordQuery:
        """How many: records, different values of a field, or a number in a field."""
        table, head = self.lexicon.table, self._follower(counted)
        self._drop(("ask",))
        if head is None or head.kind not in ("rows", "title", "field", "value"):
            raise Misfit("it is not clear what is counted")
        if head.kind == "field":
            self._use(head)
            name, kind = self._name(head.place), table.fields[head.place].type
            summed = self._take("operation", ("sum",))
            if kind == "number" and head.place not in self.lexicon.years:
                return RecordQuery("sum" if summed else "lookup", table.name, (name,), where if summed else self._needed(where))
            is_key = head.place == self.lexicon.key or any(test.field == name for test in where)
            return RecordQuery("count", table.name, () if is_key else (name,), where)
        self._take("operation", ("sum",))
        return RecordQuery("count", table.name, where=where if head.kind != "title" else self._needed(where))

    def _ordered(self, orders: Sequence[Part], where: tuple[Condition, ...]) -> RecordQuery:
        """The first records by a field, or the groups with the most records."""
        if len(orders) != 1:
            raise Misfit("two orders")
        order, table = orders[0], self.lexicon.table
        self._use(order)
        self._drop(("or",))
        n = self._take_next(order, "number")
        sign, *hints = order.meaning.split()
        place, by_row = self._order_field(order, hints)
        counted = self._take("operation", ("count",))
        target = self._head()
        fields = [self._name(part.place) for part in self._fields()]
        if counted:
            raise Misfit("a count of an order")
        if not fields:
            fields = [self._name(target)] if target >= 0 else [self._name(place)] if not by_row else []
        if not fields:
            raise Misfit("nothing is asked for")
        number = int(n.number) if n else 1
        descending = sign == "+"
        if not by_row and table.fields[place].type not in ("number", "date"):
            if len(fields) > 1 or fields[0] != self._name(place) or n:
                raise Misfit("texts have no order")
            return RecordQuery("group_by", table.name, (), where, fields[0], descending=descending, n=1)
        by = "" if by_row else self._name(place)
        return RecordQuery("top_n", table.name, tuple(fields), where, order=by, descending=descending, n=number)

    def _order_field(self, order: Part, hints: Sequence[str]) -> tuple[int, bool]:
        """The field of an order, and if it is the order of the table instead."""
        found = self._next(order, "field")
        if found and self.lexicon.table.fields[found.place].type in ("number", "date"):
            self._use(found)
            return found.place, False
        if hints == ["row"] or hints == ["time"]:
            if len(self.lexicon.years) == 1:
                return self.lexicon.years[0], False
            if hints == ["row"] and not self.lexicon.years:
                return self.lexicon.key, True
            raise Misfit("no single field of time")
        if order.fields and len(order.fields) == 1:
            return order.fields[0], False
        raise Misfit("it is not clear what the order is by")

    def _difference(self, intent: str) -> RecordQuery:
        """Two numbers: of two fields of one record, or of one field of two records."""
        table, begin = self.lexicon.table, self._take("operation", ("from",))
        self._drop(("ask", "to", "between", "or", "sum", "from"))
        values, fields = self._all("value"), self._fields()
        for part in values:
            self._use(part)
        if len(fields) == 2 and len({part.place for part in values}) == 1:
            first, second = ((part, self.where(values)) for part in fields)
        elif len(fields) == 1 and len(values) == 2 and values[0].place == values[1].place:
            first, second = ((fields[0], self.where([part])) for part in values)
        else:
            raise Misfit("it is not clear which two numbers are meant")
        operands = [RecordQuery("lookup", table.name, (self._name(part.place),), where) for part, where in (first, second)]
        after = bool(begin and self.parts.index(begin) < self.parts.index(first[0])) and len(fields) == 2
        years = [part for part in fields if table.fields[part.place].name[-4:].isdigit()]
        later = len(years) == 2 and table.fields[years[1].place].name > table.fields[years[0].place].name
        if (len(years) < 2 and after) or later:
            operands.reverse()
        return replace(operands[0], intent=intent, other=operands[1])  # type: ignore[arg-type]

    def _moved(self) -> RecordQuery | None:
        """The record before or after one that is named."""
        shifts = [part for part in self._all("operation") if part.meaning in ("next", "previous")]
        values = self._all("value")
        if len(shifts) != 1 or len(values) != 1 or len(values[0].rows) != 1 or self._all("comparison"):
            return None
        if self.parts.index(values[0]) < self.parts.index(shifts[0]):
            raise Misfit("the record after which one?")
        self._use(shifts[0])
        self._use(values[0])
        target = self._head()
        fields = tuple(self._name(part.place) for part in self._fields()) or (
            self._name(target if target >= 0 else values[0].place),
        )
        shift = 1 if shifts[0].meaning == "next" else -1
        return RecordQuery("lookup", self.lexicon.table.name, fields, self.where(values), shift=shift)

    def _compared(self) -> tuple[Condition, ...]:
        """Conditions of comparisons with numbers."""
        made = []
        for number in [part for part in self._all("number") if self._is_left(part)]:
            before = self._before(number)
            operator = before.meaning if before and before.kind == "comparison" else ""
            if before and not operator and 1000 <= number.number <= 2100 and before.meaning in ("next", "previous"):
                operator = self.years.get(before.meaning, "")
            if not before or not operator:
                continue
            place = self._compared_field(before, number)
            self._use(before)
            self._use(number)
            is_date = self.lexicon.table.fields[place].type == "date"
            value: Value = f"{int(number.number)}" if is_date else number.number
            made.append(Condition(self._name(place), operator, value))  # type: ignore[arg-type]
        return tuple(made)

    def _compared_field(self, comparison: Part, number: Part) -> int:
        near = [self._before(comparison), self._follower(number)]
        types = self.lexicon.table.fields
        for part in near:
            if part and part.kind == "field" and types[part.place].type == "number" and self._is_left(part):
                self._use(part)
                return part.place
        if 1000 <= number.number <= 2100 and len(self.lexicon.years) == 1:
            return self.lexicon.years[0]
        if number.fields and len(number.fields) == 1:
            return number.fields[0]
        raise Misfit("it is not clear what is compared")

    def _values(self) -> tuple[Condition, ...]:
        parts = [part for part in self._all("value") if self._is_left(part)]
        for part in parts:
            self._use(part)
        negated = [part for part in parts if (before := self._before(part)) and before.meaning == "not" and self._use(before)]
        kept = self.where([part for part in parts if part not in negated])
        return kept + tuple(replace(test, operator="!=", value=value) for part in negated for test, value in self._each(part))

    def _each(self, part: Part) -> Iterable[tuple[Condition, Value]]:
        for test in self.where([part]):
            for value in test.value if isinstance(test.value, tuple) else ():
                yield test, value

    def where(self, parts: Sequence[Part]) -> tuple[Condition, ...]:
        """One condition per field: several values of a field are alternatives."""
        made = []
        for place in dict.fromkeys(part.place for part in parts):
            held = [part.rows for part in parts if part.place == place]
            rows = sorted(frozenset.intersection(*held) or frozenset.union(*held))
            values = dict.fromkeys(self.lexicon.table.records[row].values[place] for row in rows)
            if None in values or len(values) > MOST_VALUES or self.lexicon.table.fields[place].type == "list":
                raise Misfit("the value cannot be compared")
            made.append(Condition(self._name(place), "in", tuple(values)))  # type: ignore[arg-type]
        return tuple(made)

    def _head(self) -> int:
        """The field that a word like `who` asks for, or the key after `which`; -1 if another part says it."""
        asks = [part for part in self._all("operation") if part.meaning == "ask" and self._is_left(part)]
        for part in asks:
            self._use(part)
        meant = [part.fields[0] for part in asks if len(part.fields) == 1]
        if meant:
            return meant[0]
        head = self._follower(asks[0]) if asks else None
        named = head is not None and head.kind in ("title", "rows")
        return self.lexicon.key if named or any(part.fields or part.end - part.start == 0 for part in asks) else -1

    def _numbers(self, required: bool = False) -> tuple[str, ...]:
        """The fields with numbers that are named, or the only one that a word like `cost` means."""
        self._drop(("ask",))
        fields = tuple(self._name(part.place) for part in self._fields())
        if required and not fields:
            raise Misfit("no field to sum")
        return fields

    def _needed(self, where: tuple[Condition, ...]) -> tuple[Condition, ...]:
        if not where:
            raise Misfit("no condition")
        return where

    def _fields(self) -> list[Part]:
        """The fields that are named and not used yet, which are used now."""
        found = [part for part in self._all("field") if self._is_left(part)]
        for part in found:
            self._use(part)
        return found

    def _name(self, place: int) -> str:
        return self.lexicon.table.fields[place].name

    def _all(self, kind: str) -> list[Part]:
        return [part for part in self.parts if part.kind == kind]

    def _is_left(self, part: Part) -> bool:
        return self.parts.index(part) in self.left

    def _use(self, part: Part) -> bool:
        self.left.discard(self.parts.index(part))
        return True

    def _take(self, kind: str, meanings: Sequence[str]) -> Part | None:
        """The first part of a kind and meaning, which is used now."""
        for part in self.parts:
            if part.kind == kind and part.meaning in meanings and self._is_left(part):
                self._use(part)
                return part
        return None

    def _drop(self, meanings: Sequence[str]) -> None:
        while self._take("operation", meanings):
            pass

    def _follower(self, part: Part) -> Part | None:
        """The next part that is not a stop word."""
        return next((each for each in self.parts[self.parts.index(part) + 1 :] if each.kind != "stop"), None)

    def _before(self, part: Part) -> Part | None:
        place = self.parts.index(part)
        return next((each for each in reversed(self.parts[:place]) if each.kind != "stop"), None)

    def _next(self, part: Part, kind: str) -> Part | None:
        found = self._follower(part)
        return found if found and found.kind == kind and self._use(found) else None

    def _take_next(self, part: Part, kind: str) -> Part | None:
        return self._next(part, kind)
