"""Rules make a query only of a question that the records explain word by word, and its answer is right."""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pytest
from support.choices import CONF, content

from rag.components.enrichers.tables import TableRows
from rag.config.build import Components
from rag.core.records.database import RecordDatabase
from rag.core.records.queries import Routed
from rag.core.records.sets import Field, Record, RecordSet, RecordTable
from rag.core.types import Document, Query
from rag.evaluation.data.golden import load_documents
from rag.execution.graph.open_pipeline import TrialParts
from rag.execution.sweep.open_config import config_of
from rag.plugins.table_questions.question_reading import Reading
from rag.plugins.table_questions.routers.rules import RulesRouter

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


def _top(chance: random.Random, kind: tuple[str, str, str, str, Sequence[str]], rows: Sequence[Row]) -> Asked | None:
    n, is_high = chance.choice([2, 3]), chance.random() < 0.5
    ranked = sorted(rows, key=lambda row: -row.price if is_high else row.price)
    if ranked[n - 1].price == ranked[n].price:
        return None
    return Asked(
        f"Which {kind[0]}s have the {n} {'highest' if is_high else 'lowest'} prices?", tuple(row.name for row in ranked[:n])
    )


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


TEMPLATES: Sequence[Template] = (_count, _over, _list, _since, _sum, _top, _exists, _difference, _except)


def built(group: str, name: str, kind: Any, **changes: Any) -> Any:
    values = content(f"{group}/{name}")
    values = values.get(name, values)
    values.pop("_target_")
    return kind(**{**values, **changes})


def records(*texts: str) -> RecordSet:
    made: RecordSet = built("enrich", "tables", TableRows).enrich([Document(f"d{n}", text) for n, text in enumerate(texts)])
    return made


def route(text: str, known: RecordSet) -> Routed:
    (routed,) = built("route", "rules", RulesRouter, language="english").route([Query("q", text)], known)
    return routed


def answer(text: str, known: RecordSet) -> Sequence[str] | None:
    query = route(text, known).query
    result = RecordDatabase(known).run(query) if query else None
    return None if result is None else ((result.value,) if result.value else result.values)


VANS = """# The fleet

| Van | Asset | Base | Payload | Bought |
|---|---|---|---|---|
| Otter 1 | OV-1 | Northgate | 980 kg | Mar 2019 |
| Otter 2 | OV-2 | Southmoor | 980 kg | Jun 2021 |
| Mink | OV-3 | Southmoor | 1,150 kg | May 2023 |
| Vole | OV-4 | Annex | 520 kg | Jan 2024 |
"""
BOATS = "# Boats\n\n| Boat | Harbour | Length |\n|---|---|---|\n| Coot | Elm Quay | 3.1 m |\n| Dunlin | Elm Quay | 5.1 m |\n"


