"""The conditions of a question, and its groups: sizes per value of a field, and values that several groups have in common."""

from collections import Counter
from collections.abc import Sequence

from rag.core.documents import Value
from rag.core.records.queries import Condition, RecordQuery
from rag.plugins.table_questions.question_parts import ASKS, Misfit, Part, PartList

TIMES = {"next": ">", "previous": "<"}
"""The operators of words before a year."""
MOST_VALUES = 200
"""The most values of a field that some words of a question may mean."""
Where = tuple[Condition, ...]


class Clauses(PartList):
    """Makes conditions and groups of parts."""

    table: str
    alone: list[Part]

    def compared(self) -> Where:
        """The conditions of numbers behind a comparison."""
        made = list[Condition]()
        for number in self.all("number"):
            before = self.before(number)
            operator = before.meaning if before and before.kind == "comparison" else ""
            if before and number.year and not operator:
                operator = TIMES.get(before.meaning, "")
            if before and operator:
                place = self._compared_field(before, number)
                self.left.difference_update((before, number))
                value: Value = f"{int(number.number)}" if self.type(place) == "date" else number.number
                made.append(Condition(self.name(place), operator, value))  # type: ignore[arg-type]
        return tuple(made)

    def _compared_field(self, comparison: Part, number: Part) -> int:
        """The field of time for a year, the number field next to the comparison, or the only one with the unit."""
        near = [part for part in (self.before(comparison, "field"), self.behind(number, "field")) if part in self.left and part]
        times = self.lexicon.years if number.year and not number.fields else []
        found = [part for part in near if (part.place in times if len(times) == 1 else self.type(part.place) == "number")]
        if len(times) != 1 and comparison.kind != "comparison":
            raise Misfit("no single field of time")
        if found:
            self.left.discard(found[0])
        places = [part.place for part in found[:1]] or (times if len(times) == 1 else number.fields)
        if len(places) != 1:
            raise Misfit("it is not clear what is compared")
        return places[0]

    def values(self) -> Where:
        """The conditions of values, each with the name of its field next to it."""
        parts, self.alone = self.take("value"), list[Part]()
        for part in parts:
            near = (self.before(part, "field"), self.behind(part, "field"))
            named = [each for each in near if each and each.place == part.place and each in self.left]
            if part.number and not part.year and not named:
                raise Misfit("a number of no field")
            if not named and not self.is_linked(part):
                self.alone.append(part)
        first, places = self.first(), {part.place for part in parts}
        self.left.difference_update(each for each in self.all("field") if each.place in places and each != first)
        negated = [part for part in parts if (before := self.before(part)) and before.meaning == "not"]
        self.left.difference_update(map(self.before, negated))
        excluded = [test for part in negated for test in self.where([part])]
        others = [Condition(test.field, "!=", value) for test in excluded for value in test.value]  # type: ignore[union-attr]
        return (*self.where([part for part in parts if part not in negated]), *others)

    def where(self, parts: Sequence[Part]) -> Where:
        """One condition per field: its values hold together if records have all of them, else each of them does."""
        made = list[Condition]()
        for place in dict.fromkeys(part.place for part in parts):
            own = [part for part in parts if part.place == place]
            if len(own) > 1 and all(part.number for part in own) and self.are_ends(own):
                made += self._span(own)
                continue
            common = frozenset.intersection(*(part.rows for part in own))
            if not common and not self.are_joined(own) and not self.all("operation", "shared"):
                raise Misfit("values that are not joined")
            if self.type(place) == "list":
                items = [part.items for part in own]
                whole = items if common else [tuple(item for each in items for item in each)]
                made += [Condition(self.name(place), "in", each) for each in whole]
                continue
            closest = [part.rows for part in own if not any(other.rows < part.rows for other in own)]
            rows = sorted(common or frozenset.union(*closest))
            values = dict.fromkeys(self.lexicon.table.records[row].values[place] for row in rows)
            if None in values or len(values) > MOST_VALUES:
                raise Misfit("the value cannot be compared")
            made.append(Condition(self.name(place), "in", tuple(values)))  # type: ignore[arg-type]
        return tuple(made)

    def _span(self, ends: Sequence[Part]) -> Where:
        """The numbers or years from one to another."""
        place = ends[0].place
        is_date = self.type(place) == "date" and all(part.year for part in ends)
        if len(ends) > 2 or not (is_date or self.type(place) == "number"):
            raise Misfit("what is between two values")
        low, high = (f"{int(end)}" if is_date else end for end in sorted(part.number for part in ends))
        return Condition(self.name(place), ">=", low), Condition(self.name(place), "<=", high)

    def needed(self, where: Where) -> Where:
        """Conditions; Misfit without any."""
        if not where:
            raise Misfit("no condition")
        return where

    def grouped(self, where: Where) -> RecordQuery | None:
        """Counts or sums per value of a field."""
        if (by := self._group()) is None:
            return None
        first, summed = self.first(), self.all("operation", "sum")
        is_title = first is not None and first.kind == "title" and not self.all("operation", *ASKS)
        counted = self.all("operation", "count", "total") or is_title
        others = [part for part in self.all("field") if part.place != by.place and self.type(part.place) == "number"]
        has_numbers = others or self.all("unit")
        if not counted and not has_numbers and not (summed and self.all("title")):
            return None
        where += self.values()
        self.left.difference_update(part for part in self.all("field") if part.place == by.place)
        self.take("operation", "group", "exists", "count", "total", "sum", *ASKS)
        sums = self.numbers() if has_numbers and (summed or not counted) else ()
        self.nouns()
        return RecordQuery("group_by", self.table, sums, where, self.name(by.place))

    def _group(self) -> Part | None:
        """The field of the groups: behind `per`, with a count also behind `each` or `by`, or before `and how many`."""
        counted = self.all("operation", "count", "total")
        signs = self.all("operation", "group", *(("each", "between") if counted else ()))
        signs += self.all("stop", "by") if counted else []
        found, fields = next((each for part in signs if (each := self.behind(part, "field"))), None), self.all("field")
        if found or len(counted) != 1 or len(fields) != 1:
            return found
        is_told = self.all("operation", "each") or (self.first() == fields[0] and counted[0].start > fields[0].start)
        heads = (self.behind(counted[0]), self.before(counted[0]))
        return fields[0] if is_told and any(head and head.kind in ("title", "rows") for head in heads) else None

    def across(self) -> str:
        """The field whose groups have values in common, with words such as `both`; empty without one."""
        values = Counter(part.place for part in self.all("value"))
        whole = {part.place for part in self.all("field") if self._is_whole(part)}
        if not values and any(not self.behind(part) for part in self.all("operation", "both")):
            whole = {*filter(self._has_two, range(len(self.lexicon.table.fields)))}
        places = whole | {place for place, count in values.items() if count > 1 and self.type(place) != "list"}
        asked = {part.place for part in self.all("field")} - places - {self.lexicon.key}
        if not (whole or self.all("operation", "shared", "also", "both")) or len(places) != 1 or not asked:
            return ""
        (place,) = places
        self.left.difference_update(self.all("operation", "shared", "same"))
        self.left.difference_update(part for part in self.all("number") if part.number == 2)
        self.left.difference_update(part for part in self.all("field") if part.place == place)
        return self.name(place)

    def _is_whole(self, field: Part) -> bool:
        """True for a field whose values are all meant: behind `each`, or one with two behind `both`, `two` or `between`."""
        before = self.before(field)
        if before is None or self.type(field.place) == "list":
            return False
        if before.meaning == "each":
            return field != self.first()
        return self._has_two(field.place) and (before.meaning in ("both", "between") or before.number == 2)

    def _has_two(self, place: int) -> bool:
        held = {record.values[place] for record in self.lexicon.table.records}
        return len(held) == 2 and None not in held and self.type(place) != "list"

    def numbers(self) -> tuple[str, ...]:
        """The fields with numbers: those that are named, those of a range of years, or the only one with a unit."""
        self.take("operation", *ASKS)
        self.nouns()
        parts, begins = self.take("field"), self.all("operation", "between", "from")
        places, years = [part.place for part in parts], [part.year for part in parts if part.year]
        if len(parts) == len(years) == 2 and (begins or self.are_ends(parts)):
            places = [place for place, year in self.lexicon.headed.items() if min(years) <= year <= max(years)]
            if len(places) != max(years) - min(years) + 1:
                raise Misfit("not one field per year")
        elif (begins and years) or not (len(years) == len(parts) or self.are_joined(parts)):
            raise Misfit("fields in several places")
        units = [part.fields for part in self.all("unit")]
        if not places and len(units) == 1 and len(units[0]) == 1:
            places = [*units[0]]
        if not places or self.lexicon.labels & {*places}:
            raise Misfit("no field to sum")
        return tuple(dict.fromkeys(map(self.name, places)))

    def nouns(self) -> None:
        """Use the name of the key, which stands for the records."""
        self.left.difference_update(part for part in self.all("field") if part.place == self.lexicon.key and not part.is_part)
