"""The query that the parts of a question make."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rag.core.records.queries import Condition, Intent, RecordQuery
from rag.plugins.table_questions.question_clauses import Clauses, Where
from rag.plugins.table_questions.question_parts import ASKS, Misfit, Part
from rag.plugins.table_questions.record_words import Lexicon


class Reading(Clauses):
    """Makes the query of one reading of a question; every part must have its place in it.

    `claims` are numbers such as `three` in "all three": that many records must be taken. `is_absolute` is True for a difference
    without a direction, `is_counted` for a number in a field that a question counts.
    """

    def __init__(self, parts: Sequence[Part], lexicon: Lexicon) -> None:
        super().__init__(parts, lexicon)
        self.table = lexicon.table.name
        self.claims: tuple[float, ...] = ()
        self.is_absolute = self.is_counted = False
        self._is_all = bool(self.all("operation", "all", "both", "each"))

    def query(self) -> RecordQuery:
        """The query; Misfit if the parts make none, or if one is left over."""
        where = self.compared()
        made = self._difference() or self._moved() or self._ordered(where) or self.grouped(where) or self._others(where)
        named, key = bool(self.all("operation", "named")), self.lexicon.key
        is_loose = any(part.is_part and not part.number and not named for part in self.all("value"))
        has_several = made.intent == "list" and len({part.place for part in self.all("value")}) > 1
        if is_loose and (has_several or made.intent in ("count", "top_n", "group_by")):
            raise Misfit("parts of values, which may be other things")
        named |= any(part.place == key for part in self.all("field")) or not self.lexicon.is_key(key)
        if made.intent == "count" and not named and any(part.place == key for part in self.all("value")):
            raise Misfit("a count of one name")
        if made.intent == "count" and self.alone:
            raise Misfit("a value that may be what acts")
        if self._is_per(made):
            raise Misfit("a value for each record")
        claims = {"only": 1.0, "both": 2.0}
        claiming = (*self.take("number"), *self.all("operation", *(("only",) if made.across else claims)))
        self.claims = tuple(claims.get(part.meaning, part.number) for part in claiming)
        self.take("operation", "only")
        if self.left:
            raise Misfit("words are left over")
        asked = {*made.fields, made.order, *(made.other.fields if made.other else ())}
        numbers = {place for place, field in enumerate(self.lexicon.table.fields) if field.type == "number"} - {
            *self.lexicon.headed
        }
        vague = [part for part in self.all("field") if part.is_derived or (part.is_part and part.place in numbers)]
        if any(self.name(part.place) in asked for part in vague):
            raise Misfit("another form of the name of a field, or a part of it")
        return self._current(made)

    def _is_per(self, made: RecordQuery) -> bool:
        """True for `each` before anything but the records, what is listed, or groups."""
        first, is_listed = self.first(), made.intent in ("list", "lookup")
        is_key = first is not None and first.place == self.lexicon.key
        heads = [self.behind(part) for part in self.all("operation", "each")]
        is_group = made.intent == "group_by" or made.across
        return not is_group and not all(is_listed and (is_key or head in (None, first)) for head in heads)

    def _current(self, query: RecordQuery) -> RecordQuery:
        """The query for current editions; Misfit if several tables are one and none is named."""
        unnamed = {each.name for each in self.lexicon.table.fields} - {test.field for test in query.where}
        if "superseded" in unnamed:
            return replace(query, where=(*query.where, Condition("superseded", "=", False)))
        if "source" in unnamed and not self._is_all:
            raise Misfit("several tables")
        return query

    def _others(self, where: Where) -> RecordQuery:
        """A count, a sum, an average, the existence or a list."""
        where += self.values()
        counted = self.take("operation", "count", "total", "times")
        self.alone = [part for part in self.alone if not counted or part != self.behind(counted[0])]
        if counted and counted[0].meaning == "times":
            self.take("operation", "exists")
            return RecordQuery("count", self.table, where=self.needed(where))
        unit = self.behind(counted[0], "unit") if counted else None  # How many days, of a sum.
        if counted and not (unit and self.all("operation", "sum")):
            return self._count(counted[0], where)
        measured: tuple[Intent, ...] = ("sum", "average")
        for intent in measured:
            if self.take("operation", intent):
                if any(part.is_part for part in self.all("value")) and not (self._is_all or self.all("number")):
                    raise Misfit("a sum over parts of values")
                return RecordQuery(intent, self.table, self.numbers(), where)
        if self.take("operation", "exists") and not self.all("operation", *ASKS):
            self.nouns()
            return RecordQuery("exists", self.table, where=self.needed(where))
        if across := self.across():
            self.take("operation", *ASKS)
            names = dict.fromkeys(self.name(part.place) for part in self.take("field"))
            return RecordQuery("list", self.table, tuple(names), where, across=across)
        if {part.place for part in self.all("value")} & {part.place for part in self.all("field")}:
            self.take("operation", "shared")  # The projects that share the theme citrus.
        targets = self._targets(where)
        if any(self.type(self.lexicon.table.column(name)) == "list" for name in targets) and any(
            isinstance(test.value, tuple) and len(test.value) > 1 for test in where
        ):
            raise Misfit("what is with all values, or with one of them")
        return RecordQuery("list", self.table, targets, where if self._is_all else self.needed(where))

    def _count(self, counted: Part, where: Where) -> RecordQuery:
        """How many: records, different values of a field, or a number in a field."""
        head = self.behind(counted)
        self.take("operation", "exists", *ASKS)
        summed, different = self.take("operation", "sum") or counted.meaning == "total", self.take("operation", "different")
        if head and (head.kind in ("rows", "title") or (head.kind == "value" and not head.is_part)):
            return RecordQuery("count", self.table, where=where if head.kind != "title" else self.needed(where))
        if not head or head.kind != "field":
            raise Misfit("it is not clear what is counted")
        self.left.discard(head)
        name = self.name(head.place)
        if self.type(head.place) == "number" and head.place not in self.lexicon.labels:
            self.is_counted = True
            return RecordQuery("sum" if summed else "lookup", self.table, (name,), where if summed else self.needed(where))
        known = any(test.field == name for test in where) and not self.all("operation", "named")
        if known or not (different or self.lexicon.is_key(head.place)):
            raise Misfit("a field with equal values")
        return RecordQuery("count", self.table, (name,) if different else (), where)

    def _ordered(self, where: Where) -> RecordQuery | None:
        """The first records by a field."""
        orders = self.take("order")
        if not orders:
            return None
        if len(orders) > 1:
            raise Misfit("two orders")
        where += self.values()
        before = self.before(orders[0])
        n = self.before(orders[0], "number") or self.behind(orders[0], "number")
        self.left -= {n}
        place = self._order_field(orders[0])
        values = self.all("value")
        places = {part.place for part in values}
        is_two = orders[0].meaning.endswith(" two")
        if len(values) > 1 and len(places) == 1 and (self.take("operation", "or") or is_two):
            self.take("operation", "exists", *ASKS)
            fields: tuple[str, ...] = (self.name(places.pop()),)
        elif is_two:
            raise Misfit("more than what?")
        else:
            fields = self._targets(where, place if before and before.meaning == "what" else -1)
        order, is_high = self.name(place) if place >= 0 else "", orders[0].meaning.startswith("+")
        return RecordQuery("top_n", self.table, fields, where, order=order, descending=is_high, n=int(n.number) if n else 1)

    def _order_field(self, order: Part) -> int:
        """The field of an order, -1 for the order of the table."""
        hints, years = order.meaning.split()[1:], self.lexicon.years
        number = self.behind(order, "number")
        found = self.behind(number or order, "field")
        if found and found.place in self.lexicon.ranks:
            raise Misfit("the highest rank is a low number")
        if found and self.type(found.place) == "number" and (hints in ([], ["two"]) or found.place in order.fields):
            self.left.discard(found)
            return found.place
        is_listed = hints == ["first"] and any(part.meaning == "layout" for part in self.parts)
        if hints == ["row"] or (is_listed and all(map(self.lexicon.is_sorted, years))):
            return -1
        if hints in (["first"], ["time"]) and len(years) == 1 and (hints == ["time"] or self.lexicon.is_sorted(years[0])):
            return years[0]
        if hints not in (["first"], ["time"], ["two"]) and len(order.fields) == 1:
            return order.fields[0]
        raise Misfit("it is not clear what the order is by")

    def _difference(self) -> RecordQuery | None:
        """Two numbers: of two fields of one record, or of one field of two records."""
        found = self.take("operation", "change", "difference", "movement")
        if not found:
            return None
        self.take("operation", "or", *ASKS)
        values, fields = self.take("value"), self.take("field")
        if len(fields) == 2 and len({part.place for part in values}) == len(values) > 0:
            first, second = ((part, self.where(values)) for part in fields)
        elif len(fields) == 1 and len(values) == 2 and values[0].place == values[1].place:
            first, second = ((fields[0], self.where([part])) for part in values)
        else:
            raise Misfit("it is not clear which two numbers are meant")
        operands = [RecordQuery("lookup", self.table, (self.name(part.place),), where) for part, where in (first, second)]
        years = [part.year for part in fields if part.year]
        if len(years) == 2 and years[0] < years[1]:
            operands.reverse()  # The change from the earlier to the later.
        elif len(years) != 2 and found[0].meaning != "difference":
            raise Misfit("the direction is not clear")
        self.is_absolute = found[0].meaning == "difference"
        return replace(operands[0], intent="change" if found[0].meaning == "change" else "difference", other=operands[1])

    def _moved(self) -> RecordQuery | None:
        """The record before or after one that is named."""
        shifts, values = self.all("operation", "next", "previous", "below", "above"), self.all("value")
        is_one = len(shifts) == len(values) == 1 and len(values[0].rows) == 1 and not values[0].is_part
        if not is_one or self.all("comparison") or self.all("order"):
            return None
        if values[0].start < shifts[0].start:
            raise Misfit("the record after which one?")
        if shifts[0].meaning in ("next", "previous") and not self.lexicon.is_in_time():
            raise Misfit("the order of the records is not that of time")
        self.left.difference_update((*shifts, *values))
        shift = 1 if shifts[0].meaning in ("next", "below") else -1
        return RecordQuery("lookup", self.table, self._targets(), self.where(values), shift=shift)

    def _targets(self, where: Where = (), default: int = -1) -> tuple[str, ...]:
        """The names of the fields that are asked for."""
        head = self._head()
        parts = self.take("field")
        if not all((first.year and second.year) or self.are_joined((first, second)) for first, second in pairwise(parts)):
            raise Misfit("fields in several places")
        places = [part.place for part in parts] or [place for place in (head, default) if place >= 0][:1]
        names = tuple(dict.fromkeys(map(self.name, places)))
        if not names or {test.field for test in where if test.operator == "in"} & {*names}:
            raise Misfit("nothing is asked for, or what is known")
        return names

    def _head(self) -> int:
        """The field that a word like `who` means, or the key after `which`; -1 if the name of a field says it."""
        asks, first = self.take("operation", *ASKS), self.first()
        records = self.all("title") + self.all("rows")
        if not asks and not (records and first and first.kind in ("title", "rows", "value")):
            raise Misfit("nothing is asked")
        meant = [part for part in asks if part.meaning in ("who", "when") and not self.is_relative(part)]
        named = {part.place for part in self.all("field") if part in self.left}
        head = self.behind(meant[0]) if meant else None
        texts = {head.place} if head and self.type(head.place) == "text" else set[int]()
        is_thing = bool(meant and self.all("title")) and self.lexicon.key in meant[0].fields
        if meant and (is_thing or not named <= {*meant[0].fields, *texts}):
            raise Misfit("another field than what is asked for")
        if meant and not named:
            return meant[0].fields[0] if len(meant[0].fields) == 1 else -1
        head = first or next(map(self.head, self.all("operation", "exists")), None)
        if head and head.kind == "value" and not records:
            return head.place if len(head.rows) > 1 else -1
        return self.lexicon.key if head and head.kind in ("title", "rows", "value") else -1