GAMES = """|  | Nation | Opponent | Date | Goals | Players |
|---|---|---|---|---|---|
| 1 | Norway | Chile (away) | 3 May 2001 | 4 | Ann Bo, Cy Do, Ed Fo |
| 2 | Chile | Norway | 9 May 2001 | 1 | Gil Ho, Ida Jo |
| 3 | Norway | Ghana | 1 June 2001 | 2 | Kim Lo, Mia No |
| 4 | Ghana | Chile | 2 June 2001 | (3) | Ola Po, Qi Ro |
|  | Total |  |  | 10 | |
"""
SEATS = """| Party | Seats | Rank | Members |
|---|---|---|---|
| Red | 4 | 1 | 9 |
| Blue | 3 | 2 | 8 |
| Green | 2 | 3 | 11 |
| All parties | 9 | 4 | 28 |
"""
CLUBS = """| No. | Club | Year | Rank | Points | Opponent | President | Took office |
|---|---|---|---|---|---|---|---|
| 1 | Ash | 2010 | 1 | 4 | at Elm | Ann Bo | May 3, 2001 |
| 2 | Elm | 2011 | 3 | - | Ash | Cy Do | June 9, 2004 |
| 3 | Fir | 2012 | 2 | 8 | at Ash | Ed Fo | unknown |
| 4 | Oak | 2013 | 4 | 6 | Fir | Gil Ho | July 1, 2009 |
"""
COUNCIL = (
    "| Party | Seats | Votes |\n|---|---|---|\n| Red | 4 | 90 |\n| Blue | 3 | 70 |\n| Pink | 1 | 20 |\n| Total | 9 | 180 |\n"
)
PROFIT = "|  | 2022 | 2023 | 2024 |\n|---|---|---|---|\n| Profit | £50 | £100 | £60 |\n| Losses | £0 | £(5) | £5 |\n"
ANSWERS: dict[tuple[str, ...], dict[str, str | None]] = {
    (VANS, BOATS): {
        "Combined payload of both Otters?": "1,960 kg",
        "Combined payload of all three Otters?": None,
        "How many vans are at Southmoor?": "2",
        "Is there any van at Pellham?": None,
        "How many vans have the base Southmoor and a sun roof?": None,
        "What should I check before driving the Mink?": None,
        "Which van has the highest payload?": None,
        "which " * 500: None,
        "Which vans are at Southmoor'; DROP TABLE t0; --?": None,
    },
    (VANS,): {
        "Which van has the highest payload?": "Mink",
        "What is the base of the Vole?": "Annex",
        "What is the highest payload?": "1,150 kg",
        "Which van comes after Mink?": "Vole",
        "Which 2 vans have the highest payload?": None,
        "How many vans are there?": "4",
    },
    (PROFIT,): {
        "What is the change in profit from 2023 to 2024?": "-£40",
        "What is the percentage change in profit between 2023 and 2024?": "-40%",
        "What was the average profit from 2022 to 2024?": "£70",
        "What was the average profit in 2022, 2024?": "£55",
        "What was the total profit in 2022 and 2024?": "£110",
        "What was the difference in profit between 2023 and 2024?": "£40",
        "What is the percentage change in losses between 2023 and 2024?": None,
    },
    (CLUBS,): {
        "What is the total of all ranks?": None,
        "What is the total no. of all clubs?": None,
        "What is the average points from 2010 to 2013?": "6",  # Of three: a dash is not 0.
        "What are the total points between 2011 and 2013?": "14",
        "What is the total number of points?": "18",
        "What is the total number of points of Oak?": "6",
        "How many clubs in total?": "4",
        "How many Oak are there?": None,
        "How many clubs are named Oak?": "1",
        "What is the opponent of Ash?": None,
        "Who took office after Ann Bo?": None,
        "When was Cy Do in office?": None,
    },
    (COUNCIL,): {
        "What is the total of seats?": None,  # The line of totals says 9.
        "What is the total of votes?": "180",
    },
    (GAMES,): {
        "How many games were against Ghana?": None,  # `against` says nothing that a table has.
        "How many games had at least 2 goals?": "2",  # Neither the total nor what stands in parentheses.
        "How many times was Norway the opponent?": "1",
        "Which nation has the most goals?": None,  # Norway stands in two records.
        "Who was the opponent in the first game?": None,  # The cell says more than a name.
        "What is the average goals of each nation?": None,
        "Which nation had as many goals as Chile?": None,
    },
    (SEATS,): {
        "Which party has the most seats?": None,  # The last record is the sum of the others.
        "What is the last party on this chart?": "All parties",
        "Who has more members, Red or Blue?": None,
        "How many seating places has Red?": None,
        "How many seats does the party Red have?": "4",
        "What is the total seats of Red Blue?": None,  # No comma and no `and`.
        "What is the total seats of Red, Blue and Green?": "9",
    },
}
"""Answers of tables, and None for questions that are left to passages."""


@pytest.mark.parametrize(
    ("tables", "question", "expected"),
    [(tables, *asked) for tables, questions in ANSWERS.items() for asked in questions.items()],
)
def test_questions(tables: tuple[str, ...], question: str, expected: str | None) -> None:
    assert answer(question, records(*tables)) == (expected and (expected,))


def test_generated_questions_agree_with_python() -> None:
    documents, endless = corpus(99)
    known = built("enrich", "tables", TableRows).enrich(documents)
    questions = list(islice(endless, 30))
    routes = built("route", "rules", RulesRouter, language="english").route(
        [Query("q", each.text) for each in questions], known
    )
    database = RecordDatabase(known)
    for question, routed in zip(questions, routes, strict=True):
        assert routed.query, question.text
        result = database.run(routed.query)
        assert sorted([result.value] if result.value else result.values) == sorted(question.answers), question.text


PROJECTS = CONF.parent / "datasets/projects"


