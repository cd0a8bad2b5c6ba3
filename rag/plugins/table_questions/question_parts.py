"""A question as parts that a table explains, of which a query uses one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from rag.plugins.table_questions.record_words import Lexicon

ASKS = ("ask", "what", "who", "when")
"""Operations of words that ask for something."""
FREE = ("stop", "title", "rows", "unit")
"""Kinds of parts that need no place in a query."""
OPTIONAL = ("all", "both", "each", "aside", "from", "to", "between", "named", "also")
"""Operations that need none."""
JOINTS = ("joints", "or", "to", "also")
"""Meanings of words between parts that belong together."""
LINKS = ("links", "from", "between", "named", "by")
"""Meanings of words before a value that limits what is asked."""
EARLIEST, LATEST = 1000, 2100
"""Numbers that may be years."""


@dataclass(frozen=True)
class Part:
    """The words [start, end) of a question with one meaning.

    kind: `operation`, `order`, `comparison`, `number`, `value`, `field`, `unit`, `rows`, `title` or `stop`. `meaning` is the
    operation, the order or the operator; `place` the field; `rows` those with a value, `is_part` if their cells say more;
    `fields` those that an order, a question word, a unit or a number may mean. A field `is_derived` if the question has another
    form of its name, such as `seating` for Seated. `items` are the items of a list with the words.
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
    has_comma: bool = False
    is_derived: bool = False
    items: tuple[str, ...] = ()

    @property
    def year(self) -> int:
        """The year of a number, field or value that is one, else 0."""
        return int(self.number) if EARLIEST <= self.number <= LATEST else 0


class Misfit(Exception):  # noqa: N818
    """The parts make no query; the text says why."""


class PartList:
    """The parts of one reading of a question in order, and those that have no place in the query yet."""

    def __init__(self, parts: Sequence[Part], lexicon: Lexicon) -> None:
        self.parts, self.lexicon = parts, lexicon
        self.left = {part for part in parts if part.kind not in FREE and part.meaning not in OPTIONAL}

    def all(self, kind: str, *meanings: str) -> list[Part]:
        """The parts of a kind, with one of the meanings if there are any."""
        return [part for part in self.parts if part.kind == kind and (not meanings or part.meaning in meanings)]

    def take(self, kind: str, *meanings: str) -> list[Part]:
        """As `all`, those that are left: they are used now."""
        found = [part for part in self.all(kind, *meanings) if part in self.left]
        self.left.difference_update(found)
        return found

    def behind(self, part: Part, kind: str = "") -> Part | None:
        """The next part that is no stop word, if it is of a kind."""
        found = next((each for each in self.parts if each.start >= part.end and each.kind != "stop"), None)
        return found if found and kind in ("", found.kind) else None

    def head(self, part: Part) -> Part | None:
        """As `behind`, without words such as `all` and `which`."""
        found = self.behind(part)
        return self.head(found) if found and found.meaning in (*OPTIONAL, *ASKS) else found

    def first(self) -> Part | None:
        """What a question is about: the head of its first word that asks, or its first part where none does."""
        asks = [each for each in self.all("operation", *ASKS) if each.meaning != "when" or not self.is_relative(each)]
        if asks and (head := self.head(asks[0])):
            return head
        if not asks and self.parts[0].meaning == "verbs":
            return self.parts[0]  # Yes or no is asked, and nothing else.
        free = (*OPTIONAL, *ASKS, "exists")
        return next((part for part in self.parts if part.kind != "stop" and part.meaning not in free), None)

    def is_relative(self, part: Part) -> bool:
        """True for a word such as `whose` behind the records."""
        before = self.before(part)
        return before is not None and before.kind in ("title", "rows")

    def before(self, part: Part, kind: str = "") -> Part | None:
        """The last part before it that is no stop word, if it is of a kind."""
        found = next((each for each in reversed(self.parts) if each.end <= part.start and each.kind != "stop"), None)
        return found if found and kind in ("", found.kind) else None

    def is_linked(self, part: Part) -> bool:
        """True if a word such as `in` stands before a part, or before those that it is joined with."""
        before = reversed(self.parts[: self.parts.index(part)])
        near = takewhile(lambda each: each.kind in ("stop", part.kind) or each.meaning in LINKS, before)
        return any(each.meaning in LINKS for each in near)

    def are_joined(self, parts: Sequence[Part]) -> bool:
        """True if a comma, `and`, `or` or `to` stands between parts that follow each other, and nothing else with a meaning."""
        for first, second in pairwise(parts):
            between = [part for part in self.parts if first.end <= part.start and part.end <= second.start]
            free = ("from", "between", *JOINTS)
            is_free = all(part.kind == "stop" or part.meaning in free or part.place == first.place for part in between)
            if not is_free or not any(part.has_comma or part.meaning in JOINTS for part in (*between, second)):
                return False
        return True

    def are_ends(self, parts: Sequence[Part]) -> bool:
        """True if parts are the ends of a span: `to` or nothing stands between them, or `between` before them."""
        first, last = parts[0], parts[-1]
        to = any(first.end <= part.start < last.start for part in self.all("operation", "to"))
        before = self.before(first)
        is_next = first.end == last.start and not last.has_comma
        return to or is_next or bool(before and before.meaning == "between")

    def name(self, place: int) -> str:
        """The name of a field."""
        return self.lexicon.table.fields[place].name

    def type(self, place: int) -> str:
        """The type of a field."""
        return self.lexicon.table.fields[place].type
