"""A question as parts that a table explains, and the query that they make."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

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
    is_part: bool = False

    @property
    def year(self) -> int:
        """The year of a field or value that is one, else 0."""
        return int(self.number) if 1000 <= self.number <= 2100 else 0


ASKS = ("ask", "what", "who")


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
    is_absolute: bool = False

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
        if found := self._take("operation", ("change", "difference", "movement")):
            return self._difference(found.meaning)
        orders = [part for part in self._all("order")]
        if not orders and (moved := self._moved()):
            return moved
        where += self._values()
        if orders:
            return self._ordered(orders, where)
        group = next((part for part in self._all("operation") if part.meaning == "group"), None)
        if group and (by := self._next(group, "field")):
            self._use(group)
            counted = self._take("operation", ("count",))
            sums = () if counted and not self._take("operation", ("sum",)) else self._numbers()
            self._head()
            return RecordQuery("group_by", table, sums, where, self._name(by.place))
        if counted := self._take("operation", ("count",)):
            return self._count(counted, where)
        for intent in ("sum", "average"):
            if self._take("operation", (intent,)):
                return RecordQuery(intent, table, self._numbers(required=True), where)  # type: ignore[arg-type]
        if self._take("operation", ("exists",)):
            return RecordQuery("exists", table, where=self._needed(where))
        return RecordQuery("list", table, self._targets(where), self._needed(where))

    def _count(self, counted: Part, where: tuple[Condition, ...]) -> RecordQuery:
        """How many: records, different values of a field, or a number in a field."""
        table, head = self.lexicon.table, self._follower(counted)
        self._drop(ASKS)
        if head is None or head.kind not in ("rows", "title", "field", "value"):
            raise Misfit("it is not clear what is counted")
        summed, different = self._take("operation", ("sum",)), self._take("operation", ("different",))
        if head.kind != "field":
            if head.kind == "value" and head.is_part:
                raise Misfit("it is not clear what is counted")
            return RecordQuery("count", table.name, where=where if head.kind != "title" else self._needed(where))
        self._use(head)
        name = self._name(head.place)
        if table.fields[head.place].type == "number" and head.place not in self.lexicon.years:
            return RecordQuery("sum" if summed else "lookup", table.name, (name,), where if summed else self._needed(where))
        if any(test.field == name for test in where) or not (different or self.lexicon.is_key(head.place)):
            raise Misfit("a field with equal values")
        return RecordQuery("count", table.name, (name,) if different else (), where)

    def _ordered(self, orders: Sequence[Part], where: tuple[Condition, ...]) -> RecordQuery:
        """The first records by a field, or the groups with the most records."""
        if len(orders) != 1:
            raise Misfit("two orders")
        order, table = orders[0], self.lexicon.table
        self._use(order)
        asked = self._before(order)
        is_what = asked is not None and asked.meaning == "what"
        n = self._next(order, "number")
        sign, *hints = order.meaning.split()
        place = self._order_field(order, hints)
        named = next((self._name(test) for test in self._either()), "")
        fields = (named,) if named else self._targets(where, self._name(place) if is_what and place >= 0 else "")
        query = RecordQuery("top_n", table.name, fields, where, descending=sign == "+", n=int(n.number) if n else 1)
        if place < 0:
            return query
        return replace(query, order=self._name(place))

    def _either(self) -> list[int]:
        """The field of which two values are compared by `or`."""
        values = self._all("value")
        places = {part.place for part in values}
        return list(places) if len(values) > 1 and len(places) == 1 and self._take("operation", ("or",)) else []

    def _order_field(self, order: Part, hints: Sequence[str]) -> int:
        """The field of an order, -1 for the order of the table."""
        found = self._follower(order)
        if found and found.kind == "number":
            found = self._follower(found)
        if found and found.kind == "field" and self._is_ordering(found, order, hints):
            self._use(found)
            return found.place
        if hints in (["row"], ["time"]):
            if hints == ["row"] and not self.lexicon.years:
                return -1
            if len(self.lexicon.years) == 1 and (hints == ["time"] or self.lexicon.is_sorted(self.lexicon.years[0])):
                return self.lexicon.years[0]
        elif len(order.fields) == 1:
            return order.fields[0]
        raise Misfit("it is not clear what the order is by")

    def _is_ordering(self, part: Part, order: Part, hints: Sequence[str]) -> bool:
        return self.lexicon.table.fields[part.place].type == "number" and (not hints or part.place in order.fields)

    def _targets(self, where: Sequence[Condition] = (), default: str = "") -> tuple[str, ...]:
        """The names of the fields that are asked for."""
        target, parts = self._head(), self._fields()
        if not all((first.year and second.year) or self._are_joined(first, second) for first, second in pairwise(parts)):
            raise Misfit("fields in several places")
        names = tuple(dict.fromkeys(self._name(part.place) for part in parts))
        names = names or ((self._name(target),) if target >= 0 else (default,) if default else ())
        if not names or {test.field for test in where if test.operator == "in"} & {*names}:
            raise Misfit("nothing is asked for, or what is known")
        return names

    def _are_joined(self, first: Part, second: Part) -> bool:
        """True if only `and` stands between two parts."""
        between = [part for part in self.parts if first.end <= part.start and part.end <= second.start]
        return len(between) == 1 and between[0].meaning == "and"

    def _difference(self, intent: str) -> RecordQuery:
        """Two numbers: of two fields of one record, or of one field of two records."""
        name, begin = self.lexicon.table.name, self._take("operation", ("from",))
        self._drop((*ASKS, "to", "between", "or"))
        values, fields = self._all("value"), self._fields()
        for part in values:
            self._use(part)
        if len(fields) == 2 and len({part.place for part in values}) == len(values) > 0:
            first, second = ((part, self.where(values)) for part in fields)
        elif len(fields) == 1 and len(values) == 2 and values[0].place == values[1].place:
            first, second = ((fields[0], self.where([part])) for part in values)
        else:
            raise Misfit("it is not clear which two numbers are meant")
        operands = [RecordQuery("lookup", name, (self._name(part.place),), where) for part, where in (first, second)]
        years = [part.year for part in fields if part.year]
        if len(years) == 2 and years[0] < years[1]:
            operands.reverse()
        elif (len(years) == 2 and begin) or (len(years) < 2 and intent != "difference"):
            raise Misfit("the direction is not clear")
        self.is_absolute = intent == "difference"
        intent = "change" if intent == "change" else "difference"
        return replace(operands[0], intent=intent, other=operands[1])  # type: ignore[arg-type]

    def _moved(self) -> RecordQuery | None:
        """The record before or after one that is named."""
        shifts = [part for part in self._all("operation") if part.meaning in ("next", "previous")]
        values = self._all("value")
        if len(shifts) != 1 or len(values) != 1 or len(values[0].rows) != 1 or self._all("comparison") or values[0].is_part:
            return None
        if self.parts.index(values[0]) < self.parts.index(shifts[0]):
            raise Misfit("the record after which one?")
        self._use(shifts[0])
        self._use(values[0])
        fields = self._targets()
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
        if 1000 <= number.number <= 2100 and len(self.lexicon.years) == 1:
            return self.lexicon.years[0]
        if comparison.meaning in ("next", "previous"):
            raise Misfit("no single field of time")
        for part in near:
            if part and part.kind == "field" and types[part.place].type == "number" and self._is_left(part):
                self._use(part)
                return part.place
        if number.fields and len(number.fields) == 1:
            return number.fields[0]
        raise Misfit("it is not clear what is compared")

    def _values(self) -> tuple[Condition, ...]:
        parts = [part for part in self._all("value") if self._is_left(part)]
        for part in parts:
            self._use(part)
            near = [each for each in (self._before(part), self._follower(part)) if each and each.place == part.place]
            named = [each for each in near if each.kind == "field" and self._is_left(each)]
            if part.number and not part.year and not named:
                raise Misfit("a number of no field")
            if named and (part.number or self._is_filter(named[0])):
                self._use(named[0])
        negated = [part for part in parts if (before := self._before(part)) and before.meaning == "not" and self._use(before)]
        kept = self.where([part for part in parts if part not in negated])
        return kept + tuple(replace(test, operator="!=", value=value) for part in negated for test, value in self._each(part))

    def _is_filter(self, part: Part) -> bool:
        """True for the name of a field that does not follow a word that asks."""
        before = self._before(part)
        return before is None or before.meaning not in (*ASKS, "count")

    def _each(self, part: Part) -> Iterable[tuple[Condition, Value]]:
        for test in self.where([part]):
            for value in test.value if isinstance(test.value, tuple) else ():
                yield test, value

    def where(self, parts: Sequence[Part]) -> tuple[Condition, ...]:
        """One condition per field: several values of a field are alternatives."""
        made = []
        for place in dict.fromkeys(part.place for part in parts):
            held = [part.rows for part in parts if part.place == place]
            closest = [each for each in held if not any(other < each for other in held)]
            rows = sorted(frozenset.intersection(*held) or frozenset.union(*closest))
            values = dict.fromkeys(self.lexicon.table.records[row].values[place] for row in rows)
            if None in values or len(values) > MOST_VALUES or self.lexicon.table.fields[place].type == "list":
                raise Misfit("the value cannot be compared")
            made.append(Condition(self._name(place), "in", tuple(values)))  # type: ignore[arg-type]
        return tuple(made)

    def _head(self) -> int:
        """The field that a word like `who` asks for, or the key after `which`; -1 if another part says it."""
        asks = [part for part in self._all("operation") if part.meaning in ASKS and self._is_left(part)]
        if not asks:
            raise Misfit("nothing is asked")
        for part in asks:
            self._use(part)
        meant = [part for part in asks if part.meaning == "who"]
        named = {part.place for part in self._all("field") if self._is_left(part)}
        if meant and named and not named <= {*meant[0].fields}:
            raise Misfit("another field than what is asked for")
        if meant and not named:
            return meant[0].fields[0] if len(meant[0].fields) == 1 else -1
        head = self._follower(asks[0])
        if head and head.kind == "value" and len(head.rows) > 1:
            return head.place
        return self.lexicon.key if head and head.kind in ("title", "rows") else -1

    def _numbers(self, required: bool = False) -> tuple[str, ...]:
        """The fields with numbers that are named, or the only one that a word like `cost` means."""
        self._drop(ASKS)
        begins, parts = self._take("operation", ("between", "from")), self._fields()
        self._drop(("to",))
        places = [part.place for part in parts]
        if len(parts) == 2 and all(part.year for part in parts) and (begins or parts[0].end == parts[1].start):
            low, high = sorted(part.year for part in parts)
            places = [place for place, year in self.lexicon.headed.items() if low <= year <= high]
            if len(places) != high - low + 1:
                raise Misfit("not one field per year")
        elif begins:
            raise Misfit("a range of no years")
        if required and not places:
            raise Misfit("no field to sum")
        return tuple(dict.fromkeys(map(self._name, places)))

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
