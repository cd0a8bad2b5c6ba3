"""Queries of records give what plain Python gives, and a query that does not fit is refused with a remedy."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag.core.errors import UserError
from rag.core.records import database as record_database
from rag.core.records.database import RecordDatabase
from rag.core.records.queries import Condition, RecordQuery
from rag.core.records.sets import Field, Record, RecordSet, RecordTable

FIELDS = (
    Field("name"),
    Field("price", "number", unit="£"),
    Field("on", "date"),
    Field("open", "boolean"),
    Field("tags", "list"),
)
ROWS: Sequence[tuple[Any, ...]] = (
    ("Heron 4", 0.1, "2024-10-02", True, ("red", "Blue")),
    ("Heron 4S", 0.2, "2025-03", False, ("blue",)),
    ("Tern 2", 1021.7, None, True, None),
    ("heron  4", None, "2024", None, ("green",)),
)


def table(rows: Sequence[tuple[Any, ...]], name: str = "stock", fields: Sequence[Field] = FIELDS) -> RecordTable:
    return RecordTable(name, tuple(fields), tuple(Record(f"r{n}", f"d{n}", n, n + 1, row) for n, row in enumerate(rows)))


STOCK = table(ROWS)
TOTAL = replace(STOCK.records[0], values=("Total", 1022.0, None, None, None), shown=("Total", "£1,022", "", "", ""), total=True)
STOCK = replace(STOCK, records=(*STOCK.records, TOTAL))


def ask(intent: Any, *where: Condition, **parts: Any) -> Any:
    return RecordDatabase(RecordSet((STOCK,))).run(RecordQuery(intent, "stock", where=where, **parts))


def is_(field: str, operator: Any, value: Any = None) -> Condition:
    return Condition(field, operator, value)


@pytest.mark.parametrize(
    ("intent", "where", "parts", "value"),
    [
        ("count", [], {}, "4"),
        ("count", [], {"fields": ("name",)}, "3"),
        ("sum", [], {"fields": ("price",)}, "£1,022"),
        ("average", [is_("name", "contains", "heron")], {"fields": ("price",)}, "£0.15"),
        ("count", [is_("name", "=", "HERON 4")], {}, "2"),
        ("count", [is_("name", "contains", "Heron 4")], {}, "2"),
        ("count", [is_("name", "in", ("tern 2", "Heron 4S"))], {}, "2"),
        ("count", [is_("on", "=", "2024")], {}, "2"),
        ("count", [is_("on", ">", "2024")], {}, "1"),
        ("count", [is_("on", "missing")], {}, "1"),
        ("count", [is_("open", "=", True)], {}, "2"),
        ("count", [is_("price", "!=", 0.1)], {}, "2"),
        ("count", [is_("tags", "=", "BLUE")], {}, "2"),
        ("count", [is_("tags", "!=", "blue")], {}, "1"),
        ("count", [is_("name", "=", "x' OR '1'='1")], {}, "0"),
        ("exists", [is_("name", "=", "Otter")], {}, "no"),
        ("top_n", [], {"fields": ("name",), "order": "price", "n": 1}, "Tern 2"),
        ("top_n", [], {"fields": ("name",), "n": 1, "descending": False}, "Heron 4"),
        ("lookup", [is_("name", "=", "total")], {"fields": ("price",)}, "£1,022"),
        ("lookup", [is_("name", "=", "Heron 4S")], {"fields": ("name",), "shift": 1}, "Tern 2"),
        ("group_by", [], {"group": "tags", "n": 1}, "Blue"),
    ],
)
def test_values(intent: Any, where: list[Condition], parts: dict[str, Any], value: str) -> None:
    assert ask(intent, *where, **parts).value == value


def test_groups_lists_and_differences() -> None:
    assert ask("group_by", group="open", fields=("price",)).rows == ((True, 1021.8), (False, 0.2))
    assert ask("group_by", is_("on", "=", "2024"), group="name", fields=("price",)).rows == (("Heron 4", 0.1),)
    assert ask("group_by", is_("on", "=", "2024"), group="tags", fields=("price",)).rows == (("Blue", 0.1), ("red", 0.1))
    assert ask("list", fields=("name",)).values == ("Heron 4", "Heron 4S", "Tern 2")
    assert ask("list", fields=("tags",)).values == ("Blue", "red", "green")
    assert ask("list", is_("open", "present"), fields=("tags",), across="open").values == ("Blue",)
    tern = RecordQuery("lookup", "stock", ("price",), (is_("name", "=", "Tern 2"),))
    assert ask("difference", is_("name", "=", "Heron 4S"), fields=("price",), other=tern).value == "-£1,021.5"
    assert ask("change", is_("name", "=", "total"), fields=("price",), other=tern).value == "0.03%"
    blue = RecordQuery("list", "stock", where=(is_("tags", "=", "blue"),))
    heron = {joint: ask("count", is_("name", "=", "heron 4"), joint=joint, other=blue).value for joint in JOINTS}
    assert heron == {"union": "3", "intersection": "1", "difference": "1"}


JOINTS = ("union", "intersection", "difference")


def test_sources_are_the_places_of_the_records() -> None:
    assert ask("count", is_("open", "=", False)).sources == (("d1", 1, 2),)


def test_sets_of_two_tables() -> None:
    sold = table([("Tern 2",), ("Otter",)], "sold", [Field("item")])
    database = RecordDatabase(RecordSet((STOCK, sold)))
    query = RecordQuery("list", "stock", ("name",), joint="intersection", other=RecordQuery("list", "sold", ("item",)))
    assert database.run(query).values == ("Tern 2",)
    assert database.run(replace(query, joint="difference")).values == ("Heron 4", "Heron 4S")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (RecordQuery("count", "stok"), "no table 'stok'.*did you mean 'stock'"),
        (RecordQuery("sum", "stock", ("prise",)), "no field 'prise'.*did you mean 'price'"),
        (RecordQuery("sum", "stock", ("name",)), "sum of a text field.*price"),
        (RecordQuery("sum", "stock"), "needs a field"),
        (RecordQuery("group_by", "stock"), "give `group`"),
        (RecordQuery("top_n", "stock"), "give `n`"),
        (RecordQuery("list", "stock", n=10**30), "below a billion"),
        (RecordQuery("lookup", "stock", shift=-(10**30)), "below a billion"),
        (RecordQuery("count", "stock", where=(is_("price", "<", 10**400),)), "is not a number"),
        (RecordQuery("drop", "stock"), "no intent 'drop'"),  # type: ignore[arg-type]
        (RecordQuery("count", "stock", where=(is_("price", "like", 1),)), "no operator 'like'"),
        (RecordQuery("count", "stock", where=(is_("price", "<", "1"),)), "'1' is not a number"),
        (RecordQuery("count", "stock", where=(is_("on", "<", "soon"),)), "2025-03-14"),
        (RecordQuery("count", "stock", where=(is_("name", "in", "a"),)), "a list for `in`"),
        (RecordQuery("count", "stock", where=(is_("name", "=", None),)), "needs a value"),
        (RecordQuery("count", "stock", joint="union"), "give `other`"),
        (RecordQuery("difference", "stock", ("price",)), "give `other`"),
        (RecordQuery("sum", "stock", ("price",), (is_("name", "=", "heron  9"),)), "no number fits"),
    ],
)
def test_what_does_not_fit_is_refused(query: RecordQuery, said: str) -> None:
    with pytest.raises(UserError, match=f"(?s){said}"):
        RecordDatabase(RecordSet((STOCK,))).run(query)


def test_an_unread_amount_is_not_left_out_of_a_sum() -> None:
    odd = replace(STOCK.records[3], shown=("heron 4", "12 or 13", "", "", ""))
    database = RecordDatabase(RecordSet((replace(STOCK, records=(*STOCK.records[:3], odd)),)))
    with pytest.raises(UserError, match="'12 or 13' is not read"):
        database.run(RecordQuery("sum", "stock", ("price",)))


def test_many_groups_are_bounded_and_long_queries_end(monkeypatch: pytest.MonkeyPatch) -> None:
    many = RecordSet((table([(str(n),) for n in range(5000)], fields=[Field("id")]),))
    result = RecordDatabase(many).run(RecordQuery("group_by", "stock", group="id"))
    assert (len(result.rows), result.left_out) == (1000, 4000)
    monkeypatch.setattr(record_database, "STEPS", 0)
    monkeypatch.setattr(record_database, "EVERY", 100)
    with pytest.raises(UserError, match="takes too long"):
        RecordDatabase(many).run(RecordQuery("group_by", "stock", group="id"))


def holds(row: tuple[Any, ...], test: Condition) -> bool:
    """The independent meaning of a condition on a text or a number."""
    value = row[0 if test.field == "name" else 1]
    if value is None or test.operator in ("missing", "present"):
        return (value is None) == (test.operator == "missing")
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "in": lambda a, b: a in b, "contains": lambda a, b: b in a,
    }  # fmt: skip
    return tests[test.operator](value, test.value)


def test_random_queries_agree_with_python() -> None:
    chance = random.Random(16)
    for _ in range(200):
        rows = [(chance.choice("abcd"), chance.choice([None, *range(-3, 4)])) for _ in range(chance.randint(1, 12))]
        database = RecordDatabase(RecordSet((table(rows, fields=FIELDS[:2]),)))
        name, number = chance.choice("abcd"), chance.randint(-3, 3)
        tests = (
            is_("name", chance.choice(["=", "!=", "<", ">=", "contains"]), name),
            is_("price", chance.choice(["=", "!=", "<", "<=", ">", ">="]), number),
            is_("price", chance.choice(["missing", "present"])),
        )
        where = tuple(chance.sample(tests, chance.randint(0, 2)))
        kept = [row for row in rows if all(holds(row, test) for test in where)]
        assert database.run(RecordQuery("count", "stock", where=where)).rows == ((len(kept),),)
        assert database.run(RecordQuery("lookup", "stock", where=where)).rows == tuple(kept)
        assert database.run(RecordQuery("list", "stock", ("name",), where)).rows == tuple(
            (n,) for n in dict.fromkeys(k[0] for k in kept)
        )
        sizes = {name: sum(1 for row in kept if row[0] == name) for name, _ in kept}
        assert dict(database.run(RecordQuery("group_by", "stock", where=where, group="name")).rows) == sizes
        numbers = sorted((row[1] for row in kept if row[1] is not None), reverse=True)
        top = database.run(RecordQuery("top_n", "stock", ("price",), where, order="price", n=2)).rows
        assert [row[0] for row in top] == [value for value in numbers if value >= numbers[:2][-1]]
        if numbers:
            assert database.run(RecordQuery("sum", "stock", ("price",), where)).rows == ((sum(numbers),),)
