"""The conditions of a question: values in cells, and comparisons with numbers."""

from collections.abc import Mapping, Sequence

from rag.core.documents import Value
from rag.core.records.queries import Condition
from rag.plugins.table_questions.question_parts import ASKS, Misfit, Part, PartList

MOST_VALUES = 200
"""The most values of a field that some words of a question may mean."""
Where = tuple[Condition, ...]


class Conditions(PartList):
    """Makes conditions of parts; `times` are the operators of `next` and `previous` before a year."""

    times: Mapping[str, str]
    alone: list[Part]

    def compared(self) -> Where:
        """The conditions of numbers behind a comparison."""
        made = list[Condition]()
        for number in self.all("number"):
            before = self.before(number)
            operator = before.meaning if before and before.kind == "comparison" else ""
            if before and number.year and not operator:
                operator = self.times.get(before.meaning, "")
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
            self.use(found[0])
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
            before = self.before(named[0]) if named else None
            if named and (part.number or not before or before.meaning not in (*ASKS, "count") or self.is_relative(before)):
                self.left.difference_update([named[0], *([before] if before and before.place == part.place else [])])
        negated = [part for part in parts if (before := self.before(part)) and before.meaning == "not" and self.use(before)]
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
            if not common and not self.are_joined(own):
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
