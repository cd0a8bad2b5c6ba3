"""Random tables, questions about them from templates, and their answers by plain Python."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rag.core.types import Document

KINDS = (
    ("van", "Base", "Mass", "kg", ("Northgate", "Southmoor", "Annex", "Wick Lane")),
    ("boat", "Harbour", "Length", "m", ("Elm Quay", "Old Port", "Westhaven")),
    ("sensor", "Station", "Range", "km", ("Brankley", "Tolley Mill", "Hallow Weir", "Pellham Lock")),
    ("course", "Room", "Duration", "hours", ("Ash Room", "Oak Room", "Hall 3")),
)
FIRST, SECOND = ("Amber", "Cedar", "Delta", "Falcon", "Heron", "Jade", "Kite", "Lark", "Otter", "Tern"), "123456789"


@dataclass(frozen=True)
class Row:
    """A row as Python has it: name, place, amount, price in pounds, year and month."""

    name: str
    place: str
    amount: int
    price: int
    year: int
    month: int


@dataclass(frozen=True)
class Asked:
    """A question, and the answer as a set of texts."""

    text: str
    answers: tuple[str, ...]


def corpus(seed: int) -> tuple[list[Document], Iterator[Asked]]:
    """Four documents with a table each, and endless questions about them."""
    chance = random.Random(seed)
    tables = [[_row(chance, places, name) for name in _names(chance, kind)] for kind, _, _, _, places in KINDS]
    documents = [_document(kind, rows) for kind, rows in zip(KINDS, tables, strict=True)]
    return documents, _questions(chance, tables)


def _names(chance: random.Random, kind: str) -> list[str]:
    every = [f"{first} {second}{kind[0].upper()}" for first in FIRST for second in SECOND]
    return chance.sample(every, chance.randint(4, 14))


def _row(chance: random.Random, places: Sequence[str], name: str) -> Row:
    return Row(name, chance.choice(places), *(chance.randint(*span) for span in ((2, 4000), (50, 9000), (2001, 2024), (1, 12))))


def _document(kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Document:
    name, place, amount, unit, _ = kind
    lines = [f"| {name.title()} | {place} | {amount} | Price | Bought |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row.name} | {row.place} | {row.amount:,} {unit} | £{row.price:,} | {MONTHS[row.month - 1]} {row.year} |"
        )
    lines.append(f"| Total | | {sum(row.amount for row in rows):,} {unit} | £{sum(row.price for row in rows):,} | |")
    return Document(f"{name}s.md", f"# The {name}s of the trust\n\n" + "\n".join(lines) + "\n")


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _questions(chance: random.Random, tables: Sequence[Sequence[Row]]) -> Iterator[Asked]:
    """Only questions with one clear answer: no equal records for a superlative, no empty list."""
    while True:
        number = chance.randrange(len(KINDS))
        asked = chance.choice(TEMPLATES)(chance, KINDS[number], tables[number])
        if asked:
            yield asked


Template = Callable[[random.Random, tuple[str, str, str, str, Sequence[str]], Sequence[Row]], Asked | None]


def _count(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    place = chance.choice(rows).place
    found = [row for row in rows if row.place == place]
    return Asked(f"How many {kind[0]}s have the {kind[1].lower()} {place}?", (str(len(found)),)) if len(found) > 1 else None


def _over(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    limit, is_over = chance.choice(rows).price, chance.random() < 0.5
    found = [row for row in rows if (row.price > limit if is_over else row.price <= limit)]
    word = chance.choice(["over", "more than"]) if is_over else chance.choice(["at most", "up to"])
    text = f"How many {kind[0]}s have a price of {word} £{limit:,}?"
    return Asked(text, (str(len(found)),)) if len(found) > 1 else None


def _list(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    limit, place = chance.choice(rows).amount, chance.choice(rows).place
    found = [row.name for row in rows if row.amount < limit and row.place == place]
    text = f"List every {kind[0]} with the {kind[1].lower()} {place} and a {kind[2].lower()} under {limit} {kind[3]}."
    return Asked(text, tuple(found)) if len(found) > 1 else None


def _since(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    year = chance.choice(rows).year
    found = [row.name for row in rows if row.year < year]
    return Asked(f"Which {kind[0]}s were bought before {year}?", tuple(found)) if len(found) > 1 else None


def _sum(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    some = chance.sample(rows, chance.randint(2, 3))
    named = " and ".join(", ".join(f"the {row.name}" for row in part) for part in (some[:-1], some[-1:]))
    return Asked(f"What is the combined price of {named}?", (f"£{sum(row.price for row in some):,}",))


def _total(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    place = chance.choice(rows).place
    found = [row.amount for row in rows if row.place == place]
    text = f"What is the total {kind[2].lower()} of the {kind[0]}s with the {kind[1].lower()} {place}?"
    return Asked(text, (f"{sum(found):,} {kind[3]}",)) if len(found) > 1 else None


def _top(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    n, is_high = chance.choice([2, 3]), chance.random() < 0.5
    ranked = sorted(rows, key=lambda row: -row.price if is_high else row.price)
    if ranked[n - 1].price == ranked[n].price:
        return None
    return Asked(
        f"Which {kind[0]}s have the {n} {'highest' if is_high else 'lowest'} prices?", tuple(row.name for row in ranked[:n])
    )


def _groups(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    counts = {row.place: sum(1 for other in rows if other.place == row.place) for row in rows}
    text = f"How many {kind[0]}s are there per {kind[1].lower()}?"
    return Asked(text, tuple(f"{place} {count}" for place, count in counts.items())) if len(counts) > 1 else None


def _exists(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    place, year = chance.choice(rows).place, chance.choice(rows).year
    found = any(row.place == place and row.year >= year for row in rows)
    text = f"Is there any {kind[0]} with the {kind[1].lower()} {place} bought since {year}?"
    return Asked(text, ("yes" if found else "no",))


def _difference(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    first, second = chance.sample(rows, 2)
    text = f"What is the difference in price between {first.name} and {second.name}?"
    return Asked(text, (f"£{abs(first.price - second.price):,}",))


def _except(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    place = chance.choice(rows).place
    found = [row for row in rows if row.place != place]
    return Asked(f"How many {kind[0]}s are not in {place}?", (str(len(found)),)) if len(found) > 1 else None


TEMPLATES: Sequence[Template] = (_count, _over, _list, _since, _sum, _total, _top, _groups, _exists, _difference, _except)