def test_three_questions_and_their_paraphrases() -> None:
    """None gets a wrong answer, and no question that is only like them gets one."""
    join = ["roster=csv", f"roster.path={PROJECTS}/roster.csv", "roster.key=id", "roster.column=project"]
    join += ["roster.fields={publisher: publisher}", "dataset=native", f"dataset.path={PROJECTS}", "enrich=documents"]
    parts = TrialParts(config_of(join), Components())
    made = parts.group("enrich")["documents"].enrich(load_documents(parts.role("loader")))
    known, right = parts.role("roster").join(made), {"tune": 0, "holdout": 0, "near": 0}
    assert [each.record_id for each in known.reconciled if each.status == "mismatch"] == ["mobile/tidewatch.md"]
    names = ("questions.jsonl", "near_misses.jsonl")
    rows = [json.loads(line) for name in names for line in (PROJECTS / name).read_text("utf-8").splitlines()]
    for row in rows:
        gold, found = row.get("expects", {}), answer(row["text"], known)
        right[row.get("split", "near")] += found is not None
        expected = gold.get("values") or [" ".join(each) for each in gold.get("table", ())]
        assert found is None or sorted(found) == sorted(expected), row["text"]
    assert right == {"tune": 268, "holdout": 95, "near": 0}  # of 286, 105 and 159
    began, router = time.process_time(), built("route", "rules", RulesRouter, language="english")
    router.route([Query("q", f"{'please ' * (number % 9)}{rows[number % 63]['text']}") for number in range(1000)], known)
    assert time.process_time() - began < 20


def test_a_filter_narrows_the_search() -> None:
    fields = (Field("title"), Field("status"))
    rows = [("Travel", "superseded"), ("Leave", "current"), ("Pay", "superseded")]
    table = RecordTable("policies", fields, tuple(Record(title, title, 0, 9, (title, is_)) for title, is_ in rows), "policies")
    routed = route("What do the superseded policies say about trains to Rome?", RecordSet((table,)))
    assert routed.mechanism == "both"
    assert routed.query
    assert [source[0] for source in RecordDatabase(RecordSet((table,))).run(routed.query).sources] == ["Travel", "Pay"]


def test_superseded_editions_are_left_out_and_unnamed_sources_are_not_mixed() -> None:
    texts = ["# Prices 2024\n\n| Item | Price |\n|---|---|\n| pump | £1 |\n| hose | £2 |\n", "# Prices 2025\n\n" + PRICES]
    assert answer("What is the combined price of the pump and the hose?", records(*texts)) is None
    assert answer("What is the combined price of the pump and the hose in 2025?", records(*texts)) == ("£7",)
    old = Document("a", texts[0], {"status": "superseded"})
    known = built("enrich", "tables", TableRows).enrich([old, Document("b", texts[1])])
    assert answer("What is the combined price of the pump and the hose?", known) == ("£7",)


PRICES = "| Item | Price |\n|---|---|\n| pump | £3 |\n| hose | £4 |\n"


def test_without_words_of_the_language_every_question_is_semantic() -> None:
    router = built("route", "rules", RulesRouter, language="finnish")
    assert router.route([Query("q", "How many vans have the base Southmoor?")], records(VANS)) == [Routed()]


def test_few_sets_of_records_stay_open() -> None:
    router, query = (
        built("route", "rules", RulesRouter, language="english"),
        Query("q", "How many vans have the base Southmoor?"),
    )
    known = records(VANS)
    for _ in range(9):
        assert router.route([query], RecordSet(known.tables)) == router.route([query], known)
    assert len(router._recent) == 4


MEDALS = "| Nation | Gold | Bronze |\n|---|---|---|\n| Norway | 2 | 0 |\n| Chile | 1 | 3 |\n"


@pytest.mark.parametrize(
    ("table", "question"),
    [(MEDALS, "Which nation has a total of 0 bronze?"), (GAMES, "What do Norway Chile say about trains?")],
)
def test_no_question_ends_a_batch(table: str, question: str) -> None:
    assert route(question, records(table)).failure == ""


def test_an_error_in_a_rule_is_that_of_its_question_only(monkeypatch: pytest.MonkeyPatch) -> None:
    router = built("route", "rules", RulesRouter, language="english")
    monkeypatch.setattr(Reading, "_others", lambda *_: 1 / 0)
    texts = ["How many vans have the base Southmoor?", "Which van has the highest payload?"]
    first, second = router.route([Query("q", each) for each in texts], records(VANS))
    assert (first.mechanism, first.failure) == ("semantic", "ZeroDivisionError('division by zero')")
    assert second.mechanism == "records"
