"""Questions about groups: sizes per value of a field, and values that several groups have in common."""

from collections import Counter

from rag.core.records.queries import RecordQuery
from rag.plugins.table_questions.question_conditions import Conditions, Where
from rag.plugins.table_questions.question_parts import ASKS, Misfit, Part


class Groups(Conditions):
    """Makes queries of groups; `table` is the name of the table."""

    table: str

    def grouped(self, where: Where) -> RecordQuery | None:
        """Counts or sums per value of a field."""
        if (by := self._group()) is None:
            return None
        where += self.values()
        self._use_field(by.place)
        first = next((part for part in self.parts if part.kind != "stop" and part.meaning != "ask"), by)
        counted = self.take("operation", "count", "total") or first.kind in ("title", "rows")
        self.take("operation", "group", "exists", *ASKS)
        sums = () if counted and not self.take("operation", "sum") else self.numbers()
        self.nouns()
        return RecordQuery("group_by", self.table, sums, where, self.name(by.place))

    def _group(self) -> Part | None:
        """The field of the groups: behind `per`, with a count also behind `each` or `by`, or before `and how many`."""
        counted = self.all("operation", "count")
        signs = self.all("operation", "group", *(("each", "between") if counted else ()))
        signs += self.all("stop", "by") if counted else []
        if found := next((each for part in signs if (each := self.behind(part, "field") or self._last(part))), None):
            return found
        fields = self.all("field")
        if len(counted) != 1 or len(fields) != 1 or self.first() != fields[0] or counted[0].start < fields[0].start:
            return None
        heads = (self.behind(counted[0]), self.before(counted[0]))
        return fields[0] if any(head and head.kind in ("title", "rows") for head in heads) else None

    def _last(self, part: Part) -> Part | None:
        """The field before the last word, such as `each`."""
        return None if self.behind(part) else self.before(part, "field")

    def across(self) -> str:
        """The field whose groups have values in common, with words such as `both`; empty without one."""
        values = Counter(part.place for part in self.all("value"))
        two = {part.place for part in self.all("field") if self._is_two(part)}
        places = two | {place for place, count in values.items() if count > 1 and self.type(place) != "list"}
        asked = {part.place for part in self.all("field")} - places - {self.lexicon.key}
        if not (two or self.all("operation", "shared", "also", "both")) or len(places) != 1 or not asked:
            return ""
        (place,) = places
        self.left.difference_update(self.all("operation", "shared") + self.all("number"))
        self._use_field(place)
        return self.name(place)

    def _is_two(self, field: Part) -> bool:
        """True for a field with two values, behind `both`, `two` or `between`."""
        before, held = self.before(field), {record.values[field.place] for record in self.lexicon.table.records}
        two = before is not None and (before.meaning in ("both", "between") or before.number == len(held))
        return two and len(held) == 2 and None not in held and self.type(field.place) != "list"

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

    def _use_field(self, place: int) -> None:
        self.left.difference_update(part for part in self.all("field") if part.place == place)
